//! What a person can do about a record, and what that does and does not do.

use ratchet::decide::preview_replay;
use ratchet::{Record, RecordState, Timestamp};

/// Something that a person decides about one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Reconcile,
    Replay,
    AcceptRisk,
    Release,
    Cancel,
}

impl Act {
    const ALL: [Self; 5] = [Self::Reconcile, Self::Replay, Self::AcceptRisk, Self::Release, Self::Cancel];

    pub(super) fn from_path(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|act| act.path() == path)
    }

    /// The last part of the address of its page.
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Reconcile => "reconcile",
            Self::Replay => "replay",
            Self::AcceptRisk => "accept-risk",
            Self::Release => "release",
            Self::Cancel => "cancel",
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Reconcile => "Reconcile",
            Self::Replay => "Replay",
            Self::AcceptRisk => "Accept the risk",
            Self::Release => "Release",
            Self::Cancel => "Cancel",
        }
    }

    /// What the button that carries it out says.
    pub(super) const fn button(self) -> &'static str {
        match self {
            Self::Reconcile => "Write down what I found",
            Self::Replay => "Run it again",
            Self::AcceptRisk => "Run it again at this risk",
            Self::Release => "Release a new generation",
            Self::Cancel => "Start nothing more",
        }
    }

    /// In one line.
    pub(super) const fn brief(self) -> &'static str {
        match self {
            Self::Reconcile => "Say what the destination shows, after you have asked it.",
            Self::Replay => {
                "Run the same record again, with the same identity. You see first what would follow."
            }
            Self::AcceptRisk => "Run it again although the effect may then have happened twice.",
            Self::Release => "Have the same action done once more, with an identity of its own.",
            Self::Cancel => "Start nothing more. It is no rollback.",
        }
    }

    pub(super) const fn does(self) -> &'static [&'static str] {
        match self {
            Self::Reconcile => {
                &["It writes down what you found at the destination, and settles the record by that."]
            }
            Self::Replay => &[
                "It makes the same record due now, with all of its attempts.",
                "The next attempt sends the pinned key and the same request, so that the destination can recognise it.",
            ],
            Self::AcceptRisk => &[
                "It makes the same record due now, although nobody knows whether the effect happened.",
                "The next attempt sends the same request with the same key. A destination that does not recognise it does \
                 it once more.",
            ],
            Self::Release => &[
                "It makes a new generation under the same key, with the same input, which runs on its own.",
                "Use it where the action is wanted once more, and not where one is still missing.",
            ],
            Self::Cancel => &[
                "It starts nothing more under this key. A worker that executes it now is told to stop.",
                "If an attempt may have had its effect, the record becomes uncertain, and somebody has to look.",
            ],
        }
    }

    pub(super) const fn does_not(self) -> &'static [&'static str] {
        match self {
            Self::Reconcile => &[
                "It does not ask the destination for you, and sends nothing.",
                "It does not undo anything at the destination.",
            ],
            Self::Replay => &[
                "It does not make a new identity, and does not move the time in which blind sends are allowed.",
            ],
            Self::AcceptRisk => &[
                "It does not find out what happened: if you can ask the destination, reconcile instead.",
                "It does not undo a second effect.",
            ],
            Self::Release => &["It does not touch this record, and does not undo its effect."],
            Self::Cancel => &[
                "It is no rollback: what has happened at the destination stays as it is.",
                "It does not free the key: whoever enqueues it again is told that it was cancelled.",
            ],
        }
    }

    /// What the record's page says afterwards.
    pub(super) const fn done(self) -> &'static str {
        match self {
            Self::Reconcile => "Written down. The record goes by what you found.",
            Self::Replay | Self::AcceptRisk => "The record is due, and the next worker runs it again.",
            Self::Release => "A new generation is enqueued.",
            Self::Cancel => "Nothing more is started.",
        }
    }
}

/// What can be done about a record as it stands, the most useful first.
pub(super) fn possible(record: &Record, now: Timestamp) -> Vec<Act> {
    match record.state {
        RecordState::Running if record.cancel_requested => vec![],
        RecordState::Waiting | RecordState::Pending | RecordState::Running => vec![Act::Cancel],
        RecordState::Uncertain | RecordState::Abandoned => {
            let is_safe = preview_replay(record, now).decision.is_ok();
            vec![Act::Reconcile, if is_safe { Act::Replay } else { Act::AcceptRisk }]
        }
        RecordState::Failed | RecordState::Exhausted | RecordState::Cancelled => {
            vec![Act::Replay, Act::Release]
        }
        RecordState::Succeeded | RecordState::Skipped => vec![Act::Release],
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ratchet::decide::{Command, Jitter, Moment, SubmitDecision, decide, decide_submission};
    use ratchet::{
        Cause, CauseKind, Contract, Generation, Key, Namespace, OperationName, Outcome, Payload, Policy,
        Priority, Queue, RecordId, RetryPolicy, Submission, Version, WorkerId,
    };

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_768_464_000_000);

    /// A record that is waiting for its only attempt.
    fn pending(contract: Contract) -> Record {
        let retry = RetryPolicy { max_attempts: 1, ..RetryPolicy::STANDARD };
        let submission = Submission {
            id: RecordId {
                namespace: Namespace::DEFAULT,
                operation: OperationName::from_static("collect"),
                key: Key::parse("invoice:7").unwrap(),
                generation: Generation::FIRST,
            },
            version: Version::from_static("1"),
            input: Payload::from_stored("7"),
            compared: None,
            policy: Policy { retry, ..Policy::DEFAULT },
            contract: contract.terms(),
            not_before: None,
            priority: Priority(0),
            queue: Queue::DEFAULT,
            group: None,
            after: None,
            renewal: None,
            trace: None,
        };
        let SubmitDecision::Insert { record, .. } = decide_submission(None, &submission, NOW) else {
            panic!("a new key makes a record");
        };
        *record
    }

    fn after(record: &Record, command: &Command) -> Record {
        decide(record, command, Moment { now: NOW, jitter: Jitter::MIDDLE }).unwrap().record
    }

    fn running(contract: Contract) -> Record {
        let worker = WorkerId::from_static("w");
        let lease = Command::Lease { worker, duration: Duration::from_mins(1), start_if_safe: false };
        let leased = after(&pending(contract), &lease);
        after(&leased, &Command::Start { token: leased.token })
    }

    fn ended(contract: Contract, outcome: Outcome) -> Record {
        let record = running(contract);
        after(&record, &Command::Settle { token: record.token, outcome })
    }

    #[test]
    fn what_can_be_done_follows_from_the_state_and_the_window() {
        const REMEMBERS: Contract = Contract::header("Idempotency-Key");
        let unknown = || Outcome::unknown(Cause::new(CauseKind::Transport, ""));
        let refused =
            Outcome::Rejected { cause: Cause::new(CauseKind::Status(402), ""), after_lookup: false };
        let cancelled = Command::Cancel { by: String::new(), reason: String::new(), seen: None };
        let later = NOW.after(Duration::from_hours(30));
        for (record, now, acts) in [
            (pending(REMEMBERS), NOW, vec![Act::Cancel]),
            (running(REMEMBERS), NOW, vec![Act::Cancel]),
            (after(&running(REMEMBERS), &cancelled), NOW, vec![]),
            (after(&pending(REMEMBERS), &cancelled), NOW, vec![Act::Replay, Act::Release]),
            (ended(REMEMBERS, refused), NOW, vec![Act::Replay, Act::Release]),
            (ended(REMEMBERS, Outcome::done(Payload::from_stored("1"))), NOW, vec![Act::Release]),
            (ended(REMEMBERS, unknown()), NOW, vec![Act::Reconcile, Act::Replay]),
            (ended(REMEMBERS, unknown()), later, vec![Act::Reconcile, Act::AcceptRisk]),
            (ended(Contract::NONE, unknown()), NOW, vec![Act::Reconcile, Act::AcceptRisk]),
        ] {
            assert_eq!(possible(&record, now), acts, "{}", record.state);
        }
    }

    #[test]
    fn an_act_is_found_by_its_path() {
        for act in Act::ALL {
            assert_eq!(Act::from_path(act.path()), Some(act));
        }
        assert_eq!(Act::from_path("purge"), None);
    }
}
