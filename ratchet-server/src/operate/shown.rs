//! Records as programs read them. Inputs and what programs said about failures come redacted; results, pinned keys and
//! requests are not shown.

use ratchet::{Attempt, AuditEntry, Cause, Record, Stored, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::said::Said;

#[derive(Serialize)]
pub(super) struct ShownRecord {
    operation: String,
    key: String,
    generation: u32,
    version: String,
    state: &'static str,
    created_at: String,
    ready_at: String,
    settled_at: Option<String>,
    attempts: u32,
    token: u64,
    may_be_applied: bool,
    cancel_requested: bool,
    cause: Option<ShownCause>,
    uncertainty: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct ShownCause {
    kind: &'static str,
    detail: String,
}

#[derive(Serialize)]
pub(super) struct ShownAttempt {
    token: u64,
    worker: String,
    leased_at: String,
    started_at: Option<String>,
    ended_at: Option<String>,
    outcome: Option<&'static str>,
    cause: Option<ShownCause>,
    late: bool,
}

#[derive(Serialize)]
pub(super) struct ShownDecision {
    at: String,
    by: String,
    action: String,
    reason: String,
    from: &'static str,
    to: &'static str,
}

/// All that there is about one record.
#[derive(Serialize)]
pub(super) struct ShownInFull {
    #[serde(flatten)]
    pub(super) record: ShownRecord,
    pub(super) input: Value,
    pub(super) timeline: Vec<ShownAttempt>,
    pub(super) decisions: Vec<ShownDecision>,
}

/// The rest of a purged record.
#[derive(Serialize)]
pub(super) struct ShownTombstone {
    operation: String,
    key: String,
    generation: u32,
    version: String,
    state: &'static str,
    purged: bool,
    ended_at: String,
}

impl ShownRecord {
    pub(super) fn of(record: &Record, said: &Said) -> Self {
        Self {
            operation: record.id.operation.to_string(),
            key: record.id.key.to_string(),
            generation: record.id.generation.get(),
            version: record.version.to_string(),
            state: record.state.as_str(),
            created_at: record.created_at.to_string(),
            ready_at: record.ready_at.to_string(),
            settled_at: text(record.settled_at),
            attempts: record.attempts,
            token: record.token.get(),
            may_be_applied: record.may_be_applied(),
            cancel_requested: record.cancel_requested,
            cause: record.cause.as_ref().map(|cause| ShownCause::of(cause, said)),
            uncertainty: record.uncertainty.map(ratchet::Uncertainty::explain),
        }
    }
}

impl ShownCause {
    fn of(cause: &Cause, said: &Said) -> Self {
        Self { kind: cause.kind().as_str(), detail: said.told_or_hidden(cause) }
    }
}

impl ShownAttempt {
    pub(super) fn of(attempt: &Attempt, said: &Said) -> Self {
        let end = attempt.end.as_ref();
        Self {
            token: attempt.token.get(),
            worker: attempt.worker.to_string(),
            leased_at: attempt.leased_at.to_string(),
            started_at: text(attempt.started_at),
            ended_at: text(end.map(|end| end.at)),
            outcome: end.map(|end| end.outcome.as_str()),
            cause: end.and_then(|end| end.cause.as_ref()).map(|cause| ShownCause::of(cause, said)),
            late: end.is_some_and(|end| end.late),
        }
    }
}

impl ShownDecision {
    pub(super) fn of(entry: &AuditEntry) -> Self {
        Self {
            at: entry.at.to_string(),
            by: entry.by.clone(),
            action: entry.action.clone(),
            reason: entry.reason.clone(),
            from: entry.from.as_str(),
            to: entry.to.as_str(),
        }
    }
}

impl ShownTombstone {
    /// `None` for a record that is not purged.
    pub(super) fn of(stored: &Stored) -> Option<Self> {
        let Stored::Tombstone(rest) = stored else { return None };
        Some(Self {
            operation: rest.id.operation.to_string(),
            key: rest.id.key.to_string(),
            generation: rest.id.generation.get(),
            version: rest.version.to_string(),
            state: rest.state.as_str(),
            purged: true,
            ended_at: rest.ended_at.to_string(),
        })
    }
}

fn text(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}
