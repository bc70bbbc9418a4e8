//! Finds the record of a step or job, for those who may know of it.

use ratchet::ledger::Cursor;
use ratchet::{Cause, LedgerError, Record, RecordId, Refusal, Stored};
use serde_json::Value;

use super::runs::Run;
use crate::said::Declarations;
use crate::serve::App;
use crate::serve::auth::{Grant, Scope};
use crate::serve::problem::Problem;

/// The record at a place, if it is one of the caller's namespace and operations. For everybody else there is none.
pub(super) async fn of_namespace(
    app: &App,
    grant: &Grant,
    place: Cursor,
    what: &'static str,
) -> Result<Record, Problem> {
    match app.ledger().at(place).await? {
        Some(Stored::Record(record))
            if record.id.namespace == grant.namespace && grant.allows(&record.id.operation) =>
        {
            Ok(*record)
        }
        _ => Err(Problem::not_found(what)),
    }
}

/// The same for an operator, or for the producer whom it belongs to.
pub(super) async fn of_reader(
    app: &App,
    grant: &Grant,
    place: Cursor,
    what: &'static str,
) -> Result<Record, Problem> {
    let record = of_namespace(app, grant, place, what).await?;
    if grant.has(Scope::Operator) || is_own(app, grant, &record).await? {
        Ok(record)
    } else {
        Err(Problem::not_found(what))
    }
}

/// Which record it is, for those who may know how it ends. One that is purged has ended, and says no more than how: whose it
/// was is not known any more.
pub(super) async fn seen_by(
    app: &App,
    grant: &Grant,
    place: Cursor,
    what: &'static str,
) -> Result<RecordId, Problem> {
    let stored = app.ledger().at(place).await?.filter(|stored| {
        let id = stored.id();
        id.namespace == grant.namespace && grant.allows(&id.operation)
    });
    match stored {
        Some(Stored::Record(record)) if grant.has(Scope::Operator) || is_own(app, grant, &record).await? => {
            Ok(record.id)
        }
        Some(Stored::Tombstone(rest)) => Ok(rest.id),
        _ => Err(Problem::not_found(what)),
    }
}

/// Whether a producer enqueued the record: in a run of its own.
pub(super) async fn is_own(app: &App, grant: &Grant, record: &Record) -> Result<bool, Problem> {
    let Some(group) = &record.group else { return Ok(false) };
    let run: Option<Run> = app.shelf().recent(&grant.namespace, group.as_str()).await?;
    Ok(grant.has(Scope::Producer) && run.is_some_and(|run| run.owner == grant.name))
}

/// The stored result as JSON.
pub(super) fn result_of(record: &Record) -> Option<Value> {
    record.result.as_ref().and_then(|result| result.decode().ok())
}

/// Why the last attempt did not end well, in one line: whole for whoever may see the result, and for others without what is
/// hidden.
pub(super) async fn cause_of(
    record: &Record,
    own: bool,
    declared: &mut Declarations<'_>,
) -> Result<Option<String>, LedgerError> {
    let Some(cause) = &record.cause else { return Ok(None) };
    if own {
        return Ok(Some(cause.to_string()));
    }
    let told = declared.said(record).await?.told(cause).unwrap_or_default();
    Ok(Some(Cause::new(cause.kind(), told).to_string()))
}

/// Why the ledger refused a command.
pub(super) fn refused(refusal: &Refusal) -> Problem {
    let code = match refusal {
        Refusal::NoRecord => return Problem::not_found("step"),
        Refusal::Superseded => "LEASE_SUPERSEDED",
        Refusal::Changed => "CHANGED",
        Refusal::RiskNotAccepted(_) => "DUPLICATE_RISK",
        Refusal::ReplayOver(_) => "REPLAY_OVER",
        _ => "WRONG_STATE",
    };
    Problem::refused(code, refusal.to_string())
}
