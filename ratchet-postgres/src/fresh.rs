//! First leases of records that nobody has tried so far, looked for and written by one statement.
//!
//! A worker that is busy claims hardly anything else. What such a record becomes follows from its contract alone, so the
//! statement writes it at once. It is decided afterwards all the same, about the record as it was, and a lease that the
//! decision does not confirm is taken back before anybody hears of it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ratchet_core::decide::{Answer, Command, Decision, LONGEST_LEASE, Moment, decide};
use ratchet_core::ledger::Claim;
use ratchet_core::{
    Effect, OperationName, Payload, Policy, Priority, Queue, Record, RecordId, State, Terms, Timestamp,
    Token, Version,
};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use crate::claim::{due_on_shelf, offer_columns, shares};
use crate::columns::{InOrder, by_name};
use crate::error::{Fault, While as _};
use crate::options::Sources;
use crate::row::{Known, as_json};
use crate::seen::Seen;
use crate::usual::FIRST;
use crate::write::{column, millis};

/// Leases those of the `$6` most urgent and longest waiting records that are as they were made, under terms that are known.
const LEASE: &str = concat!(
    shares!(),
    " UPDATE ratchet.progress AS p SET state = 'running', token = 1, attempts = d.starts::int, \
        lease_until = d.now + $7, first_started_at = CASE WHEN d.starts THEN d.now END, attempt_token = 1, \
        attempt_worker = $8, attempt_leased_at = d.now, attempt_started_at = CASE WHEN d.starts THEN d.now END \
      FROM (SELECT p.seen, p.place, p.queue, p.priority, p.ready_at, r.id, r.operation, r.key, r.generation, r.version, \
            r.fingerprint, r.input, r.group_id, r.comes_after, r.trace, r.created_at, k.terms, k.starts, \
            (SELECT now FROM moment) AS now \
        FROM share AS s CROSS JOIN LATERAL ( \
            SELECT p.xmin AS seen, p.ctid AS place, p.record_id, p.queue, p.priority, p.ready_at ",
    due_on_shelf!(),
    "LIMIT s.records) AS p \
        CROSS JOIN LATERAL (SELECT * FROM ratchet.records AS r WHERE r.id = p.record_id LIMIT 1) AS r \
        CROSS JOIN LATERAL (SELECT k.starts, k.terms \
            FROM unnest($9::text[], $10::text[], $11::boolean[]) WITH ORDINALITY AS k(policy, contract, starts, terms) \
            WHERE k.policy = r.policy AND k.contract = r.contract LIMIT 1) AS k) AS d \
      WHERE p.ctid = d.place AND p.xmin = d.seen AND p.token = 0 AND p.attempts = 0 AND p.spent = 0 \
        AND NOT (p.may_be_applied OR p.cancel_requested OR p.risk_accepted OR p.has_steps) \
        AND p.first_started_at IS NULL AND p.reconcile_at IS NULL AND p.settled_at IS NULL \
        AND coalesce(p.pin, p.cause, p.uncertainty, p.result) IS NULL \
      RETURNING d.id, p.xmin, p.ctid, d.now, d.terms, d.operation, d.key, d.generation, d.version, d.fingerprint, d.input, \
        d.group_id, d.comes_after, d.trace, d.created_at, d.queue, d.priority, d.ready_at"
);

/// Makes rows what they were before a first lease.
const TAKE_BACK: &str = "UPDATE ratchet.progress AS p SET state = 'pending', token = 0, attempts = 0, \
        lease_until = NULL, first_started_at = NULL, attempt_token = NULL, attempt_worker = NULL, \
        attempt_leased_at = NULL, attempt_started_at = NULL \
    FROM unnest($1::bigint[], $2::xid[], $3::tid[]) AS c(record_id, seen, place) \
    WHERE p.ctid = c.place AND p.xmin = c.seen AND p.record_id = c.record_id";

/// How many terms are known at once; most programs have one or two.
const MOST_TERMS: usize = 16;

/// A record and its row, after its lease.
#[derive(Debug)]
pub(crate) struct Leased {
    pub(crate) row: i64,
    pub(crate) seen: Seen,
    pub(crate) record: Record,
}

/// What a statement leased.
#[derive(Debug, Default)]
pub(crate) struct First {
    pub(crate) leased: Vec<Leased>,
    /// When; `None` if nothing was.
    pub(crate) now: Option<Timestamp>,
}

/// Under what terms records were made.
#[derive(Debug)]
struct KnownTerms {
    policy: Policy,
    contract: Terms,
    /// The two as rows have them.
    texts: [String; 2],
}

impl KnownTerms {
    fn of(record: &Record) -> Result<Self, Fault> {
        let (policy, contract) = (record.policy.clone(), record.effect.contract.clone());
        let texts = [as_json(&policy)?, as_json(&contract)?];
        Ok(Self { policy, contract, texts })
    }

    fn are_of(&self, record: &Record) -> bool {
        self.contract == record.effect.contract && self.policy == record.policy
    }
}

/// What is known of the records that are claimed.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    known: Mutex<Vec<Arc<KnownTerms>>>,
    /// Whether the last claim found all that it wanted, so that the next one most likely does.
    busy: AtomicBool,
}

impl Fresh {
    fn known(&self) -> MutexGuard<'_, Vec<Arc<KnownTerms>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether some of these records could have been leased by [`lease`](Self::lease), had nobody else been faster.
    pub(crate) fn knows(&self, leased: &[Record]) -> bool {
        let known = self.known();
        let mut first = leased.iter().filter(|record| record.token == FIRST);
        first.any(|record| known.iter().any(|terms| terms.are_of(record)))
    }

    /// Learns from a claim how much there is to do, and under what terms.
    pub(crate) fn learn(&self, claim: &Claim, leased: &[Record]) -> Result<(), Fault> {
        let is_busy = leased.len() >= claim.limit;
        self.busy.store(is_busy, Ordering::Relaxed);
        let mut known = self.known();
        if let Some(record) = leased.last().filter(|_| is_busy && known.len() < MOST_TERMS)
            && !known.iter().any(|terms| terms.are_of(record))
        {
            known.push(Arc::new(KnownTerms::of(record)?));
        }
        Ok(())
    }

    /// Leases what is due in one round trip, while there is much of it. It passes by what has to be decided about before it is
    /// written. `None` if there is not.
    pub(crate) async fn lease(
        &self,
        connection: &mut PgConnection,
        claim: &Claim,
        sources: &Sources,
    ) -> Result<Option<First>, Fault> {
        let terms = self.known().clone();
        if !self.busy.load(Ordering::Relaxed) || terms.is_empty() {
            return Ok(None);
        }
        let rows = write(connection, claim, &terms, sources.now()).await?;
        let (mut first, mut refused) = (First::default(), Vec::new());
        let mut names = Names::default();
        first.leased.reserve(rows.len());
        for row in &rows {
            let mut cells = InOrder::new(row);
            let (row, seen, now) = (cells.next()?, cells.seen()?, cells.time()?);
            first.now = Some(now);
            let record = read(cells, claim, &terms, &mut names).ok();
            match record.and_then(|record| decided(&record, claim, sources.moment(now))) {
                Some(record) => first.leased.push(Leased { row, seen, record }),
                None => refused.push((row, seen)),
            }
        }
        // What is leased is committed already, so a failure here is for the next call to meet.
        if let Err(fault) = take_back(connection, &refused).await {
            tracing::warn!(
                ?fault,
                records = refused.len(),
                "leases were not taken back: they end by themselves"
            );
        }
        first
            .leased
            .sort_by_key(|Leased { row, record, .. }| (Reverse(record.priority), record.ready_at, *row));
        Ok(Some(first))
    }
}

async fn write(
    connection: &mut PgConnection,
    claim: &Claim,
    terms: &[Arc<KnownTerms>],
    now: Option<i64>,
) -> Result<Vec<PgRow>, Fault> {
    let [queues, operations, versions] = offer_columns(&claim.offers);
    sqlx::query(LEASE)
        .bind(claim.namespace.as_str())
        .bind(queues)
        .bind(operations)
        .bind(versions)
        .bind(now)
        .bind(i64::try_from(claim.limit).unwrap_or(i64::MAX))
        .bind(millis(Timestamp::EPOCH.after(claim.lease.min(LONGEST_LEASE))))
        .bind(claim.worker.as_str())
        .bind(column(terms, |terms| terms.texts[0].as_str()))
        .bind(column(terms, |terms| terms.texts[1].as_str()))
        .bind(column(terms, |terms| claim.start_if_safe && terms.contract.deduplicates()))
        .fetch_all(connection)
        .await
        .while_trying("claim records")
}

/// The names in rows that are read together.
#[derive(Default)]
struct Names<'a> {
    operations: Known<'a, OperationName>,
    versions: Known<'a, Version>,
    queues: Known<'a, Queue>,
}

/// A record as it was before its lease.
fn read<'a>(
    mut row: InOrder<'a>,
    claim: &Claim,
    terms: &[Arc<KnownTerms>],
    names: &mut Names<'a>,
) -> Result<Record, Fault> {
    let place: usize = row.small()?;
    let terms = place.checked_sub(1).and_then(|place| terms.get(place));
    let KnownTerms { policy, contract, .. } = &**terms.ok_or(Fault::Damaged("a claim has no terms"))?;
    let id = RecordId {
        namespace: claim.namespace.clone(),
        operation: names.operations.value(row.next()?, by_name)?,
        key: row.key()?,
        generation: row.generation()?,
    };
    Ok(Record {
        version: names.versions.value(row.next()?, by_name)?,
        fingerprint: row.fingerprint()?,
        input: Payload::from_stored(row.next::<&str>()?),
        policy: policy.clone(),
        group: row.next::<Option<&str>>()?.map(by_name).transpose()?,
        after: row.after(&id.namespace)?,
        trace: row.next::<Option<&str>>()?.map(by_name).transpose()?,
        id,
        created_at: row.time()?,
        queue: names.queues.value(row.next()?, by_name)?,
        priority: Priority(row.next()?),
        ready_at: row.time()?,
        state: State::Pending,
        token: Token::NONE,
        lease: None,
        attempts: 0,
        spent: 0,
        effect: Effect {
            contract: contract.clone(),
            may_be_applied: false,
            first_started_at: None,
            pin: None,
        },
        steps: BTreeMap::new(),
        cancel_requested: false,
        risk_accepted: false,
        result: None,
        cause: None,
        uncertainty: None,
        reconcile_at: None,
        settled_at: None,
    })
}

/// The record with its lease, if it is decided that it gets the one that was written.
fn decided(record: &Record, claim: &Claim, moment: Moment) -> Option<Record> {
    let command = Command::Lease {
        worker: claim.worker.clone(),
        duration: claim.lease,
        start_if_safe: claim.start_if_safe,
    };
    let Decision { record: leased, answer: Answer::Leased, .. } = decide(record, &command, moment).ok()?
    else {
        return None;
    };
    let started = claim.start_if_safe && record.effect.contract.deduplicates();
    let started_at = started.then_some(moment.now);
    let until = moment.now.after(claim.lease.min(LONGEST_LEASE));
    let is_as_written = leased.token == FIRST
        && leased.attempts == u32::from(started)
        && leased.effect.first_started_at == started_at
        && leased.lease.as_ref().is_some_and(|lease| (lease.until, lease.started_at) == (until, started_at));
    is_as_written.then_some(leased)
}

async fn take_back(connection: &mut PgConnection, refused: &[(i64, Seen)]) -> Result<(), Fault> {
    if refused.is_empty() {
        return Ok(());
    }
    let query = sqlx::query(TAKE_BACK)
        .bind(column(refused, |(row, _)| *row))
        .bind(column(refused, |(_, seen)| seen.by))
        .bind(column(refused, |(_, seen)| seen.place));
    query.execute(connection).await.while_trying("claim records")?;
    Ok(())
}

#[cfg(test)]
mod tests;
