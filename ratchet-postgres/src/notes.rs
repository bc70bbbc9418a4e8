//! What goes beside a record's progress: its steps, and what becomes of attempts.
//!
//! The latest attempt is part of the progress and written with it. The statements here are for what is rare: attempts that
//! others followed, and reports that come late.

use std::collections::BTreeMap;

use ratchet_core::ledger::desk::AttemptNotes;
use ratchet_core::ledger::desk::{Desk, Sheet};
use ratchet_core::{Attempt, AttemptEnd, Cause, State, Timestamp, Token};
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres};

use crate::error::{Fault, While as _};
use crate::row::{StepRow, as_json, name_of};
use crate::write::{column, millis, number, try_column};

/// What a write of a record's progress says about its latest attempt.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Latest<'a> {
    pub(crate) opened: Option<&'a Attempt>,
    pub(crate) ended: Option<&'a AttemptEnd>,
    started: Option<&'a Timestamp>,
}

impl<'a> Latest<'a> {
    /// A new attempt that goes on, or the start and the end of the one that the row has.
    pub(crate) fn of(sheet: &Sheet, notes: &'a AttemptNotes) -> Self {
        let now = (sheet.row, sheet.record.token);
        if let Some(opened) = notes.opened.get(&now).filter(|attempt| attempt.end.is_none()) {
            return Self { opened: Some(opened), ..Self::default() };
        }
        let was = (sheet.row, sheet.was.1);
        if sheet.was.0 != State::Running || !sheet.changed {
            return Self::default();
        }
        Self { opened: None, started: notes.started.get(&was), ended: notes.ended.get(&was) }
    }

    pub(crate) fn started_at(self) -> Option<Timestamp> {
        self.opened.map_or_else(|| self.started.copied(), |attempt| attempt.started_at)
    }

    fn notes(self) -> usize {
        usize::from(self.opened.is_some())
            + usize::from(self.started.is_some())
            + usize::from(self.ended.is_some())
    }
}

pub(crate) type Key = (i64, Token);

/// The notes that are not written with the progress.
struct Rest<'a> {
    opened: Vec<(Key, &'a Attempt)>,
    started: Vec<(Key, Timestamp)>,
    ended: Vec<(Key, AttemptEnd)>,
}

impl<'a> Rest<'a> {
    fn of(desk: &'a Desk) -> Self {
        let notes = &desk.attempts;
        let mut rest = Self {
            opened: notes.opened.iter().map(|(key, attempt)| (*key, attempt)).collect(),
            started: notes.started.iter().map(|(key, at)| (*key, *at)).collect(),
            ended: notes.ended.iter().map(|(key, end)| (*key, end.clone())).collect(),
        };
        let latest: BTreeMap<i64, (Token, Latest<'_>)> =
            desk.sheets.iter().map(|sheet| (sheet.row, (sheet.was.1, Latest::of(sheet, notes)))).collect();
        let of = |row: &i64| latest.get(row).copied().unwrap_or_default();
        rest.opened
            .retain(|((row, _), attempt)| of(row).1.opened.is_none_or(|with| with.token != attempt.token));
        rest.started.retain(|((row, token), _)| of(row).0 != *token || of(row).1.started.is_none());
        rest.ended.retain(|((row, token), _)| of(row).0 != *token || of(row).1.ended.is_none());
        rest
    }
}

/// Whether the write of the progress says all that was decided.
pub(crate) fn is_all_in_progress(desk: &Desk) -> bool {
    let AttemptNotes { opened, started, ended } = &desk.attempts;
    let in_progress: usize = desk.sheets.iter().map(|sheet| Latest::of(sheet, &desk.attempts).notes()).sum();
    desk.audit.is_empty()
        && desk.sheets.iter().all(|sheet| sheet.changed_steps.is_empty() && !sheet.changed_terms)
        && in_progress == opened.len() + started.len() + ended.len()
}

pub(crate) async fn steps(connection: &mut PgConnection, sheets: &[Sheet]) -> Result<(), Fault> {
    let mut rows = Vec::new();
    for sheet in sheets {
        for (name, step) in
            sheet.changed_steps.iter().filter_map(|name| sheet.record.steps.get_key_value(name))
        {
            rows.push((sheet.row, name_of(&step.state)?, StepRow::new(name, step)?));
        }
    }
    write_steps(connection, &rows).await
}

/// Writes steps, each with the row of its record and the name of its state.
pub(crate) async fn write_steps(
    connection: &mut PgConnection,
    rows: &[(i64, String, StepRow)],
) -> Result<(), Fault> {
    const REPLACE: &str = "INSERT INTO ratchet.steps \
            (record_id, name, state, may_be_applied, first_started_at, pin, contract, \
             reconciles, result) \
        SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::boolean[], $5::bigint[], $6::text[], \
            $7::text[], $8::boolean[], $9::text[]) \
        ON CONFLICT (record_id, name) DO UPDATE SET state = excluded.state, \
            may_be_applied = excluded.may_be_applied, first_started_at = excluded.first_started_at, \
            pin = excluded.pin, contract = excluded.contract, reconciles = excluded.reconciles, \
            result = excluded.result";
    if rows.is_empty() {
        return Ok(());
    }
    let query = sqlx::query(REPLACE)
        .bind(column(rows, |(row, ..)| *row))
        .bind(column(rows, |(.., step)| step.name.as_str()))
        .bind(column(rows, |(_, state, _)| state.as_str()))
        .bind(column(rows, |(.., step)| step.may_be_applied))
        .bind(column(rows, |(.., step)| step.first_started_at.map(millis)))
        .bind(column(rows, |(.., step)| step.pin.as_deref()))
        .bind(column(rows, |(.., step)| step.contract.as_str()))
        .bind(column(rows, |(.., step)| step.reconciles))
        .bind(column(rows, |(.., step)| step.result.as_deref()));
    run(connection, query).await
}

/// Writes policies and contracts that are not those of the submission any more. Whoever has the record in mind is told by its
/// progress, which is written too.
pub(crate) async fn terms(connection: &mut PgConnection, sheets: &[Sheet]) -> Result<(), Fault> {
    const CHANGE: &str = "UPDATE ratchet.records SET policy = $2, contract = $3 WHERE id = $1";
    for Sheet { row, record, .. } in sheets.iter().filter(|sheet| sheet.changed_terms) {
        let (policy, contract) = (as_json(&record.policy)?, as_json(&record.effect.contract)?);
        run(connection, sqlx::query(CHANGE).bind(row).bind(policy).bind(contract)).await?;
    }
    Ok(())
}

/// Writes the notes that did not go with the progress, after it.
pub(crate) async fn attempts(connection: &mut PgConnection, desk: &Desk) -> Result<(), Fault> {
    let rest = Rest::of(desk);
    open(connection, &rest.opened).await?;
    start(connection, &rest.started).await?;
    end(connection, &rest.ended).await
}

fn places<T>(notes: &[(Key, T)]) -> (Vec<i64>, Vec<i64>) {
    notes.iter().map(|((row, token), _)| (*row, number(*token))).unzip()
}

async fn run(connection: &mut PgConnection, query: Query<'_, Postgres, PgArguments>) -> Result<(), Fault> {
    query.execute(connection).await.while_trying("write what was decided")?;
    Ok(())
}

/// Attempts that began and ended on one desk, and others of which all is known.
pub(crate) async fn open(connection: &mut PgConnection, opened: &[(Key, &Attempt)]) -> Result<(), Fault> {
    const OPEN: &str = "INSERT INTO ratchet.attempts (record_id, token, worker, version, leased_at, started_at, \
            ended_at, late, outcome, cause) \
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], \
            $7::bigint[], $8::boolean[], $9::text[], $10::text[])";
    if opened.is_empty() {
        return Ok(());
    }
    let (rows, tokens) = places(opened);
    let ends: Vec<Option<&AttemptEnd>> = column(opened, |(_, attempt)| attempt.end.as_ref());
    let query = sqlx::query(OPEN)
        .bind(rows)
        .bind(tokens)
        .bind(column(opened, |(_, attempt)| attempt.worker.as_str()))
        .bind(column(opened, |(_, attempt)| attempt.version.as_str()))
        .bind(column(opened, |(_, attempt)| millis(attempt.leased_at)))
        .bind(column(opened, |(_, attempt)| attempt.started_at.map(millis)))
        .bind(column(&ends, |end| end.map(|end| millis(end.at))))
        .bind(column(&ends, |end| end.map(|end| end.late)))
        .bind(try_column(&ends, |end| end.map(|end| name_of(&end.outcome)).transpose())?)
        .bind(try_column(&ends, |end| end.and_then(|end| end.cause.as_ref()).map(as_json).transpose())?);
    run(connection, query).await
}

async fn start(connection: &mut PgConnection, started: &[(Key, Timestamp)]) -> Result<(), Fault> {
    const START: &str = "UPDATE ratchet.attempts AS a SET started_at = n.started_at \
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n(record_id, token, started_at) \
        CROSS JOIN LATERAL (SELECT t.ctid FROM ratchet.attempts AS t \
            WHERE t.record_id = n.record_id AND t.token = n.token LIMIT 1) AS f \
        WHERE a.ctid = f.ctid";
    const START_LATEST: &str = "UPDATE ratchet.progress AS p SET attempt_started_at = n.started_at \
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n(record_id, token, started_at) \
        CROSS JOIN LATERAL (SELECT t.ctid FROM ratchet.progress AS t WHERE t.record_id = n.record_id LIMIT 1) AS f \
        WHERE p.ctid = f.ctid AND p.attempt_token = n.token";
    if started.is_empty() {
        return Ok(());
    }
    let (rows, tokens) = places(started);
    let at = column(started, |(_, at)| millis(*at));
    for statement in [START, START_LATEST] {
        run(connection, sqlx::query(statement).bind(&rows).bind(&tokens).bind(&at)).await?;
    }
    Ok(())
}

/// A certain end replaces an unknown one, never the other way round.
async fn end(connection: &mut PgConnection, ended: &[(Key, AttemptEnd)]) -> Result<(), Fault> {
    const END: &str = "UPDATE ratchet.attempts AS a SET ended_at = n.ended_at, outcome = n.outcome, cause = n.cause, \
            late = n.late \
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::boolean[]) \
            AS n(record_id, token, ended_at, outcome, cause, late) \
        CROSS JOIN LATERAL (SELECT t.ctid FROM ratchet.attempts AS t \
            WHERE t.record_id = n.record_id AND t.token = n.token LIMIT 1) AS f \
        WHERE a.ctid = f.ctid AND (a.outcome IS NULL OR (a.outcome = 'unknown' AND n.outcome <> 'unknown'))";
    const END_LATEST: &str = "UPDATE ratchet.progress AS p SET attempt_ended_at = n.ended_at, \
            attempt_outcome = n.outcome, attempt_cause = n.cause, attempt_late = n.late \
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::boolean[]) \
            AS n(record_id, token, ended_at, outcome, cause, late) \
        CROSS JOIN LATERAL (SELECT t.ctid FROM ratchet.progress AS t WHERE t.record_id = n.record_id LIMIT 1) AS f \
        WHERE p.ctid = f.ctid AND p.attempt_token = n.token \
            AND (p.attempt_outcome IS NULL OR (p.attempt_outcome = 'unknown' AND n.outcome <> 'unknown'))";
    if ended.is_empty() {
        return Ok(());
    }
    let (rows, tokens) = places(ended);
    let at = column(ended, |(_, end)| millis(end.at));
    let outcomes = try_column(ended, |(_, end)| name_of(&end.outcome))?;
    let causes = try_column(ended, |(_, end)| end.cause.as_ref().map(as_json::<Cause>).transpose())?;
    let late = column(ended, |(_, end)| end.late);
    for statement in [END, END_LATEST] {
        let query = sqlx::query(statement).bind(&rows).bind(&tokens).bind(&at).bind(&outcomes);
        run(connection, query.bind(&causes).bind(&late)).await?;
    }
    Ok(())
}
