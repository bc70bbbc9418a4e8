//! What people and reconcilers decide.

use std::time::Duration;

use super::command::{Answer, Decision, Refusal, Verdict};
use super::settle::{finish, may_run_again, park, succeed};
use crate::model::{AuditEntry, Cause, CauseKind, Record, State, StepState, Token, Uncertainty};
use crate::time::Timestamp;

/// A person decides about what they saw: an attempt that came after it may have changed all.
pub(super) fn is_as_seen(record: &Record, seen: Option<Token>) -> Result<(), Refusal> {
    if seen.is_some_and(|seen| seen != record.token) { Err(Refusal::Changed) } else { Ok(()) }
}

/// Start nothing more. What has started is told to stop; what may have had its effect stays on record as uncertain.
pub(super) fn cancel(record: &Record, by: &str, reason: &str, now: Timestamp) -> Result<Decision, Refusal> {
    let mut next = record.clone();
    let answer = match record.state {
        State::Waiting | State::Pending => {
            stop(&mut next, now);
            Answer::Now(next.state)
        }
        State::Running if record.lease.as_ref().is_none_or(|lease| lease.started_at.is_none()) => {
            // The lease is superseded, so that its holder cannot start any more.
            next.token = record.token.next();
            stop(&mut next, now);
            Answer::Now(next.state)
        }
        State::Running => Answer::CancelRequested,
        State::Cancelled => return Ok(Decision::new(next, Answer::Now(State::Cancelled))),
        settled => return Err(Refusal::State(settled)),
    };
    next.cancel_requested = true;
    Ok(audited(record, next, answer, "cancel", by, reason, now))
}

/// The end of a cancelled record that nobody executes.
pub(super) fn stop(record: &mut Record, now: Timestamp) {
    if record.may_be_applied() {
        park(record, Uncertainty::Cancelled, now);
    } else {
        finish(record, State::Cancelled, now);
    }
}

pub(super) fn resolve(
    record: &Record,
    by: &str,
    reason: &str,
    seen: Token,
    verdict: &Verdict,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    if !matches!(record.state, State::Uncertain | State::Abandoned) {
        return Err(Refusal::State(record.state));
    }
    // What was found out before a replay says nothing about the attempt that the replay made.
    if seen != record.token {
        return Err(Refusal::Superseded);
    }
    let mut next = record.clone();
    match verdict {
        Verdict::Applied { result } => succeed(&mut next, result.as_ref(), None, now),
        Verdict::NotAppliedAndClosed => {
            confirm_not_applied(&mut next);
            next.cause = Some(Cause::new(CauseKind::Resolved, reason));
            finish(&mut next, State::Failed, now);
        }
        Verdict::NotAppliedOldCallsRefused => {
            confirm_not_applied(&mut next);
            run_again(&mut next, now);
        }
        Verdict::StillUnknown { ask_again_at } => next.reconcile_at = *ask_again_at,
    }
    let answer = Answer::Now(next.state);
    Ok(audited(record, next, answer, "resolve", by, reason, now))
}

/// Grants a question, and says when the next one is due: after as much time again as the record waits already, so that
/// questions become rarer.
pub(super) fn ask(record: &Record, at_most: Duration, now: Timestamp) -> Result<Decision, Refusal> {
    let due = match record.reconcile_at {
        Some(due) if record.state == State::Uncertain => due,
        _ => return Err(Refusal::State(record.state)),
    };
    if due > now {
        return Err(Refusal::NotDue(due));
    }
    let waited = record.settled_at.map_or(Duration::ZERO, |at| now.since(at));
    let wait = waited.min(LONGEST_WAIT_BETWEEN_QUESTIONS).max(at_most).max(SHORTEST_WAIT_BETWEEN_QUESTIONS);
    let asking = Record { reconcile_at: Some(now.after(wait)), ..record.clone() };
    Ok(Decision::new(asking, Answer::Asking))
}

const SHORTEST_WAIT_BETWEEN_QUESTIONS: Duration = Duration::from_secs(5);
const LONGEST_WAIT_BETWEEN_QUESTIONS: Duration = Duration::from_hours(24);

/// Forgets what was pinned: nothing of it took effect, and the next send opens a new window.
fn confirm_not_applied(record: &mut Record) {
    let steps = record.steps.values_mut().map(|step| {
        if step.state == StepState::Started {
            step.state = StepState::NotApplied;
        }
        &mut step.effect
    });
    for effect in std::iter::once(&mut record.effect).chain(steps).filter(|effect| effect.may_be_applied) {
        effect.may_be_applied = false;
        effect.first_started_at = None;
        effect.pin = None;
    }
}

/// The same record again, with the same identity and the same pin. The time in which blind sends are allowed does
/// not start anew.
pub(super) fn replay(
    record: &Record,
    by: &str,
    reason: &str,
    accept_risk: bool,
    at_most: Option<u32>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    match record.state {
        State::Failed | State::Exhausted | State::Cancelled | State::Uncertain | State::Abandoned => {}
        other => return Err(Refusal::State(other)),
    }
    if let Some(end) = replay_end(record).filter(|end| now >= *end) {
        return Err(Refusal::ReplayOver(end));
    }
    let mut next = record.clone();
    if record.may_be_applied() && !accept_risk {
        next.risk_accepted = false;
        may_run_again(&next, now).map_err(Refusal::RiskNotAccepted)?;
    }
    next.risk_accepted = accept_risk && record.may_be_applied();
    run_again(&mut next, now);
    if let Some(executions) = at_most {
        // The others count as made.
        next.spent = record.policy.retry.max_attempts.saturating_sub(executions);
    }
    let answer = Answer::Now(next.state);
    Ok(audited(record, next, answer, "replay", by, reason, now))
}

/// When a record with a definite end can be replayed no more; one without stays open to whoever settles it.
fn replay_end(record: &Record) -> Option<Timestamp> {
    let ended = record.settled_at.filter(|_| record.state.is_definite())?;
    Some(ended.after(record.policy.replay_within?))
}

fn run_again(record: &mut Record, now: Timestamp) {
    record.state = super::follow::open(record);
    record.ready_at = now;
    record.spent = 0;
    record.lease = None;
    record.cancel_requested = false;
    record.uncertainty = None;
    record.reconcile_at = None;
    record.settled_at = None;
    if !record.may_be_applied() {
        // Nothing happened so far, so the horizon of the retries starts anew.
        record.effect.first_started_at = None;
        if let Some(pin) = &mut record.effect.pin {
            pin.first_at = now;
        }
    }
}

fn audited(
    before: &Record,
    after: Record,
    answer: Answer,
    action: &str,
    by: &str,
    reason: &str,
    at: Timestamp,
) -> Decision {
    let entry = AuditEntry {
        at,
        by: by.to_owned(),
        action: action.to_owned(),
        reason: reason.to_owned(),
        from: before.state,
        to: after.state,
    };
    Decision { audit: Some(entry), ..Decision::new(after, answer) }
}
