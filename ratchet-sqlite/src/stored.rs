//! Reads what `record_json` and `tombstone_json` make of rows.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ratchet_core::decide::Stored;
use ratchet_core::{
    After, Effect, Fingerprint, Generation, GroupId, Key, Lease, Namespace, OperationName, Payload, Priority,
    Queue, Record, RecordId, State, Step, StepName, Timestamp, Token, Tombstone, TraceParent, Uncertainty,
    Version, WorkerId, serde_json,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sqlx::SqliteExecutor;

use crate::error::Fault;
use crate::hex;
use crate::row::StepRow;
use crate::terms::KnownTerms;

/// A record in the order of `record_json`.
#[derive(Deserialize)]
struct RecordRow<'a> {
    row: i64,
    namespace: Namespace,
    operation: OperationName,
    #[serde(borrow)]
    key: Cow<'a, str>,
    generation: Generation,
    version: Version,
    #[serde(borrow)]
    fingerprint: Cow<'a, str>,
    queue: Queue,
    priority: Priority,
    created_at: Timestamp,
    state: State,
    ready_at: Timestamp,
    terms: i64,
    #[serde(borrow)]
    input: Cow<'a, str>,
    group_id: Option<GroupId>,
    comes_after: Option<String>,
    trace: Option<TraceParent>,
    #[serde(borrow)]
    since: Option<Box<SinceRow<'a>>>,
}

/// What became of a record since it was enqueued.
#[derive(Deserialize, Default)]
struct SinceRow<'a> {
    token: Token,
    lease_worker: Option<WorkerId>,
    lease_until: Option<Timestamp>,
    lease_started_at: Option<Timestamp>,
    attempts: u32,
    spent: u32,
    may_be_applied: i64,
    first_started_at: Option<Timestamp>,
    pin: Option<String>,
    cancel_requested: i64,
    risk_accepted: i64,
    cause: Option<String>,
    uncertainty: Option<Uncertainty>,
    reconcile_at: Option<Timestamp>,
    settled_at: Option<Timestamp>,
    result: Option<String>,
    #[serde(borrow)]
    steps: Cow<'a, str>,
}

/// A tombstone in the order of `tombstone_json`.
#[derive(Deserialize)]
struct TombstoneRow<'a> {
    _no_row: (),
    namespace: Namespace,
    operation: OperationName,
    #[serde(borrow)]
    key: Cow<'a, str>,
    generation: Generation,
    version: Version,
    #[serde(borrow)]
    fingerprint: Cow<'a, str>,
    state: State,
    ended_at: Timestamp,
}

/// The rows of a statement that makes one text of them all, with a line for each: every row by itself would wake whoever
/// waits for it. JSON holds no line break that is not escaped.
pub(crate) fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// Of each text the row's number and the record, or why it cannot be read; that is no reason against the others.
pub(crate) async fn read_all(
    executor: impl SqliteExecutor<'_>,
    texts: &[&[u8]],
) -> Result<Vec<Result<(i64, Record), Fault>>, Fault> {
    let rows: Vec<Result<RecordRow<'_>, Fault>> = texts.iter().map(|text| columns(text)).collect();
    let known = KnownTerms::load(executor, rows.iter().flatten().map(|row| row.terms).collect()).await?;
    Ok(rows.into_iter().map(|row| record(row?, &known)).collect())
}

fn record(row: RecordRow<'_>, known: &KnownTerms) -> Result<(i64, Record), Fault> {
    let id = identity(row.namespace, row.operation, &row.key, row.generation)?;
    let (policy, contract) = known.get(row.terms)?.clone();
    let since = row.since.map_or_else(SinceRow::default, |since| *since);
    let effect = Effect {
        contract,
        may_be_applied: since.may_be_applied != 0,
        first_started_at: since.first_started_at,
        pin: json_if_any(since.pin)?,
    };
    let record = Record {
        group: row.group_id,
        trace: row.trace,
        after: row.comes_after.map(|after| read_after(&id.namespace, &after)).transpose()?,
        id,
        version: row.version,
        fingerprint: fingerprint(&row.fingerprint)?,
        input: Payload::from_stored(&*row.input),
        policy,
        queue: row.queue,
        priority: row.priority,
        created_at: row.created_at,
        state: row.state,
        ready_at: row.ready_at,
        token: since.token,
        lease: lease(since.lease_worker, since.lease_until, since.lease_started_at)?,
        attempts: since.attempts,
        spent: since.spent,
        effect,
        steps: steps(&since.steps)?,
        cancel_requested: since.cancel_requested != 0,
        risk_accepted: since.risk_accepted != 0,
        result: since.result.map(Payload::from_stored),
        cause: json_if_any(since.cause)?,
        uncertainty: since.uncertainty,
        reconcile_at: since.reconcile_at,
        settled_at: since.settled_at,
    };
    Ok((row.row, record))
}

/// A row of either table.
pub(crate) async fn read_stored(executor: impl SqliteExecutor<'_>, text: &[u8]) -> Result<Stored, Fault> {
    if is_tombstone(text) {
        return read_tombstone(text).map(Stored::Tombstone);
    }
    let record = read_all(executor, &[text]).await?.pop();
    let (_, record) = record.ok_or(Fault::Damaged("a row was not read"))??;
    Ok(Stored::Record(Box::new(record)))
}

pub(crate) fn is_tombstone(text: &[u8]) -> bool {
    text.starts_with(b"[null,")
}

pub(crate) fn read_tombstone(text: &[u8]) -> Result<Tombstone, Fault> {
    let row: TombstoneRow<'_> = columns(text)?;
    Ok(Tombstone {
        id: identity(row.namespace, row.operation, &row.key, row.generation)?,
        version: row.version,
        fingerprint: fingerprint(&row.fingerprint)?,
        state: row.state,
        ended_at: row.ended_at,
    })
}

/// The number and the identity of a row that is no record, as far as they can be read.
pub(crate) fn read_damaged(text: &[u8]) -> Result<(i64, Option<RecordId>), Fault> {
    let text = String::from_utf8_lossy(text);
    let mut columns = columns::<Vec<serde_json::Value>>(text.as_bytes())?.into_iter();
    let row = columns.next().and_then(|row| row.as_i64()).ok_or(Fault::Damaged("a row has no number"))?;
    let mut next = || columns.next().unwrap_or_default();
    let id = (next(), next(), next(), next());
    let id = || {
        let key = id.2.as_str()?;
        identity(value(&id.0)?, value(&id.1)?, key, value(&id.3)?).ok()
    };
    Ok((row, id()))
}

fn value<T: DeserializeOwned>(value: &serde_json::Value) -> Option<T> {
    T::deserialize(value).ok()
}

pub(crate) fn columns<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Fault> {
    serde_json::from_slice(text).map_err(|_| Fault::Damaged("a column holds what no release writes"))
}

pub(crate) fn fingerprint(text: &str) -> Result<Fingerprint, Fault> {
    hex::decode(text).ok_or(Fault::Damaged("a fingerprint has no 32 bytes"))
}

fn identity(
    namespace: Namespace,
    operation: OperationName,
    key: &str,
    generation: Generation,
) -> Result<RecordId, Fault> {
    // Zero is none.
    let generation = Generation::new(generation.get()).ok_or(Fault::Damaged("a generation is zero"))?;
    let key = Key::parse(key).map_err(|_| Fault::Damaged("a key is malformed"))?;
    Ok(RecordId { namespace, operation, key, generation })
}

fn read_after(namespace: &Namespace, text: &str) -> Result<After, Fault> {
    After::from_stored(namespace, text).ok_or(Fault::Damaged("what a record comes after is malformed"))
}

fn lease(
    worker: Option<WorkerId>,
    until: Option<Timestamp>,
    started_at: Option<Timestamp>,
) -> Result<Option<Lease>, Fault> {
    let Some(worker) = worker else { return Ok(None) };
    let until = until.ok_or(Fault::Damaged("a lease has no end"))?;
    Ok(Some(Lease { worker, until, started_at }))
}

fn steps(text: &str) -> Result<BTreeMap<StepName, Step>, Fault> {
    match text {
        "" | "[]" => Ok(BTreeMap::new()),
        steps => Ok(json::<Vec<StepRow>>(steps)?.into_iter().map(StepRow::into_step).collect()),
    }
}

fn json<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|_| Fault::Damaged("a JSON column does not fit its type"))
}

fn json_if_any<T: DeserializeOwned>(text: Option<String>) -> Result<Option<T>, Fault> {
    text.map(|text| json(&text)).transpose()
}
