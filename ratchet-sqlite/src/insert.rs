//! Inserts new records. What neighbours share is a parameter of one statement, so that only what differs has to be taken
//! out of JSON.

use ratchet_core::decide::{SubmitDecision, decide_beside};
use ratchet_core::{After, GroupId, Record, Submission, Submitted, Timestamp};
use sqlx::SqliteConnection;
use sqlx::error::DatabaseError;

use crate::error::{Fault, While as _};
use crate::hex;
use crate::row::{ROWS_PER_STATEMENT, rows_as_json};
use crate::terms;
use crate::write::require_all;

/// Makes records of the rows in `?1`: a key, a fingerprint, an input and a place in a trace each.
macro_rules! insert {
    () => {
        "INSERT INTO ratchet_records (namespace, operation, key, generation, version, fingerprint, queue, priority, \
             created_at, state, ready_at, terms, input, group_id, after_id, comes_after, trace) \
         SELECT ?2, ?3, n.value ->> 0, ?4, ?5, unhex(n.value ->> 1), ?6, ?7, ?8, ?9, ?10, t.id, n.value ->> 2, ?12, \
             ?13, ?14, n.value ->> 3 \
         FROM ratchet_terms AS t INDEXED BY sqlite_autoindex_ratchet_terms_1 CROSS JOIN json_each(?1) AS n \
         WHERE t.terms = ?11"
    };
}

const INSERT: &str = insert!();

/// Only if none of the keys was purged, and their policy and contract were on record before. The first generation of every
/// key that was ever taken is either a record, which the unique index refuses, or a tombstone.
const INSERT_ALL_OR_NONE: &str = concat!(
    insert!(),
    " AND (NOT EXISTS (SELECT 1 FROM ratchet_tombstones) \
        OR NOT EXISTS (SELECT 1 FROM json_each(?1) AS w CROSS JOIN ratchet_tombstones AS t \
            WHERE t.namespace = ?2 AND t.operation = ?3 AND t.key = w.value ->> 0))"
);

const DOING: &str = "insert records";

/// Records in their order, which becomes the order of a listing; `after` is the row of the one that they come after.
pub(crate) async fn records(
    connection: &mut SqliteConnection,
    records: &[&Record],
    after: Option<i64>,
) -> Result<(), Fault> {
    for alike in records.chunk_by(|one, next| are_alike(one, next)) {
        let terms = terms::of(alike[0])?;
        terms::put_on_record(connection, &[&terms]).await?;
        for rows in alike.chunks(ROWS_PER_STATEMENT) {
            let written = run(connection, INSERT, rows, &terms, after).await?.while_trying(DOING)?;
            require_all(written, rows.len())?;
        }
    }
    Ok(())
}

/// What came of submissions that were inserted without a look before.
pub(crate) enum Inserted {
    /// All of them are on record.
    All(Vec<Submitted>),
    /// None of them, since some key is taken or the terms are new.
    NoneOfThem,
    /// They differ in more than one statement can say.
    NotTried,
}

/// Submits with one statement, which is a transaction by itself, if all keys are new.
///
/// Nearly all submissions are the first of their key, and every further statement would be waited for.
pub(crate) async fn submit_if_first(
    connection: &mut SqliteConnection,
    submissions: &[&Submission],
    now: Timestamp,
) -> Result<Inserted, Fault> {
    let mut new = Vec::with_capacity(submissions.len());
    for submission in submissions {
        match decide_beside(None, submission, now) {
            SubmitDecision::Insert { record, audit: None } if record.after.is_none() => new.push(record),
            _ => return Ok(Inserted::NotTried),
        }
    }
    let rows: Vec<&Record> = new.iter().map(|record| &**record).collect();
    let Some(first) = rows.first() else { return Ok(Inserted::All(Vec::new())) };
    if rows.len() > ROWS_PER_STATEMENT || !rows.windows(2).all(|two| are_alike(two[0], two[1])) {
        return Ok(Inserted::NotTried);
    }
    match run(connection, INSERT_ALL_OR_NONE, &rows, &terms::of(first)?, None).await? {
        Ok(0) => Ok(Inserted::NoneOfThem),
        Ok(written) => {
            require_all(written, rows.len())?;
            Ok(Inserted::All(new.into_iter().map(|record| Submitted::New { id: record.id }).collect()))
        }
        Err(error) if is_unique_violation(&error) => Ok(Inserted::NoneOfThem),
        Err(error) => Err(Fault::of(DOING, error)),
    }
}

fn is_unique_violation(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(DatabaseError::is_unique_violation)
}

/// Whether new records differ in nothing but their key, fingerprint, input and trace.
fn are_alike(one: &Record, other: &Record) -> bool {
    one.id.namespace == other.id.namespace
        && one.id.operation == other.id.operation
        && one.id.generation == other.id.generation
        && one.version == other.version
        && one.queue == other.queue
        && one.priority == other.priority
        && one.created_at == other.created_at
        && one.state == other.state
        && one.ready_at == other.ready_at
        && one.policy == other.policy
        && one.effect == other.effect
        && one.group == other.group
        && one.after == other.after
}

/// The inner result is what SQLite said.
async fn run(
    connection: &mut SqliteConnection,
    statement: &'static str,
    records: &[&Record],
    terms: &str,
    after: Option<i64>,
) -> Result<Result<u64, sqlx::Error>, Fault> {
    let Some(first) = records.first() else { return Ok(Ok(0)) };
    let rows: Vec<_> = records
        .iter()
        .map(|record| {
            let fingerprint = hex::encode(&record.fingerprint);
            (record.id.key.as_str(), fingerprint, record.input.as_str(), record.trace)
        })
        .collect();
    let done = sqlx::query(statement)
        .bind(rows_as_json(&rows)?)
        .bind(first.id.namespace.as_str())
        .bind(first.id.operation.as_str())
        .bind(i64::from(first.id.generation.get()))
        .bind(first.version.as_str())
        .bind(first.queue.as_str())
        .bind(i64::from(first.priority.0))
        .bind(first.created_at.as_millis())
        .bind(first.state.as_str())
        .bind(first.ready_at.as_millis())
        .bind(terms)
        .bind(first.group.as_ref().map(GroupId::as_str))
        .bind(after)
        .bind(first.after.as_ref().map(After::to_stored))
        .execute(connection)
        .await;
    Ok(done.map(|done| done.rows_affected()))
}
