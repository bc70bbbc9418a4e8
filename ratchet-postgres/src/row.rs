//! Between a record and its rows in `records`, `progress` and `steps`.

use std::collections::BTreeMap;

use ratchet_core::decide::Stored;
use ratchet_core::{
    Effect, Namespace, OperationName, Payload, Policy, Priority, Queue, Record, RecordId, Step, StepName,
    StepState, Terms, Timestamp, Token, Tombstone, Version, serde_json,
};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgRow;

use crate::columns::{Columns, InOrder, by_json, by_name};
use crate::error::Fault;

/// The database's clock, unless this parameter holds a moment of the caller's.
macro_rules! now {
    ($parameter:literal) => {
        concat!(
            "coalesce(",
            $parameter,
            "::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)"
        )
    };
}
pub(crate) use now;

/// What [`read`] reads but for the steps, from `records AS r` and `progress AS p`: in this order, and before all else.
macro_rules! record_columns {
    () => {
        "r.id, r.namespace, r.operation, r.key, r.generation, r.version, r.fingerprint, r.input, r.policy, r.contract, \
         r.group_id, r.comes_after, r.trace, r.created_at, p.queue, p.priority, p.state, p.ready_at, p.token, p.lease_until, \
         p.attempt_worker, p.attempt_started_at, p.attempts, p.spent, p.may_be_applied, p.first_started_at, p.pin, \
         p.cancel_requested, p.risk_accepted, p.result, p.cause, p.uncertainty, p.reconcile_at, p.settled_at, \
         p.has_steps, p.record_id, r.ended_at, r.ended_as"
    };
}
pub(crate) use record_columns;

/// The steps of `progress AS p`. What should be JSON in it is handed out as a text and read afterwards: PostgreSQL's own
/// complaint about one would stop the whole statement, and with it every other record.
macro_rules! steps_column {
    () => {
        "CASE WHEN p.has_steps THEN (SELECT json_agg(json_build_object('name', s.name, 'state', s.state, \
             'may_be_applied', s.may_be_applied, 'first_started_at', s.first_started_at, 'pin', s.pin, \
             'contract', s.contract, 'reconciles', s.reconciles, 'result', s.result))::text \
          FROM ratchet.steps AS s WHERE s.record_id = p.record_id) END AS steps"
    };
}
pub(crate) use steps_column;

/// A step, in both directions.
#[derive(Serialize, Deserialize)]
pub(crate) struct StepRow {
    pub(crate) name: StepName,
    pub(crate) state: StepState,
    pub(crate) may_be_applied: bool,
    pub(crate) first_started_at: Option<Timestamp>,
    pub(crate) pin: Option<String>,
    pub(crate) contract: String,
    pub(crate) reconciles: bool,
    pub(crate) result: Option<String>,
}

impl StepRow {
    pub(crate) fn new(name: &StepName, step: &Step) -> Result<Self, Fault> {
        Ok(Self {
            name: name.clone(),
            state: step.state,
            may_be_applied: step.effect.may_be_applied,
            first_started_at: step.effect.first_started_at,
            pin: step.effect.pin.as_ref().map(as_json).transpose()?,
            contract: as_json(&step.effect.contract)?,
            reconciles: step.reconciles,
            result: step.result.as_ref().map(|result| result.as_str().to_owned()),
        })
    }

    pub(crate) fn into_step(self) -> Result<(StepName, Step), Fault> {
        let effect = Effect {
            contract: by_json(&self.contract)?,
            may_be_applied: self.may_be_applied,
            first_started_at: self.first_started_at,
            pin: self.pin.as_deref().map(by_json).transpose()?,
        };
        let result = self.result.map(Payload::from_stored);
        let step = Step { state: self.state, effect, reconciles: self.reconciles, result };
        Ok((self.name, step))
    }
}

pub(crate) fn as_json<T: Serialize>(value: &T) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|_| Fault::Damaged("a record cannot be written as JSON"))
}

/// A column of JSON texts, which are written and sent once for neighbours that are equal.
pub(crate) struct Texts<'a, T> {
    distinct: Vec<String>,
    last: Option<&'a T>,
    places: Vec<i32>,
}

impl<T> Default for Texts<'_, T> {
    fn default() -> Self {
        Self { distinct: Vec::new(), last: None, places: Vec::new() }
    }
}

impl<'a, T: PartialEq + Serialize> Texts<'a, T> {
    pub(crate) fn add(&mut self, value: &'a T) -> Result<(), Fault> {
        if self.last != Some(value) {
            self.distinct.push(as_json(value)?);
            self.last = Some(value);
        }
        let place = i32::try_from(self.distinct.len());
        self.places.push(place.map_err(|_| Fault::Damaged("a statement has too many rows"))?);
        Ok(())
    }

    pub(crate) fn distinct(&self) -> &[String] {
        &self.distinct
    }

    /// For each value where its text is, counted from 1 as PostgreSQL does.
    pub(crate) fn places(&self) -> &[i32] {
        &self.places
    }
}

/// The name that an enumeration is written by.
pub(crate) fn name_of<T: Serialize>(value: &T) -> Result<String, Fault> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => Ok(name),
        _ => Err(Fault::Damaged("a name cannot be written")),
    }
}

/// The first moment at which the record [is purgeable](Record::is_purgeable).
pub(crate) fn purge_at(record: &Record) -> Option<Timestamp> {
    let at = record.settled_at?.after(record.policy.retention);
    record.is_purgeable(at).then_some(at)
}

/// Texts of rows that are read together and what they mean: nearly all rows have the same few.
#[derive(Default)]
pub(crate) struct Snapshots<'a> {
    policies: Known<'a, Policy>,
    contracts: Known<'a, Terms>,
    namespaces: Known<'a, Namespace>,
    operations: Known<'a, OperationName>,
    versions: Known<'a, Version>,
    queues: Known<'a, Queue>,
}

/// What texts of some column mean.
pub(crate) struct Known<'a, T>(Vec<(&'a str, T)>);

impl<T> Default for Known<'_, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'a, T: Clone> Known<'a, T> {
    /// What this text means, read the first time that it is met.
    pub(crate) fn value(
        &mut self,
        text: &'a str,
        read: impl Fn(&str) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if let Some((_, value)) = self.0.iter().rev().find(|(known, _)| *known == text) {
            return Ok(value.clone());
        }
        let value = read(text)?;
        // Those that follow are most likely like the last ones.
        if self.0.len() < MOST_KNOWN {
            self.0.push((text, value.clone()));
        }
        Ok(value)
    }
}

/// Looked through one by one, so there must not be many.
const MOST_KNOWN: usize = 32;

/// Reads [`record_columns`] up to the flag that says whether there are steps: the row's number, and the record without
/// them.
pub(crate) fn read<'a>(row: &mut InOrder<'a>, known: &mut Snapshots<'a>) -> Result<(i64, Record), Fault> {
    let number = row.next()?;
    let id = RecordId {
        namespace: known.namespaces.value(row.next()?, by_name)?,
        operation: known.operations.value(row.next()?, by_name)?,
        key: row.key()?,
        generation: row.generation()?,
    };
    let version = known.versions.value(row.next()?, by_name)?;
    let fingerprint = row.fingerprint()?;
    let input = Payload::from_stored(row.next::<&str>()?);
    let policy = known.policies.value(row.next()?, by_json)?;
    let contract = known.contracts.value(row.next()?, by_json)?;
    let record = Record {
        group: row.next::<Option<&str>>()?.map(by_name).transpose()?,
        after: row.after(&id.namespace)?,
        trace: row.next::<Option<&str>>()?.map(by_name).transpose()?,
        id,
        version,
        fingerprint,
        input,
        policy,
        created_at: row.time()?,
        queue: known.queues.value(row.next()?, by_name)?,
        priority: Priority(row.next()?),
        state: row.state()?,
        ready_at: row.time()?,
        token: Token::new(row.small()?),
        lease: row.lease()?,
        attempts: row.small()?,
        spent: row.small()?,
        effect: Effect {
            contract,
            may_be_applied: row.next()?,
            first_started_at: row.time_if_any()?,
            pin: row.json_if_any()?,
        },
        steps: BTreeMap::new(),
        cancel_requested: row.next()?,
        risk_accepted: row.next()?,
        result: row.next::<Option<&str>>()?.map(Payload::from_stored),
        cause: row.json_if_any()?,
        uncertainty: row.next::<Option<&str>>()?.map(by_name).transpose()?,
        reconcile_at: row.time_if_any()?,
        settled_at: row.time_if_any()?,
    };
    Ok((number, record))
}

/// Reads [`record_columns`] with [`steps_column`].
pub(crate) fn read_with_steps<'a>(row: &'a PgRow, known: &mut Snapshots<'a>) -> Result<(i64, Record), Fault> {
    let (number, mut record) = read(&mut InOrder::new(row), known)?;
    record.steps = Columns(row).steps()?;
    Ok((number, record))
}

/// Reads a row of `records` with or without its progress, and with [`steps_column`].
pub(crate) fn read_stored<'a>(row: &'a PgRow, snapshots: &mut Snapshots<'a>) -> Result<Stored, Fault> {
    let columns = Columns(row);
    if columns.number_if_any("record_id")?.is_some() {
        return Ok(Stored::Record(Box::new(read_with_steps(row, snapshots)?.1)));
    }
    Ok(Stored::Tombstone(Tombstone {
        id: columns.identity()?,
        version: columns.name("version")?,
        fingerprint: columns.fingerprint("fingerprint")?,
        state: columns.state("ended_as")?,
        ended_at: columns.time("ended_at")?,
    }))
}
