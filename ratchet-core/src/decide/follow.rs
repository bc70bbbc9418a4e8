//! Records that wait until another one has ended.

use super::command::{Answer, Decision, Refusal};
use super::settle::finish;
use crate::model::{Ending, Record, State};
use crate::time::Timestamp;

/// The record that this one comes after has ended: it is due now, or never.
pub(super) fn follow(record: &Record, ended: Ending, now: Timestamp) -> Result<Decision, Refusal> {
    let on = match &record.after {
        Some(after) if record.state == State::Waiting => after.on,
        _ => return Err(Refusal::State(record.state)),
    };
    let mut next = record.clone();
    if on.is_taken(ended) {
        next.state = State::Pending;
        next.ready_at = record.ready_at.max(now);
    } else {
        finish(&mut next, State::Skipped, now);
    }
    let answer = Answer::Now(next.state);
    Ok(Decision::new(next, answer))
}

/// The state in which a record that nothing has been done about is to be executed: one that comes after another waits for
/// the decision.
pub(super) fn open(record: &Record) -> State {
    let untouched = record.token == crate::model::Token::NONE;
    if untouched && record.after.is_some() { State::Waiting } else { State::Pending }
}
