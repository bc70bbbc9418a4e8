//! Writes progress: one statement for all of a desk, which insists on every row being as it was when it was decided about.
//!
//! A column of rows travels as one array. Rows to change are found one by one and taken by their place: a join would be
//! planned from the sizes of tables at some time, and read all of a table that was small then.

use std::collections::HashMap;

use ratchet_core::ledger::desk::Sheet;
use ratchet_core::{Attempt, AttemptEnd, Lease, Payload, Record, Timestamp, Token};
use sqlx::PgConnection;

use crate::columns::Columns;
use crate::desk::Loaded;
use crate::error::{Fault, While as _};
use crate::notes::Latest;
use crate::row::{as_json, name_of, purge_at};

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

/// What a row was like when it was read: the transaction that wrote it. Any write gives it another one.
pub(crate) type Seen = i64;

/// A record to write, and what became of its latest attempt.
struct Change<'a> {
    row: i64,
    seen: Seen,
    record: &'a Record,
    latest: Latest<'a>,
}

impl<'a> Change<'a> {
    fn of(sheet: &'a Sheet, loaded: &'a Loaded) -> Option<Self> {
        let seen = *loaded.seen.get(&sheet.row)?;
        let latest = Latest::of(sheet, &loaded.desk.attempts);
        sheet.changed.then_some(Self { row: sheet.row, seen, record: &sheet.record, latest })
    }

    fn lease(&self) -> Option<&'a Lease> {
        self.record.lease.as_ref()
    }

    fn opened(&self) -> Option<&'a Attempt> {
        self.latest.opened
    }

    fn end(&self) -> Option<&'a AttemptEnd> {
        self.latest.ended
    }
}

/// Writes the changed records whose rows are as they were, in the order of their rows, so that nobody waits in a circle.
/// Answers which those are, and what marks each row from then on.
///
/// A new attempt takes the place of the one before it, which moves to `attempts`.
pub(crate) async fn records(
    connection: &mut PgConnection,
    loaded: &Loaded,
) -> Result<HashMap<i64, Seen>, Fault> {
    const UPDATE: &str = "WITH changed AS (UPDATE ratchet.progress AS p SET state = c.state, ready_at = c.ready_at, \
            token = c.token, attempts = c.attempts, spent = c.spent, may_be_applied = c.may_be_applied, \
            cancel_requested = c.cancel_requested, risk_accepted = c.risk_accepted, has_steps = c.has_steps, \
            lease_until = c.lease_until, first_started_at = c.first_started_at, pin = c.pin, result = c.result, \
            cause = c.cause, uncertainty = c.uncertainty, reconcile_at = c.reconcile_at, settled_at = c.settled_at, \
            purge_at = c.purge_at, attempt_token = coalesce(c.opened, p.attempt_token), \
            attempt_worker = coalesce(c.worker, p.attempt_worker), \
            attempt_leased_at = coalesce(c.leased_at, p.attempt_leased_at), \
            attempt_started_at = CASE WHEN c.opened IS NULL THEN coalesce(c.started_at, p.attempt_started_at) \
                ELSE c.started_at END, \
            attempt_ended_at = CASE WHEN c.noted THEN c.ended_at ELSE p.attempt_ended_at END, \
            attempt_outcome = CASE WHEN c.noted THEN c.outcome ELSE p.attempt_outcome END, \
            attempt_cause = CASE WHEN c.noted THEN c.attempt_cause ELSE p.attempt_cause END, \
            attempt_late = CASE WHEN c.noted THEN c.late ELSE p.attempt_late END \
        FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], \
            $8::boolean[], $9::boolean[], $10::boolean[], $11::boolean[], $12::bigint[], $13::bigint[], $14::text[], \
            $15::text[], $16::text[], $17::text[], $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[], \
            $22::text[], $23::bigint[], $24::bigint[], $25::bigint[], $26::text[], $27::text[], $28::boolean[], $29::boolean[]) \
        AS c(record_id, seen, state, ready_at, token, attempts, spent, may_be_applied, cancel_requested, \
            risk_accepted, has_steps, lease_until, first_started_at, pin, result, cause, uncertainty, reconcile_at, \
            settled_at, purge_at, opened, worker, leased_at, started_at, ended_at, outcome, attempt_cause, late, noted) \
        CROSS JOIN LATERAL (SELECT t.ctid, t.version, t.attempt_token, t.attempt_worker, t.attempt_leased_at, \
                t.attempt_started_at, t.attempt_ended_at, t.attempt_late, t.attempt_outcome, t.attempt_cause \
            FROM ratchet.progress AS t WHERE t.record_id = c.record_id LIMIT 1) AS f \
        WHERE p.ctid = f.ctid AND p.xmin::text::bigint = c.seen \
        RETURNING p.record_id, p.xmin::text::bigint AS seen, c.opened, f.*), \
        followed AS (INSERT INTO ratchet.attempts (record_id, token, worker, version, leased_at, started_at, \
                ended_at, late, outcome, cause) \
            SELECT record_id, attempt_token, attempt_worker, version, attempt_leased_at, attempt_started_at, \
                attempt_ended_at, attempt_late, attempt_outcome, attempt_cause \
            FROM changed WHERE opened IS NOT NULL AND attempt_token IS NOT NULL) \
        SELECT record_id, seen FROM changed";
    let mut changes: Vec<Change<'_>> =
        loaded.desk.sheets.iter().filter_map(|sheet| Change::of(sheet, loaded)).collect();
    if changes.is_empty() {
        return Ok(HashMap::new());
    }
    changes.sort_unstable_by_key(|change| change.row);
    let rows = &changes;
    let query = sqlx::query(UPDATE)
        .bind(column(rows, |change| change.row))
        .bind(column(rows, |change| change.seen))
        .bind(column(rows, |change| change.record.state.as_str()))
        .bind(column(rows, |change| millis(change.record.ready_at)))
        .bind(column(rows, |change| number(change.record.token)))
        .bind(column(rows, |change| i64::from(change.record.attempts)))
        .bind(column(rows, |change| i64::from(change.record.spent)))
        .bind(column(rows, |change| change.record.effect.may_be_applied))
        .bind(column(rows, |change| change.record.cancel_requested))
        .bind(column(rows, |change| change.record.risk_accepted))
        .bind(column(rows, |change| !change.record.steps.is_empty()))
        .bind(column(rows, |change| change.lease().map(|lease| millis(lease.until))))
        .bind(column(rows, |change| change.record.effect.first_started_at.map(millis)))
        .bind(try_column(rows, |change| change.record.effect.pin.as_ref().map(as_json).transpose())?)
        .bind(column(rows, |change| change.record.result.as_ref().map(Payload::as_str)))
        .bind(try_column(rows, |change| change.record.cause.as_ref().map(as_json).transpose())?)
        .bind(try_column(rows, |change| change.record.uncertainty.as_ref().map(name_of).transpose())?)
        .bind(column(rows, |change| change.record.reconcile_at.map(millis)))
        .bind(column(rows, |change| change.record.settled_at.map(millis)))
        .bind(column(rows, |change| purge_at(change.record).map(millis)))
        .bind(column(rows, |change| change.opened().map(|attempt| number(attempt.token))))
        .bind(column(rows, |change| change.opened().map(|attempt| attempt.worker.as_str())))
        .bind(column(rows, |change| change.opened().map(|attempt| millis(attempt.leased_at))))
        .bind(column(rows, |change| change.latest.started_at().map(millis)))
        .bind(column(rows, |change| change.end().map(|end| millis(end.at))))
        .bind(try_column(rows, |change| change.end().map(|end| name_of(&end.outcome)).transpose())?)
        .bind(try_column(rows, |change| {
            change.end().and_then(|end| end.cause.as_ref()).map(as_json).transpose()
        })?)
        .bind(column(rows, |change| change.end().map(|end| end.late)))
        .bind(column(rows, |change| change.opened().is_some() || change.end().is_some()));
    let written = query.fetch_all(connection).await.while_trying("write what was decided")?;
    written.iter().map(|row| Ok((Columns(row).number("record_id")?, Columns(row).number("seen")?))).collect()
}
