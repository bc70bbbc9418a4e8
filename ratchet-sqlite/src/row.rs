//! Between a record and its row. Rows travel into SQLite as JSON, many in one statement: a statement of its own for
//! every row would cost more than the row.

use ratchet_core::decide::Stored;
use ratchet_core::{
    After, Cause, Effect, Generation, GroupId, Namespace, OperationName, Payload, Pin, Policy, Priority,
    Queue, Record, RecordId, State, Step, StepName, StepState, Terms, Timestamp, Token, Tombstone,
    Uncertainty, Version, WorkerId, serde_json,
};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;

use crate::columns::Columns;
use crate::error::Fault;

/// How many rows one statement takes: bounds the memory that a statement needs, not the size of a batch.
pub(crate) const ROWS_PER_STATEMENT: usize = 500;

/// What [`read`] reads, from `ratchet_records AS r`. What is no JSON is handed out as a text, which reads as damaged:
/// SQLite's own complaint would stop the whole statement, and with it every other record.
macro_rules! record_columns {
    () => {
        "r.id, r.namespace, r.operation, r.key, r.generation, r.version, r.fingerprint, r.queue, r.priority, \
         r.created_at, r.state, r.ready_at, r.token, r.lease_worker, r.lease_until, r.lease_started_at, r.attempts, r.spent, \
         r.may_be_applied, r.first_started_at, r.pin, r.cancel_requested, r.risk_accepted, r.cause, \
         r.uncertainty, r.reconcile_at, r.settled_at, r.result, r.policy, r.contract, r.input, \
         r.group_id, r.comes_after, \
         (SELECT json_group_array(json_object('name', s.name, 'state', s.state, \
             'may_be_applied', json(iif(s.may_be_applied, 'true', 'false')), \
             'first_started_at', s.first_started_at, \
             'pin', json(iif(json_valid(s.pin), s.pin, json_quote(s.pin))), \
             'contract', json(iif(json_valid(s.contract), s.contract, json_quote(s.contract))), \
             'reconciles', json(iif(s.reconciles, 'true', 'false')), 'result', s.result)) \
          FROM ratchet_steps AS s WHERE s.record_id = r.id) AS steps"
    };
}
pub(crate) use record_columns;

/// The same columns from `ratchet_tombstones AS t`, for one statement over both tables: no `id`, and the end of the
/// record as `settled_at`.
macro_rules! tombstone_columns {
    () => {
        "NULL, t.namespace, t.operation, t.key, t.generation, t.version, t.fingerprint, NULL, NULL, NULL, \
         t.state, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
         NULL, NULL, t.ended_at, NULL, NULL, NULL, NULL, NULL, NULL, NULL"
    };
}
pub(crate) use tombstone_columns;

/// The identity of a record, for statements that look many up.
#[derive(Serialize)]
pub(crate) struct IdentityRow<'a> {
    namespace: &'a Namespace,
    operation: &'a OperationName,
    key: &'a str,
    generation: Generation,
}

impl<'a> From<&'a RecordId> for IdentityRow<'a> {
    fn from(id: &'a RecordId) -> Self {
        Self {
            namespace: &id.namespace,
            operation: &id.operation,
            key: id.key.as_str(),
            generation: id.generation,
        }
    }
}

/// Everything about a record but its steps.
#[derive(Serialize)]
pub(crate) struct NewRow<'a> {
    #[serde(flatten)]
    id: IdentityRow<'a>,
    version: &'a Version,
    fingerprint: String,
    queue: &'a Queue,
    priority: Priority,
    created_at: Timestamp,
    policy: &'a Policy,
    contract: &'a Terms,
    input: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_id: Option<&'a GroupId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comes_after: Option<String>,
    #[serde(flatten)]
    facts: Facts<'a>,
}

impl<'a> NewRow<'a> {
    /// A record, and the row of the one that it comes after.
    pub(crate) fn new(record: &'a Record, after_id: Option<i64>) -> Self {
        Self {
            id: (&record.id).into(),
            version: &record.version,
            fingerprint: record.fingerprint.to_string(),
            queue: &record.queue,
            priority: record.priority,
            created_at: record.created_at,
            policy: &record.policy,
            contract: &record.effect.contract,
            input: record.input.as_str(),
            group_id: record.group.as_ref(),
            after_id,
            comes_after: record.after.as_ref().map(After::to_stored),
            facts: record.into(),
        }
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
            pin: record.effect.pin.as_ref(),
            result: record.result.as_ref().map(Payload::as_str),
            cause: record.cause.as_ref(),
            uncertainty: record.uncertainty,
            reconcile_at: record.reconcile_at,
            settled_at: record.settled_at,
            purge_at: purge_at(record),
        }
    }
}

/// The first moment at which the record [is purgeable](Record::is_purgeable).
fn purge_at(record: &Record) -> Option<Timestamp> {
    let at = record.settled_at?.after(record.policy.retention);
    record.is_purgeable(at).then_some(at)
}

/// A step, in both directions.
#[derive(Serialize, Deserialize)]
pub(crate) struct StepRow {
    name: StepName,
    state: StepState,
    may_be_applied: bool,
    first_started_at: Option<Timestamp>,
    pin: Option<Pin>,
    contract: Terms,
    reconciles: bool,
    result: Option<String>,
}

impl StepRow {
    pub(crate) fn new(name: &StepName, step: &Step) -> Self {
        Self {
            name: name.clone(),
            state: step.state,
            may_be_applied: step.effect.may_be_applied,
            first_started_at: step.effect.first_started_at,
            pin: step.effect.pin.clone(),
            contract: step.effect.contract.clone(),
            reconciles: step.reconciles,
            result: step.result.as_ref().map(|result| result.as_str().to_owned()),
        }
    }

    pub(crate) fn into_step(self) -> (StepName, Step) {
        let effect = Effect {
            contract: self.contract,
            may_be_applied: self.may_be_applied,
            first_started_at: self.first_started_at,
            pin: self.pin,
        };
        let result = self.result.map(Payload::from_stored);
        let step = Step { state: self.state, effect, reconciles: self.reconciles, result };
        (self.name, step)
    }
}

/// Rows as the one JSON parameter of a statement.
pub(crate) fn rows_as_json<T: Serialize>(rows: &[T]) -> Result<String, Fault> {
    serde_json::to_string(rows).map_err(|_| Fault::Damaged("a record cannot be written as JSON"))
}

/// Reads [`record_columns`]: the row's number and the record.
pub(crate) fn read(row: &SqliteRow) -> Result<(i64, Record), Fault> {
    let row = Columns(row);
    let effect = Effect {
        contract: row.json("contract")?,
        may_be_applied: row.flag("may_be_applied")?,
        first_started_at: row.time_if_any("first_started_at")?,
        pin: row.json_if_any("pin")?,
    };
    let id = row.identity()?;
    let record = Record {
        group: row.name_if_any("group_id")?,
        after: row.after(&id.namespace)?,
        id,
        version: row.name("version")?,
        fingerprint: row.fingerprint("fingerprint")?,
        input: Payload::from_stored(row.text("input")?),
        policy: row.json("policy")?,
        queue: row.name("queue")?,
        priority: Priority(row.small("priority")?),
        created_at: row.time("created_at")?,
        state: row.state("state")?,
        ready_at: row.time("ready_at")?,
        token: row.token("token")?,
        lease: row.lease()?,
        attempts: row.small("attempts")?,
        spent: row.small("spent")?,
        effect,
        steps: row.steps()?,
        cancel_requested: row.flag("cancel_requested")?,
        risk_accepted: row.flag("risk_accepted")?,
        result: row.text_if_any("result")?.map(Payload::from_stored),
        cause: row.json_if_any("cause")?,
        uncertainty: row.name_if_any("uncertainty")?,
        reconcile_at: row.time_if_any("reconcile_at")?,
        settled_at: row.time_if_any("settled_at")?,
    };
    Ok((row.number("id")?, record))
}

/// Reads a row of either table.
pub(crate) fn read_stored(row: &SqliteRow) -> Result<Stored, Fault> {
    let columns = Columns(row);
    if columns.number_if_any("id")?.is_some() {
        return Ok(Stored::Record(Box::new(read(row)?.1)));
    }
    Ok(Stored::Tombstone(Tombstone {
        id: columns.identity()?,
        version: columns.name("version")?,
        fingerprint: columns.fingerprint("fingerprint")?,
        state: columns.state("state")?,
        ended_at: columns.time("settled_at")?,
    }))
}
