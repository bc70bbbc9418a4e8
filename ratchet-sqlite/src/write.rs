//! Writes what was decided: one statement for each table, whatever the number of rows.

use std::collections::BTreeMap;

use ratchet_core::ledger::desk::{AttemptNotes, Sheet};
use ratchet_core::{
    Attempt, AttemptEnd, Cause, OutcomeKind, Payload, Pin, Record, State, Step, StepName, Timestamp, Token,
    Uncertainty, Version, WorkerId,
};
use serde::Serialize;
use sqlx::SqliteConnection;

use crate::error::{Fault, While as _};
use crate::row::{ROWS_PER_STATEMENT, StepRow, attention, purge_at, rows_as_json};
use crate::terms;
use crate::usual::Usual;

/// A record's number, what its row must still say, and what it says from now on.
#[derive(Serialize)]
struct ChangedRow<'a> {
    id: i64,
    was_state: State,
    was_token: Token,
    #[serde(flatten)]
    facts: Facts<'a>,
    /// Only where they are others than before.
    #[serde(skip_serializing_if = "Option::is_none")]
    terms: Option<String>,
}

impl<'a> ChangedRow<'a> {
    fn of(sheet: &'a Sheet) -> Result<Self, Fault> {
        let record = &sheet.record;
        Ok(Self {
            id: sheet.row,
            was_state: sheet.was.0,
            was_token: sheet.was.1,
            facts: record.into(),
            terms: sheet.changed_terms.then(|| terms::of(record)).transpose()?,
        })
    }
}

/// What may change about a record. What is absent is NULL.
#[derive(Serialize)]
pub(crate) struct Facts<'a> {
    state: State,
    ready_at: Timestamp,
    token: Token,
    attempts: u32,
    spent: u32,
    may_be_applied: bool,
    cancel_requested: bool,
    risk_accepted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_worker: Option<&'a WorkerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_until: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pin: Option<&'a Pin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a Cause>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uncertainty: Option<Uncertainty>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reconcile_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settled_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    purge_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attention: Option<u8>,
}

impl<'a> From<&'a Record> for Facts<'a> {
    fn from(record: &'a Record) -> Self {
        let lease = record.lease.as_ref();
        Self {
            state: record.state,
            ready_at: record.ready_at,
            token: record.token,
            attempts: record.attempts,
            spent: record.spent,
            may_be_applied: record.effect.may_be_applied,
            cancel_requested: record.cancel_requested,
            risk_accepted: record.risk_accepted,
            lease_worker: lease.map(|lease| &lease.worker),
            lease_until: lease.map(|lease| lease.until),
            lease_started_at: lease.and_then(|lease| lease.started_at),
            first_started_at: record.effect.first_started_at,
            pin: record.effect.pin.as_deref(),
            result: record.result.as_ref().map(Payload::as_str),
            cause: record.cause.as_ref(),
            uncertainty: record.uncertainty,
            reconcile_at: record.reconcile_at,
            settled_at: record.settled_at,
            purge_at: purge_at(record),
            attention: attention(record.state),
        }
    }
}

/// Writes the records that changed, but for those that the usual writes cover.
pub(crate) async fn records(
    connection: &mut SqliteConnection,
    sheets: &[Sheet],
    usual: &Usual<'_>,
) -> Result<(), Fault> {
    const UPDATE: &str = "WITH changed AS MATERIALIZED (SELECT value AS c FROM json_each(?1)) \
        UPDATE ratchet_records SET state = c ->> 'state', ready_at = c ->> 'ready_at', token = c ->> 'token', \
            attempts = c ->> 'attempts', spent = c ->> 'spent', may_be_applied = c ->> 'may_be_applied', \
            cancel_requested = c ->> 'cancel_requested', risk_accepted = c ->> 'risk_accepted', \
            lease_worker = c ->> 'lease_worker', lease_until = c ->> 'lease_until', \
            lease_started_at = c ->> 'lease_started_at', first_started_at = c ->> 'first_started_at', \
            pin = c ->> 'pin', result = c ->> 'result', cause = c ->> 'cause', \
            uncertainty = c ->> 'uncertainty', reconcile_at = c ->> 'reconcile_at', \
            settled_at = c ->> 'settled_at', purge_at = c ->> 'purge_at', attention = c ->> 'attention', \
            terms = coalesce((SELECT t.id FROM ratchet_terms AS t WHERE t.terms = c ->> 'terms'), terms) \
        FROM changed \
        WHERE id = c ->> 'id' AND state = c ->> 'was_state' AND token = c ->> 'was_token'";
    let changed = sheets.iter().filter(|sheet| sheet.changed && !usual.covers(sheet.row, sheet.record.token));
    let rows = changed.map(ChangedRow::of).collect::<Result<Vec<_>, _>>()?;
    let terms: Vec<&str> = rows.iter().filter_map(|row| row.terms.as_deref()).collect();
    terms::put_on_record(connection, &terms).await?;
    let written = run(connection, UPDATE, &rows).await?;
    require_all(written, rows.len())
}

/// Loaded and written in one transaction that holds the write lock, so only a trigger or a fault can keep a row from it.
pub(crate) fn require_all(written: u64, rows: usize) -> Result<(), Fault> {
    if written == rows as u64 { Ok(()) } else { Err(Fault::Damaged("a record changed under the write lock")) }
}

#[derive(Serialize)]
pub(crate) struct ChangedStep {
    record_id: i64,
    #[serde(flatten)]
    step: StepRow,
}

impl ChangedStep {
    pub(crate) fn new(record_id: i64, name: &StepName, step: &Step) -> Self {
        Self { record_id, step: StepRow::new(name, step) }
    }
}

pub(crate) async fn steps(connection: &mut SqliteConnection, sheets: &[Sheet]) -> Result<(), Fault> {
    let mut rows = Vec::new();
    for sheet in sheets {
        let changed = sheet.changed_steps.iter().filter_map(|name| sheet.record.steps.get_key_value(name));
        rows.extend(changed.map(|(name, step)| ChangedStep::new(sheet.row, name, step)));
    }
    write_steps(connection, &rows).await
}

pub(crate) async fn write_steps(
    connection: &mut SqliteConnection,
    rows: &[ChangedStep],
) -> Result<(), Fault> {
    const REPLACE: &str = "WITH changed AS MATERIALIZED (SELECT value AS c FROM json_each(?1)) \
        INSERT OR REPLACE INTO ratchet_steps \
            (record_id, name, state, may_be_applied, first_started_at, pin, contract, reconciles, result) \
        SELECT c ->> 'record_id', c ->> 'name', c ->> 'state', c ->> 'may_be_applied', \
            c ->> 'first_started_at', c ->> 'pin', c ->> 'contract', c ->> 'reconciles', c ->> 'result' FROM changed";
    run(connection, REPLACE, rows).await?;
    Ok(())
}

/// A row of an attempt; what a statement does not name is left out.
#[derive(Serialize)]
struct AttemptRow<'a> {
    record_id: i64,
    token: Token,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<&'a WorkerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a Version>,
    #[serde(skip_serializing_if = "Option::is_none")]
    leased_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    #[serde(flatten)]
    end: Option<EndRow<'a>>,
}

#[derive(Serialize)]
struct EndRow<'a> {
    ended_at: Timestamp,
    outcome: OutcomeKind,
    cause: Option<&'a Cause>,
    late: bool,
}

impl<'a> AttemptRow<'a> {
    fn of((record_id, token): (i64, Token)) -> Self {
        Self { record_id, token, worker: None, version: None, leased_at: None, started_at: None, end: None }
    }

    fn opened(at: (i64, Token), attempt: &'a Attempt) -> Self {
        Self {
            worker: Some(&attempt.worker),
            version: Some(&attempt.version),
            leased_at: Some(attempt.leased_at),
            started_at: attempt.started_at,
            end: attempt.end.as_ref().map(EndRow::from),
            ..Self::of(at)
        }
    }
}

impl<'a> From<&'a AttemptEnd> for EndRow<'a> {
    fn from(end: &'a AttemptEnd) -> Self {
        Self { ended_at: end.at, outcome: end.outcome, cause: end.cause.as_ref(), late: end.late }
    }
}

/// Writes what became of attempts, but for those that the usual writes cover.
pub(crate) async fn attempts(
    connection: &mut SqliteConnection,
    notes: &AttemptNotes,
    usual: &Usual<'_>,
) -> Result<(), Fault> {
    const START: &str = "WITH noted AS MATERIALIZED (SELECT value AS n FROM json_each(?1)) \
        UPDATE ratchet_attempts AS a SET started_at = n ->> 'started_at' FROM noted \
        WHERE a.record_id = n ->> 'record_id' AND a.token = n ->> 'token'";
    // A certain end replaces an unknown one, never the other way round.
    const END: &str = "WITH noted AS MATERIALIZED (SELECT value AS n FROM json_each(?1)) \
        UPDATE ratchet_attempts AS a SET ended_at = n ->> 'ended_at', outcome = n ->> 'outcome', \
            cause = n ->> 'cause', late = n ->> 'late' FROM noted \
        WHERE a.record_id = n ->> 'record_id' AND a.token = n ->> 'token' \
            AND (a.outcome IS NULL OR (a.outcome = 'unknown' AND n ->> 'outcome' <> 'unknown'))";
    let opened = rows(&notes.opened, usual, AttemptRow::opened);
    let started = rows(&notes.started, usual, |at, started_at| AttemptRow {
        started_at: Some(*started_at),
        ..AttemptRow::of(at)
    });
    let ended =
        rows(&notes.ended, usual, |at, end| AttemptRow { end: Some(end.into()), ..AttemptRow::of(at) });
    run(connection, OPEN, &opened).await?;
    run(connection, START, &started).await?;
    run(connection, END, &ended).await?;
    Ok(())
}

const OPEN: &str = "WITH noted AS MATERIALIZED (SELECT value AS n FROM json_each(?1)) \
    INSERT INTO ratchet_attempts \
        (record_id, token, worker, version, leased_at, started_at, ended_at, outcome, cause, late) \
    SELECT n ->> 'record_id', n ->> 'token', n ->> 'worker', n ->> 'version', n ->> 'leased_at', \
        n ->> 'started_at', n ->> 'ended_at', n ->> 'outcome', n ->> 'cause', n ->> 'late' FROM noted";

/// Writes whole attempts, each with the row of its record.
pub(crate) async fn write_attempts(
    connection: &mut SqliteConnection,
    attempts: &[(i64, &Attempt)],
) -> Result<(), Fault> {
    let rows: Vec<AttemptRow<'_>> =
        attempts.iter().map(|&(row, attempt)| AttemptRow::opened((row, attempt.token), attempt)).collect();
    run(connection, OPEN, &rows).await?;
    Ok(())
}

fn rows<'a, T>(
    notes: &'a BTreeMap<(i64, Token), T>,
    usual: &Usual<'_>,
    row: impl Fn((i64, Token), &'a T) -> AttemptRow<'a>,
) -> Vec<AttemptRow<'a>> {
    let rest = notes.iter().filter(|((row, token), _)| !usual.covers(*row, *token));
    rest.map(|(at, note)| row(*at, note)).collect()
}

/// Runs a statement over rows, if there are any; says how many it wrote.
pub(crate) async fn run<T: Serialize>(
    connection: &mut SqliteConnection,
    statement: &'static str,
    rows: &[T],
) -> Result<u64, Fault> {
    let mut written = 0;
    for rows in rows.chunks(ROWS_PER_STATEMENT) {
        let done = sqlx::query(statement)
            .bind(rows_as_json(rows)?)
            .execute(&mut *connection)
            .await
            .while_trying("write what was decided")?;
        written += done.rows_affected();
    }
    Ok(written)
}
