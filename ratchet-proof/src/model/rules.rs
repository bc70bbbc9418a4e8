//! The decision function of the product, and what becomes of it when one of its rules is broken.

use std::sync::Arc;

use ratchet_core::decide::{
    Answer, Command, Decision, Moment, Refusal, Stored, SubmitDecision, decide, decide_submission,
};
use ratchet_core::{
    Cause, CauseKind, OnUnknown, Outcome, OutcomeKind, Record, State, Submission, Token, Uncertainty,
};

use super::scenario::at;
use crate::planted::Mutation;
use crate::stale::is_stale;

/// Asks the decision function itself; a mutation changes what it is asked or what it answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) broken: Option<Mutation>,
}

impl Rules {
    pub(crate) fn is_broken(self, mutation: Mutation) -> bool {
        self.broken == Some(mutation)
    }

    /// What follows from a command at this tick.
    pub(crate) fn decide(self, record: &Record, command: &Command, tick: u8) -> Result<Decision, Refusal> {
        let moment = Moment { now: at(tick), jitter: ratchet_core::decide::Jitter::MIDDLE };
        let Some(mutation) = self.broken else { return decide(record, command, moment) };
        let (asked, command) = distort(mutation, record, command, moment);
        let mut decision = decide(&asked, &command, moment)?;
        spoil(mutation, record, &command, &mut decision, moment);
        Ok(decision)
    }

    /// What follows from a submission at this tick.
    pub(crate) fn submit(
        self,
        newest: Option<&Arc<Stored>>,
        submission: &Submission,
        tick: u8,
    ) -> SubmitDecision {
        let freed = |stored: &&Arc<Stored>| {
            matches!(stored.state(), State::Failed | State::Exhausted | State::Cancelled)
        };
        let newest = newest.filter(|stored| !(self.is_broken(Mutation::KeyFreedOnFailure) && freed(stored)));
        decide_submission(newest.map(|stored| &**stored), submission, at(tick))
    }

    /// Whether a tombstone may take the place of a record.
    pub(crate) fn is_purgeable(self, record: &Record, tick: u8) -> bool {
        record.is_purgeable(at(tick))
            || self.is_broken(Mutation::PurgeOfUncertain) && record.state == State::Uncertain
    }
}

/// What the decision function is asked instead.
fn distort(mutation: Mutation, record: &Record, command: &Command, moment: Moment) -> (Record, Command) {
    let (mut record, mut command) = (record.clone(), command.clone());
    let current = record.token;
    let stale = is_stale(&record, &command);
    match (mutation, &mut command) {
        (Mutation::NoFence, Command::Settle { token, .. }) => *token = current,
        (Mutation::StaleVerdict, Command::Resolve { seen, .. }) => *seen = current,
        (Mutation::UnknownForgotten, Command::Settle { token, outcome })
            if *token == current
                && record.state == State::Running
                && matches!(outcome.kind(), OutcomeKind::NotApplied | OutcomeKind::Rejected) =>
        {
            record.effect.may_be_applied = false;
        }
        (Mutation::WindowRenewed, Command::Lease { .. } | Command::Settle { .. } | Command::Pin { .. })
            if !stale =>
        {
            record.effect.first_started_at = record.effect.first_started_at.map(|_| moment.now);
            if let Some(pin) = &mut record.effect.pin {
                pin.first_at = moment.now;
            }
        }
        (Mutation::LostLeaseIsHarmless, Command::Expire) => {
            if let Some(lease) = &mut record.lease {
                lease.started_at = None;
            }
        }
        (Mutation::TradeoffIgnored, _) => record.policy.on_unknown = OnUnknown::MayDuplicate,
        (Mutation::UnknownIsFailure, Command::Settle { outcome, .. })
            if outcome.kind() == OutcomeKind::Unknown =>
        {
            let cause = Cause::new(CauseKind::Transport, "taken for a refusal");
            *outcome = Outcome::Rejected { cause, after_lookup: false };
        }
        _ => {}
    }
    (record, command)
}

/// What becomes of the answer.
fn spoil(mutation: Mutation, before: &Record, command: &Command, decision: &mut Decision, moment: Moment) {
    let after = &mut decision.record;
    match (mutation, command) {
        (Mutation::TokenReused, Command::Lease { .. }) if before.token != Token::NONE => {
            after.token = before.token;
        }
        (Mutation::CancelIsRollback, Command::Cancel { .. })
            if decision.answer == Answer::CancelRequested =>
        {
            after.state = State::Cancelled;
            after.lease = None;
            after.settled_at = Some(moment.now);
        }
        (Mutation::UncertainWithoutReason, _) => after.uncertainty = None,
        (Mutation::BoundsEndInFailure, _) if after.uncertainty == Some(Uncertainty::AttemptsSpent) => {
            after.state = State::Failed;
            after.uncertainty = None;
        }
        (Mutation::TradeoffIgnored, _) => after.policy.on_unknown = before.policy.on_unknown,
        _ => {}
    }
}
