//! What is written down about each attempt and each decision of a person.

use serde::{Deserialize, Serialize};

use super::cause::Cause;
use super::name::{Version, WorkerId};
use super::outcome::OutcomeKind;
use super::record::{State, Token};
use crate::time::Timestamp;

/// One lease of a record and what came of it. For people who look at the record; never part of an identity.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Attempt {
    /// The token of its lease: attempts of one record are ordered by it.
    pub token: Token,
    /// Who held the lease.
    pub worker: WorkerId,
    /// The version that the record asks for.
    pub version: Version,
    /// When the lease was granted, by the ledger's clock.
    pub leased_at: Timestamp,
    /// When the handler was entered; `None` if it never was.
    pub started_at: Option<Timestamp>,
    /// How it ended; `None` while it runs, and for a lease that was given back.
    pub end: Option<AttemptEnd>,
}

impl Attempt {
    /// Writes down how it ended. A certain end replaces an unknown one, never the other way round.
    pub fn end_with(&mut self, end: AttemptEnd) {
        let replaces = match &self.end {
            None => true,
            Some(earlier) => earlier.outcome == OutcomeKind::Unknown && end.outcome != OutcomeKind::Unknown,
        };
        if replaces {
            self.end = Some(end);
        }
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttemptEnd {
    /// When, by the ledger's clock.
    pub at: Timestamp,
    /// What it knew.
    pub outcome: OutcomeKind,
    /// Why it was not simply done.
    pub cause: Option<Cause>,
    /// It reported after its lease was superseded: kept here, and without a say about the record unless it says
    /// `Done` to a record that waits for certainty.
    pub late: bool,
}

/// Who decided what about a record, beside the attempts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AuditEntry {
    /// When, by the ledger's clock.
    pub at: Timestamp,
    /// Who, in the words of the caller.
    pub by: String,
    /// What was done: `cancel`, `resolve`, `replay` or `new_generation`.
    pub action: String,
    /// Why, in the words of the caller.
    pub reason: String,
    /// The state before.
    pub from: State,
    /// The state after.
    pub to: State,
}
