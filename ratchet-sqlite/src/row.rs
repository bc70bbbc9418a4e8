//! Between a record and its row. Rows travel into SQLite as JSON, many in one statement: a statement of its own for
//! every row would cost more than the row.

use ratchet_core::{
    Effect, Generation, Namespace, OperationName, Payload, Pin, Record, RecordId, State, Step, StepName,
    StepState, Terms, Timestamp, serde_json,
};
use serde::{Deserialize, Serialize};

use crate::error::Fault;

/// How many rows one statement takes: bounds the memory that a statement needs, not the size of a batch.
pub(crate) const ROWS_PER_STATEMENT: usize = 1_000;

/// A record from `ratchet_records AS r` as a JSON array, which [`read_all`](crate::stored::read_all) reads: a column by itself
/// costs more on its way out of SQLite than what it holds.
///
/// What a new record has not is a list of its own, which most rows can do without. JSON inside of it stays a text: SQLite's
/// own complaint about what is no JSON would stop the whole statement, and with it every other record. There are no steps
/// before the first lease.
macro_rules! record_json {
    () => {
        "json_array(r.id, r.namespace, r.operation, r.key, r.generation, r.version, hex(r.fingerprint), r.queue, \
         r.priority, r.created_at, r.state, r.ready_at, r.terms, r.input, r.group_id, r.comes_after, r.trace, \
         iif(r.token = 0 AND r.attempts = 0 AND r.spent = 0 AND r.may_be_applied = 0 AND r.cancel_requested = 0 \
             AND r.risk_accepted = 0 AND coalesce(r.lease_worker, r.lease_until, r.lease_started_at, r.first_started_at, \
             r.pin, r.cause, r.uncertainty, r.reconcile_at, r.settled_at, r.result) IS NULL, NULL, \
             json_array(r.token, r.lease_worker, r.lease_until, r.lease_started_at, r.attempts, r.spent, \
             r.may_be_applied, r.first_started_at, r.pin, r.cancel_requested, r.risk_accepted, r.cause, r.uncertainty, \
             r.reconcile_at, r.settled_at, r.result, ( \
             SELECT json_group_array(json_object('name', s.name, 'state', s.state, \
                 'may_be_applied', json(iif(s.may_be_applied, 'true', 'false')), \
                 'first_started_at', s.first_started_at, \
                 'pin', json(iif(json_valid(s.pin), s.pin, json_quote(s.pin))), \
                 'contract', json(iif(json_valid(s.contract), s.contract, json_quote(s.contract))), \
                 'reconciles', json(iif(s.reconciles, 'true', 'false')), 'result', s.result)) || '' \
             FROM ratchet_steps AS s WHERE s.record_id = r.id))))"
    };
}
pub(crate) use record_json;

/// A tombstone from `ratchet_tombstones AS t`, for one statement over both tables.
macro_rules! tombstone_json {
    () => {
        "json_array(NULL, t.namespace, t.operation, t.key, t.generation, t.version, hex(t.fingerprint), t.state, \
         t.ended_at)"
    };
}
pub(crate) use tombstone_json;

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

/// A step, in both directions.
#[derive(Serialize, Deserialize)]
pub(crate) struct StepRow {
    name: StepName,
    state: StepState,
    may_be_applied: bool,
    first_started_at: Option<Timestamp>,
    pin: Option<Box<Pin>>,
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
    as_json(rows)
}

pub(crate) fn as_json<T: Serialize + ?Sized>(value: &T) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|_| Fault::Damaged("a record cannot be written as JSON"))
}

/// The first moment at which the record [is purgeable](Record::is_purgeable).
pub(crate) fn purge_at(record: &Record) -> Option<Timestamp> {
    let at = record.settled_at?.after(record.policy.retention);
    record.is_purgeable(at).then_some(at)
}

/// What the column `attention` says of a state.
pub(crate) fn attention(state: State) -> Option<u8> {
    matches!(state, State::Failed | State::Exhausted | State::Uncertain | State::Abandoned).then_some(1)
}
