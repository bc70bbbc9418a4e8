//! Writes progress: one statement for all of a desk, which insists on every row being as it was when it was decided about.
//!
//! A column of rows travels as one array. Rows to change are taken by the place where they were seen, so that no index is
//! asked, and no join is planned from the sizes of tables at some time, which would read all of one that was small then.

use std::collections::HashMap;

use ratchet_core::ledger::desk::Sheet;
use ratchet_core::{Attempt, AttemptEnd, Effect, Lease, Payload, Record, State, Timestamp, Token};
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres};

use crate::columns::InOrder;
use crate::desk::Loaded;
use crate::error::{Fault, While as _};
use crate::notes::Latest;
use crate::row::{as_json, name_of, purge_at};
use crate::seen::Seen;
use crate::usual;

/// One column of several rows.
pub(crate) fn column<'a, R, T>(rows: &'a [R], of: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(of).collect()
}

/// One column of several rows whose values may be impossible to write.
pub(crate) fn try_column<'a, R, T>(
    rows: &'a [R],
    of: impl Fn(&'a R) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    rows.iter().map(of).collect()
}

pub(crate) fn millis(at: Timestamp) -> i64 {
    at.as_millis()
}

pub(crate) fn number(token: Token) -> i64 {
    i64::try_from(token.get()).unwrap_or(i64::MAX)
}

/// What is known of a row beside its record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) seen: Seen,
    plain: bool,
}

impl Mark {
    pub(crate) fn new(seen: Seen, record: &Record) -> Self {
        Self { seen, plain: is_plain(record) }
    }
}

/// Whether nothing has been written into the columns that most records never need.
fn is_plain(record: &Record) -> bool {
    let Effect { may_be_applied, pin, .. } = &record.effect;
    let marked = *may_be_applied || record.cancel_requested || record.risk_accepted;
    let told = record.cause.is_some() || record.uncertainty.is_some() || record.reconcile_at.is_some();
    !marked && !told && pin.is_none() && record.steps.is_empty()
}

/// A record to write, and what became of its latest attempt.
pub(crate) struct Change<'a> {
    pub(crate) row: i64,
    pub(crate) mark: Mark,
    /// What the row says.
    pub(crate) was: (State, Token),
    pub(crate) record: &'a Record,
    pub(crate) latest: Latest<'a>,
}

impl<'a> Change<'a> {
    fn of(sheet: &'a Sheet, loaded: &'a Loaded) -> Option<Self> {
        let mark = *loaded.marks.get(&sheet.row)?;
        let latest = Latest::of(sheet, &loaded.desk.attempts);
        sheet.changed.then_some(Self { row: sheet.row, mark, was: sheet.was, record: &sheet.record, latest })
    }

    pub(crate) fn lease(&self) -> Option<&'a Lease> {
        self.record.lease.as_ref()
    }

    pub(crate) fn opened(&self) -> Option<&'a Attempt> {
        self.latest.opened
    }

    pub(crate) fn end(&self) -> Option<&'a AttemptEnd> {
        self.latest.ended
    }

    pub(crate) fn stays_plain(&self) -> bool {
        self.mark.plain && is_plain(self.record) && self.end().is_none_or(|end| end.cause.is_none())
    }
}

/// An update of what changes with every attempt, and of more columns, their parameters and names.
macro_rules! update {
    ($set:literal, $parameters:literal, $names:literal) => {
        concat!(
            "WITH changed AS (UPDATE ratchet.progress AS p SET state = c.state, ready_at = c.ready_at, \
                token = c.token, attempts = c.attempts, spent = c.spent, lease_until = c.lease_until, \
                first_started_at = c.first_started_at, result = c.result, settled_at = c.settled_at, \
                purge_at = c.purge_at, \
                attempt_token = CASE WHEN c.leased_at IS NULL THEN p.attempt_token ELSE c.token END, \
                attempt_worker = coalesce(c.worker, p.attempt_worker), \
                attempt_leased_at = coalesce(c.leased_at, p.attempt_leased_at), \
                attempt_started_at = CASE WHEN c.leased_at IS NULL THEN coalesce(c.started_at, p.attempt_started_at) \
                    ELSE c.started_at END, \
                attempt_ended_at = CASE WHEN coalesce(c.leased_at, c.ended_at) IS NULL THEN p.attempt_ended_at \
                    ELSE c.ended_at END, \
                attempt_outcome = CASE WHEN coalesce(c.leased_at, c.ended_at) IS NULL THEN p.attempt_outcome \
                    ELSE c.outcome END, \
                attempt_late = CASE WHEN coalesce(c.leased_at, c.ended_at) IS NULL THEN p.attempt_late \
                    ELSE c.late END",
            $set,
            " FROM unnest($1::bigint[], $2::xid[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], \
                $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::bigint[], $12::bigint[], $13::text[], \
                $14::bigint[], $15::bigint[], $16::bigint[], $17::text[], $18::boolean[], $19::tid[], $20::bigint[]",
            $parameters,
            ") AS c(record_id, seen, state, ready_at, token, attempts, spent, lease_until, first_started_at, result, \
                settled_at, purge_at, worker, leased_at, started_at, ended_at, outcome, late, place, was_token",
            $names,
            ") CROSS JOIN LATERAL (SELECT t.ctid, t.version, t.attempt_token, t.attempt_worker, t.attempt_leased_at, \
                    t.attempt_started_at, t.attempt_ended_at, t.attempt_late, t.attempt_outcome, t.attempt_cause \
                FROM ratchet.progress AS t WHERE t.ctid = c.place AND t.record_id = c.record_id LIMIT 1) AS f \
            WHERE p.ctid = f.ctid AND p.xmin = c.seen AND p.token = c.was_token \
            RETURNING p.record_id, p.xmin AS seen, p.ctid AS place, c.leased_at, f.version, f.attempt_token, \
                f.attempt_worker, f.attempt_leased_at, f.attempt_started_at, f.attempt_ended_at, f.attempt_late, \
                f.attempt_outcome, f.attempt_cause), \
            followed AS (INSERT INTO ratchet.attempts (record_id, token, worker, version, leased_at, started_at, \
                    ended_at, late, outcome, cause) \
                SELECT record_id, attempt_token, attempt_worker, version, attempt_leased_at, attempt_started_at, \
                    attempt_ended_at, attempt_late, attempt_outcome, attempt_cause \
                FROM changed WHERE leased_at IS NOT NULL AND attempt_token IS NOT NULL) \
            SELECT record_id, seen, place FROM changed"
        )
    };
}

/// Writes the changed records whose rows are as they were, in the order of their identities, in which all locks are taken, so
/// that nobody waits in a circle. Answers which those are, and what marks each row from then on.
///
/// The token is compared beside the mark: a server that took over and lost the last commits gives the numbers of their
/// transactions to others.
///
/// A new attempt takes the place of the one before it, which moves to `attempts`.
pub(crate) async fn records(
    connection: &mut PgConnection,
    loaded: &Loaded,
) -> Result<HashMap<i64, Seen>, Fault> {
    const PLAIN: &str = update!(
        ", attempt_cause = CASE WHEN coalesce(c.leased_at, c.ended_at) IS NULL THEN p.attempt_cause END",
        "",
        ""
    );
    const WHOLE: &str = update!(
        ", may_be_applied = c.may_be_applied, cancel_requested = c.cancel_requested, risk_accepted = c.risk_accepted, \
            has_steps = c.has_steps, pin = c.pin, cause = c.cause, uncertainty = c.uncertainty, \
            reconcile_at = c.reconcile_at, \
            attempt_cause = CASE WHEN coalesce(c.leased_at, c.ended_at) IS NULL THEN p.attempt_cause \
                ELSE c.attempt_cause END",
        ", $21::boolean[], $22::boolean[], $23::boolean[], $24::boolean[], $25::text[], $26::text[], $27::text[], \
            $28::bigint[], $29::text[]",
        ", may_be_applied, cancel_requested, risk_accepted, has_steps, pin, cause, uncertainty, reconcile_at, \
            attempt_cause"
    );
    let mut changes: Vec<Change<'_>> =
        loaded.desk.sheets.iter().filter_map(|sheet| Change::of(sheet, loaded)).collect();
    if changes.is_empty() {
        return Ok(HashMap::new());
    }
    changes.sort_unstable_by(|one, other| one.record.id.cmp(&other.record.id));
    let query = if let Some(usual) = usual::update(&changes) {
        usual
    } else if changes.iter().all(Change::stays_plain) {
        bind_plain(PLAIN, &changes)?
    } else {
        bind_rest(bind_plain(WHOLE, &changes)?, &changes)?
    };
    let written = query.fetch_all(connection).await.while_trying("write what was decided")?;
    let read = |row| {
        let mut row = InOrder::new(row);
        Ok((row.next()?, row.seen()?))
    };
    written.iter().map(read).collect()
}

pub(crate) type Update<'q> = Query<'q, Postgres, PgArguments>;

fn bind_plain<'q>(statement: &'static str, rows: &'q [Change<'_>]) -> Result<Update<'q>, Fault> {
    let query = sqlx::query(statement)
        .bind(column(rows, |change| change.row))
        .bind(column(rows, |change| change.mark.seen.by))
        .bind(column(rows, |change| change.record.state.as_str()))
        .bind(column(rows, |change| millis(change.record.ready_at)))
        .bind(column(rows, |change| number(change.record.token)))
        .bind(column(rows, |change| i64::from(change.record.attempts)))
        .bind(column(rows, |change| i64::from(change.record.spent)))
        .bind(column(rows, |change| change.lease().map(|lease| millis(lease.until))))
        .bind(column(rows, |change| change.record.effect.first_started_at.map(millis)))
        .bind(column(rows, |change| change.record.result.as_ref().map(Payload::as_str)))
        .bind(column(rows, |change| change.record.settled_at.map(millis)))
        .bind(column(rows, |change| purge_at(change.record).map(millis)))
        .bind(column(rows, |change| change.opened().map(|attempt| attempt.worker.as_str())))
        .bind(column(rows, |change| change.opened().map(|attempt| millis(attempt.leased_at))))
        .bind(column(rows, |change| change.latest.started_at().map(millis)))
        .bind(column(rows, |change| change.end().map(|end| millis(end.at))))
        .bind(try_column(rows, |change| change.end().map(|end| name_of(&end.outcome)).transpose())?)
        .bind(column(rows, |change| change.end().map(|end| end.late)))
        .bind(column(rows, |change| change.mark.seen.place))
        .bind(column(rows, |change| number(change.was.1)));
    Ok(query)
}

fn bind_rest<'q>(query: Update<'q>, rows: &'q [Change<'_>]) -> Result<Update<'q>, Fault> {
    let query = query
        .bind(column(rows, |change| change.record.effect.may_be_applied))
        .bind(column(rows, |change| change.record.cancel_requested))
        .bind(column(rows, |change| change.record.risk_accepted))
        .bind(column(rows, |change| !change.record.steps.is_empty()))
        .bind(try_column(rows, |change| change.record.effect.pin.as_ref().map(as_json).transpose())?)
        .bind(try_column(rows, |change| change.record.cause.as_ref().map(as_json).transpose())?)
        .bind(try_column(rows, |change| change.record.uncertainty.as_ref().map(name_of).transpose())?)
        .bind(column(rows, |change| change.record.reconcile_at.map(millis)))
        .bind(try_column(rows, |change| {
            change.end().and_then(|end| end.cause.as_ref()).map(as_json).transpose()
        })?);
    Ok(query)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use ratchet_core::decide::{Command, Jitter, Moment};
    use ratchet_core::{
        Contract, Generation, Key, Ledger as _, Namespace, OperationName, Policy, Priority, Queue, RecordId,
        Submission, Version, WorkerId,
    };

    use super::*;
    use crate::desk;
    use crate::session::Connector;

    async fn made(ledger: &crate::PostgresLedger) -> RecordId {
        let id = RecordId {
            namespace: Namespace::DEFAULT,
            operation: OperationName::from_static("collect"),
            key: Key::parse("invoice:1").unwrap(),
            generation: Generation::FIRST,
        };
        let submission = Submission {
            id: id.clone(),
            version: Version::from_static("1"),
            input: Payload::from_stored("{}"),
            compared: None,
            policy: Policy::DEFAULT,
            contract: Contract::header("Idempotency-Key").terms(),
            not_before: None,
            queue: Queue::DEFAULT,
            priority: Priority(0),
            group: None,
            after: None,
            renewal: None,
            trace: None,
        };
        let _ = ledger.submit(vec![submission]).await.unwrap();
        id
    }

    /// A row as a server has it that took over and lost a commit: written by a transaction of the same number.
    #[tokio::test]
    async fn a_row_with_another_token_is_another_row_whoever_wrote_it() {
        let database = ratchet_test_postgres::shared().database().await;
        let ledger = crate::PostgresLedger::open(&database.url()).await.unwrap();
        let id: RecordId = made(&ledger).await;
        let connector = Connector {
            options: database.url().parse().unwrap(),
            lock_timeout: Duration::from_secs(1),
            answer_timeout: Duration::from_secs(10),
        };
        let mut connection = connector.connect().await.unwrap();
        let lease = |start_if_safe| Command::Lease {
            worker: WorkerId::from_static("w"),
            duration: Duration::from_mins(1),
            start_if_safe,
        };
        for start_if_safe in [true, false] {
            let mut loaded =
                desk::load_identities(&mut connection, &BTreeSet::from([&id]), None).await.unwrap();
            let moment = Moment { now: loaded.now, jitter: Jitter::MIDDLE };
            loaded.desk.decide(0, &lease(start_if_safe), moment).unwrap();
            loaded.desk.sheets[0].was.1 = Token::new(7);
            assert!(records(&mut connection, &loaded).await.unwrap().is_empty());
            loaded.desk.sheets[0].was.1 = Token::NONE;
            assert_eq!(records(&mut connection, &loaded).await.unwrap().len(), 1);
            let back = "UPDATE ratchet.progress SET state = 'pending', token = 0, lease_until = NULL";
            sqlx::query(back).execute(&mut connection).await.unwrap();
        }
    }
}
