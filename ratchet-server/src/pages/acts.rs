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
