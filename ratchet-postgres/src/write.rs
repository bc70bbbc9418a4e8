//! Writes what was decided: one statement for each table, whatever the number of rows. A column of rows travels as one
//! array. Rows to change are found one by one and taken by their place: a join would be planned from the sizes of tables at
//! some time, and read all of a table that was small then. Nobody moves them, since their record is locked.

use std::collections::BTreeMap;

use ratchet_core::ledger::desk::{AttemptNotes, Sheet};
use ratchet_core::{Attempt, AttemptEnd, Cause, Lease, Payload, Record, Timestamp, Token};
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres};

use crate::error::{Fault, While as _};
use crate::row::{StepRow, as_json, name_of, purge_at};

/// One column of several rows.
pub(crate) fn column<'a, R, T>(rows: &'a [R], of: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(of).collect()
}

fn millis(at: Timestamp) -> i64 {
    at.as_millis()
}

pub(crate) fn number(token: Token) -> i64 {
    i64::try_from(token.get()).unwrap_or(i64::MAX)
}

/// How many rows it wrote.
async fn run(connection: &mut PgConnection, query: Query<'_, Postgres, PgArguments>) -> Result<u64, Fault> {
    Ok(query.execute(connection).await.while_trying("write what was decided")?.rows_affected())
}

pub(crate) async fn records(connection: &mut PgConnection, sheets: &[Sheet]) -> Result<(), Fault> {
    const UPDATE: &str = "UPDATE ratchet.progress AS p SET state = c.state, ready_at = c.ready_at, token = c.token, \
            attempts = c.attempts, spent = c.spent, may_be_applied = c.may_be_applied, \
            cancel_requested = c.cancel_requested, risk_accepted = c.risk_accepted, has_steps = c.has_steps, \
            lease_worker = c.lease_worker, lease_until = c.lease_until, lease_started_at = c.lease_started_at, \
            first_started_at = c.first_started_at, pin = c.pin, result = c.result, cause = c.cause, \
            uncertainty = c.uncertainty, reconcile_at = c.reconcile_at, settled_at = c.settled_at, \
            purge_at = c.purge_at \
        FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], \
            $8::bigint[], $9::boolean[], $10::boolean[], $11::boolean[], $12::boolean[], $13::text[], $14::bigint[], \
            $15::bigint[], $16::bigint[], $17::text[], $18::text[], $19::text[], $20::text[], $21::bigint[], \
            $22::bigint[], $23::bigint[]) \
        AS c(record_id, was_state, was_token, state, ready_at, token, attempts, spent, may_be_applied, \
            cancel_requested, risk_accepted, has_steps, lease_worker, lease_until, lease_started_at, \
            first_started_at, pin, result, cause, uncertainty, reconcile_at, settled_at, purge_at) \
        CROSS JOIN LATERAL (SELECT t.ctid FROM ratchet.progress AS t WHERE t.record_id = c.record_id LIMIT 1) AS f \
        WHERE p.ctid = f.ctid AND p.state = c.was_state AND p.token = c.was_token";
    let sheets: Vec<&Sheet> = sheets.iter().filter(|sheet| sheet.changed).collect();
    if sheets.is_empty() {
        return Ok(());
    }
    let records: Vec<&Record> = sheets.iter().map(|sheet| &sheet.record).collect();
    let leases: Vec<Option<&Lease>> = column(&records, |record| record.lease.as_ref());
    let pins = records.iter().map(|record| record.effect.pin.as_ref().map(as_json).transpose());
    let causes = records.iter().map(|record| record.cause.as_ref().map(as_json).transpose());
    let uncertainties = records.iter().map(|record| record.uncertainty.as_ref().map(name_of).transpose());
    let uncertainties = uncertainties.collect::<Result<Vec<_>, _>>()?;
    let (pins, causes) = (pins.collect::<Result<Vec<_>, _>>()?, causes.collect::<Result<Vec<_>, _>>()?);
    let query = sqlx::query(UPDATE)
        .bind(column(&sheets, |sheet| sheet.row))
        .bind(column(&sheets, |sheet| sheet.was.0.as_str()))
        .bind(column(&sheets, |sheet| number(sheet.was.1)))
        .bind(column(&records, |record| record.state.as_str()))
        .bind(column(&records, |record| millis(record.ready_at)))
        .bind(column(&records, |record| number(record.token)))
        .bind(column(&records, |record| i64::from(record.attempts)))
        .bind(column(&records, |record| i64::from(record.spent)))
        .bind(column(&records, |record| record.effect.may_be_applied))
        .bind(column(&records, |record| record.cancel_requested))
        .bind(column(&records, |record| record.risk_accepted))
        .bind(column(&records, |record| !record.steps.is_empty()))
        .bind(column(&leases, |lease| lease.map(|lease| lease.worker.as_str())))
        .bind(column(&leases, |lease| lease.map(|lease| millis(lease.until))))
        .bind(column(&leases, |lease| lease.and_then(|lease| lease.started_at).map(millis)))
        .bind(column(&records, |record| record.effect.first_started_at.map(millis)))
        .bind(pins)
        .bind(column(&records, |record| record.result.as_ref().map(Payload::as_str)))
        .bind(causes)
        .bind(uncertainties)
        .bind(column(&records, |record| record.reconcile_at.map(millis)))
        .bind(column(&records, |record| record.settled_at.map(millis)))
        .bind(column(&records, |record| purge_at(record).map(millis)));
    if run(connection, query).await? != sheets.len() as u64 {
        // Loaded under locks in the same transaction, so only a trigger or a fault can do it.
        return Err(Fault::Damaged("a record changed under its lock"));
    }
    Ok(())
}

pub(crate) async fn steps(connection: &mut PgConnection, sheets: &[Sheet]) -> Result<(), Fault> {
    const REPLACE: &str = "INSERT INTO ratchet.steps \
            (record_id, name, state, may_be_applied, first_started_at, pin, contract, result) \
        SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::boolean[], $5::bigint[], $6::text[], \
            $7::text[], $8::text[]) \
        ON CONFLICT (record_id, name) DO UPDATE SET state = excluded.state, \
            may_be_applied = excluded.may_be_applied, first_started_at = excluded.first_started_at, \
            pin = excluded.pin, contract = excluded.contract, result = excluded.result";
    let mut rows = Vec::new();
    for sheet in sheets {
        for (name, step) in
            sheet.changed_steps.iter().filter_map(|name| sheet.record.steps.get_key_value(name))
        {
            rows.push((sheet.row, name_of(&step.state)?, StepRow::new(name, step)?));
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    let query = sqlx::query(REPLACE)
        .bind(column(&rows, |(row, ..)| *row))
        .bind(column(&rows, |(.., step)| step.name.as_str()))
        .bind(column(&rows, |(_, state, _)| state.as_str()))
        .bind(column(&rows, |(.., step)| step.may_be_applied))
        .bind(column(&rows, |(.., step)| step.first_started_at.map(millis)))
        .bind(column(&rows, |(.., step)| step.pin.as_deref()))
        .bind(column(&rows, |(.., step)| step.contract.as_str()))
        .bind(column(&rows, |(.., step)| step.result.as_deref()));
    run(connection, query).await?;
    Ok(())
}

pub(crate) async fn attempts(connection: &mut PgConnection, notes: &AttemptNotes) -> Result<(), Fault> {
    open(connection, &notes.opened).await?;
    start(connection, &notes.started).await?;
    end(connection, &notes.ended).await?;
    // One that was opened and ended on one desk ends in its new row.
    let ended = notes.opened.iter().filter_map(|(at, attempt)| Some((*at, attempt.end.clone()?)));
    end(connection, &ended.collect()).await
}

type Notes<T> = BTreeMap<(i64, Token), T>;

fn places<T>(notes: &Notes<T>) -> (Vec<i64>, Vec<i64>) {
    notes.keys().map(|(row, token)| (*row, number(*token))).unzip()
}

async fn open(connection: &mut PgConnection, opened: &Notes<Attempt>) -> Result<(), Fault> {
    const OPEN: &str = "INSERT INTO ratchet.attempts (record_id, token, worker, version, leased_at, started_at) \
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])";
    if opened.is_empty() {
        return Ok(());
    }
    let (rows, tokens) = places(opened);
    let attempts: Vec<&Attempt> = opened.values().collect();
    let query = sqlx::query(OPEN)
        .bind(rows)
        .bind(tokens)
        .bind(column(&attempts, |attempt| attempt.worker.as_str()))
        .bind(column(&attempts, |attempt| attempt.version.as_str()))
        .bind(column(&attempts, |attempt| millis(attempt.leased_at)))
        .bind(column(&attempts, |attempt| attempt.started_at.map(millis)));
    run(connection, query).await?;
    Ok(())
}

async fn start(connection: &mut PgConnection, started: &Notes<Timestamp>) -> Result<(), Fault> {
    const START: &str = "UPDATE ratchet.attempts AS a SET started_at = n.started_at \
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n(record_id, token, started_at) \
        CROSS JOIN LATERAL (SELECT t.ctid FROM ratchet.attempts AS t \
            WHERE t.record_id = n.record_id AND t.token = n.token LIMIT 1) AS f \
        WHERE a.ctid = f.ctid";
    if started.is_empty() {
        return Ok(());
    }
    let (rows, tokens) = places(started);
    let at: Vec<i64> = started.values().map(|at| millis(*at)).collect();
    run(connection, sqlx::query(START).bind(rows).bind(tokens).bind(at)).await?;
    Ok(())
}

async fn end(connection: &mut PgConnection, ended: &Notes<AttemptEnd>) -> Result<(), Fault> {
    // A certain end replaces an unknown one, never the other way round.
    const END: &str = "UPDATE ratchet.attempts AS a SET ended_at = n.ended_at, outcome = n.outcome, cause = n.cause, \
            late = n.late \
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::boolean[]) \
            AS n(record_id, token, ended_at, outcome, cause, late) \
        CROSS JOIN LATERAL (SELECT t.ctid FROM ratchet.attempts AS t \
            WHERE t.record_id = n.record_id AND t.token = n.token LIMIT 1) AS f \
        WHERE a.ctid = f.ctid AND (a.outcome IS NULL OR (a.outcome = 'unknown' AND n.outcome <> 'unknown'))";
    if ended.is_empty() {
        return Ok(());
    }
    let (rows, tokens) = places(ended);
    let ends: Vec<&AttemptEnd> = ended.values().collect();
    let outcomes = ends.iter().map(|end| name_of(&end.outcome)).collect::<Result<Vec<_>, _>>()?;
    let causes = ends.iter().map(|end| end.cause.as_ref().map(as_json::<Cause>).transpose());
    let query = sqlx::query(END)
        .bind(rows)
        .bind(tokens)
        .bind(column(&ends, |end| millis(end.at)))
        .bind(outcomes)
        .bind(causes.collect::<Result<Vec<_>, _>>()?)
        .bind(column(&ends, |end| end.late));
    run(connection, query).await?;
    Ok(())
}
