//! Names of the protocol: ids in paths, and words for states.

use std::fmt;

use ratchet::ledger::Cursor;
use ratchet::{GroupId, RecordState, Timestamp};

use crate::serve::problem::Problem;

/// A step is a record. Its id is the record's place in the store: no secret, and good in the namespace of its record alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StepId(pub(super) Cursor);

/// The execution of a step. Which attempt it is, the token of its lease says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JobId(pub(super) Cursor);

const STEP: &str = "step_";
const JOB: &str = "job_";
const RUN: &str = "run_";

impl StepId {
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        place(text, STEP).map(Self).ok_or_else(|| Problem::not_found("step"))
    }
}

impl JobId {
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        place(text, JOB).map(Self).ok_or_else(|| Problem::not_found("job"))
    }
}

/// A place in its one spelling.
fn place(text: &str, prefix: &str) -> Option<Cursor> {
    let digits = text.strip_prefix(prefix)?;
    let number: i64 = digits.parse().ok()?;
    (number >= 0 && number.to_string() == digits).then_some(Cursor(number))
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{STEP}{}", self.0.0)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{JOB}{}", self.0.0)
    }
}

/// A run is a group of records. Its id begins with the time, so that the oldest runs are the first in order.
pub(super) fn new_run(now: Timestamp) -> Result<GroupId, Problem> {
    let mut bits = [0; 8];
    let unavailable = |_| Problem::unavailable("the system gives no random bytes");
    getrandom::fill(&mut bits).map_err(unavailable)?;
    run(&format!("{RUN}{:012x}{:016x}", now.as_millis(), u64::from_be_bytes(bits)))
}

pub(super) fn run(text: &str) -> Result<GroupId, Problem> {
    let id = GroupId::new(text).ok().filter(|id| id.as_str().starts_with(RUN));
    id.ok_or_else(|| Problem::not_found("run"))
}

/// The protocol's word for a state.
pub(super) fn state(state: RecordState) -> String {
    state.as_str().to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_spelling() {
        assert_eq!(StepId::parse("step_17").unwrap(), StepId(Cursor(17)));
        assert_eq!(StepId(Cursor(17)).to_string(), "step_17");
        for wrong in
            ["", "17", "step_", "step_017", "step_-1", "step_+1", "job_17", "step_99999999999999999999"]
        {
            assert!(StepId::parse(wrong).is_err(), "{wrong}");
        }
    }
}
