//! Reads, on connections of their own: they see the last commit and wait for nobody.

use std::time::Duration;

use ratchet_core::decide::Stored;
use ratchet_core::ledger::{Cursor, Filter, Offer, Page, Served, Unserved};
use ratchet_core::{
    Attempt, AttemptEnd, AuditEntry, Namespace, OperationName, OutcomeKind, RecordId, State, Timestamp,
};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use crate::claim::{offer_columns, on_shelf, tables_of_shelves};
use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::room;
use crate::row::{Snapshots, now, read_stored, read_with_steps, record_columns, steps_column};

pub(crate) async fn find(connection: &mut PgConnection, id: &RecordId) -> Result<Option<Stored>, Fault> {
    const STORED: &str = concat!(
        "SELECT ",
        record_columns!(),
        ", ",
        steps_column!(),
        " FROM ratchet.records AS r LEFT JOIN ratchet.progress AS p ON p.record_id = r.id \
          WHERE r.namespace = $1 AND r.operation = $2 AND r.key = $3 AND r.generation = $4"
    );
    let rows = rows_of(connection, STORED, id).await?;
    rows.first().map(|row| read_stored(row, &mut Snapshots::default())).transpose()
}

pub(crate) async fn attempts(connection: &mut PgConnection, id: &RecordId) -> Result<Vec<Attempt>, Fault> {
    const ATTEMPTS: &str = "SELECT a.token, a.worker, a.version, a.leased_at, a.started_at, a.ended_at, a.outcome, \
            a.cause, a.late \
        FROM ratchet.records AS r CROSS JOIN LATERAL ( \
            SELECT token, worker, version, leased_at, started_at, ended_at, outcome, cause, late \
            FROM ratchet.attempts WHERE record_id = r.id \
            UNION ALL \
            SELECT attempt_token, attempt_worker, version, attempt_leased_at, attempt_started_at, attempt_ended_at, \
                attempt_outcome, attempt_cause, attempt_late \
            FROM ratchet.progress WHERE record_id = r.id AND attempt_token IS NOT NULL) AS a \
        WHERE r.namespace = $1 AND r.operation = $2 AND r.key = $3 AND r.generation = $4 ORDER BY a.token";
    rows_of(connection, ATTEMPTS, id).await?.iter().map(read_attempt).collect()
}

pub(crate) async fn audit(connection: &mut PgConnection, id: &RecordId) -> Result<Vec<AuditEntry>, Fault> {
    const AUDIT: &str = "SELECT a.at, a.by, a.action, a.reason, a.from_state, a.to_state \
        FROM ratchet.records AS r JOIN ratchet.audit AS a ON a.record_id = r.id \
        WHERE r.namespace = $1 AND r.operation = $2 AND r.key = $3 AND r.generation = $4 ORDER BY a.id";
    rows_of(connection, AUDIT, id).await?.iter().map(crate::audit::read).collect()
}

async fn rows_of(
    connection: &mut PgConnection,
    statement: &'static str,
    id: &RecordId,
) -> Result<Vec<PgRow>, Fault> {
    sqlx::query(statement)
        .bind(id.namespace.as_str())
        .bind(id.operation.as_str())
        .bind(id.key.as_str())
        .bind(i64::from(id.generation.get()))
        .fetch_all(connection)
        .await
        .while_trying("look a record up")
}

pub(crate) fn read_attempt(row: &PgRow) -> Result<Attempt, Fault> {
    let row = Columns(row);
    let end = match row.name_if_any::<OutcomeKind>("outcome")? {
        None => None,
        Some(outcome) => Some(AttemptEnd {
            at: row.time("ended_at")?,
            outcome,
            cause: row.json_if_any("cause")?,
            late: row.flag("late")?,
        }),
    };
    Ok(Attempt {
        token: row.token("token")?,
        worker: row.name("worker")?,
        version: row.name("version")?,
        leased_at: row.time("leased_at")?,
        started_at: row.time_if_any("started_at")?,
        end,
    })
}

/// A page of records, in the order that the filter wants. A state is part of the text, so that the planner sees which index
/// holds few others.
macro_rules! listing {
    ($filter:ident, $condition:literal) => {
        if $filter.newest_first {
            listing!(records: $condition, "p.record_id < $3", "p.record_id DESC")
        } else {
            listing!(records: $condition, "p.record_id > $3", "p.record_id")
        }
    };
    // An expression as the order, so that the planner cannot walk the primary key past all that has settled.
    ($filter:ident, few: $condition:literal) => {
        if $filter.newest_first {
            listing!(records: $condition, "p.record_id < $3", "p.record_id + 0 DESC")
        } else {
            listing!(records: $condition, "p.record_id > $3", "p.record_id + 0")
        }
    };
    (records: $condition:literal, $place:literal, $order:literal) => {
        concat!(
            "SELECT ",
            record_columns!(),
            ", ",
            steps_column!(),
            " FROM ratchet.progress AS p JOIN ratchet.records AS r ON r.id = p.record_id \
              WHERE p.namespace = $1 AND ($2::text IS NULL OR p.operation = $2) \
                  AND ($5::bigint IS NULL OR r.created_at < $5) AND ",
            $place,
            $condition,
            " ORDER BY ",
            $order,
            " LIMIT $4"
        )
    };
    // A page of a group, which goes by an index of its own.
    (group: $place:literal, $order:literal) => {
        concat!(
            "SELECT ",
            record_columns!(),
            ", ",
            steps_column!(),
            " FROM ratchet.records AS r CROSS JOIN LATERAL (SELECT * FROM ratchet.progress AS t \
                  WHERE t.record_id = r.id LIMIT 1) AS p \
              WHERE r.namespace = $1 AND ($2::text IS NULL OR r.operation = $2) AND r.group_id = $6 \
                  AND ($7::text IS NULL OR p.state = $7) AND ($5::bigint IS NULL OR r.created_at < $5) AND ",
            $place,
            " ORDER BY ",
            $order,
            " LIMIT $4"
        )
    };
}

fn listing_of(filter: &Filter) -> &'static str {
    if filter.group.is_some() {
        return if filter.newest_first {
            listing!(group: "r.id < $3", "r.id DESC")
        } else {
            listing!(group: "r.id > $3", "r.id")
        };
    }
    match filter.state {
        None => listing!(filter, ""),
        Some(State::Waiting) => listing!(filter, few: " AND p.state = 'waiting'"),
        Some(State::Pending) => listing!(filter, few: " AND p.state = 'pending'"),
        Some(State::Running) => listing!(filter, few: " AND p.state = 'running'"),
        Some(State::Succeeded) => listing!(filter, " AND p.state = 'succeeded'"),
        Some(State::Failed) => listing!(filter, few: " AND p.state = 'failed'"),
        Some(State::Exhausted) => listing!(filter, few: " AND p.state = 'exhausted'"),
        Some(State::Uncertain) => listing!(filter, few: " AND p.state = 'uncertain'"),
        Some(State::Cancelled) => listing!(filter, " AND p.state = 'cancelled'"),
        Some(State::Abandoned) => listing!(filter, few: " AND p.state = 'abandoned'"),
        Some(State::Skipped) => listing!(filter, " AND p.state = 'skipped'"),
    }
}

pub(crate) async fn list(connection: &mut PgConnection, filter: &Filter) -> Result<Page, Fault> {
    let limit = filter.limit.max(1);
    let mut query = sqlx::query(listing_of(filter))
        .bind(filter.namespace.as_str())
        .bind(filter.operation.as_ref().map(OperationName::as_str))
        .bind(filter.after.unwrap_or(filter.first_place()).0)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .bind(filter.created_before.map(Timestamp::as_millis));
    if let Some(group) = &filter.group {
        query = query.bind(group.as_str()).bind(filter.state.map(State::as_str));
    }
    let rows = query.fetch_all(connection).await.while_trying("list records")?;
    let (mut page, mut snapshots) = (Page::default(), Snapshots::default());
    for row in &rows {
        let (place, record) = read_with_steps(row, &mut snapshots)?;
        page.records.push(record);
        page.places.push(Cursor(place));
        page.next = Some(Cursor(place));
    }
    if page.records.len() < limit {
        page.next = None;
    }
    Ok(page)
}

pub(crate) async fn unserved(
    connection: &mut PgConnection,
    namespace: &Namespace,
    offers: &[Offer],
    now: Option<i64>,
) -> Result<Vec<Unserved>, Fault> {
    const UNSERVED: &str = concat!(
        "SELECT queue, operation, version, count(*) AS records, min(ready_at) AS since FROM ratchet.progress \
         WHERE state = 'pending' AND namespace = $1 AND ready_at <= (SELECT ",
        now!("$5"),
        ") AND (queue, operation, version) NOT IN (SELECT * FROM unnest($2::text[], $3::text[], $4::text[])) \
         GROUP BY queue, operation, version ORDER BY operation, version, queue"
    );
    let [queues, operations, versions] = offer_columns(offers);
    let rows = sqlx::query(UNSERVED)
        .bind(namespace.as_str())
        .bind(queues)
        .bind(operations)
        .bind(versions)
        .bind(now)
        .fetch_all(connection)
        .await
        .while_trying("count records that nobody serves")?;
    rows.iter()
        .map(|row| {
            let row = Columns(row);
            let wanted = Served { operation: row.name("operation")?, version: row.name("version")? };
            let (records, since) = (row.small("records")?, row.time("since")?);
            Ok(Unserved { wanted, queue: row.name("queue")?, records, since })
        })
        .collect()
}

/// How long until the next record that a claim would take becomes due, or the next lease of an operation in `$5` ends.
pub(crate) async fn next_due(
    connection: &mut PgConnection,
    namespace: &Namespace,
    offers: &[Offer],
    now: Option<i64>,
) -> Result<Option<Duration>, Fault> {
    const NEXT_DUE: &str = concat!(
        "WITH RECURSIVE ",
        tables_of_shelves!(),
        ", due(at) AS ( \
             SELECT (SELECT min(p.ready_at) FROM ratchet.progress AS p \
                 WHERE ",
        on_shelf!(),
        " AND p.priority = s.priority) \
             FROM shelf AS s WHERE s.priority IS NOT NULL \
             UNION ALL \
             SELECT min(p.lease_until) FROM ratchet.progress AS p \
             WHERE p.state = 'running' AND p.namespace = $1 AND p.operation = ANY($5)) \
         SELECT min(at), ",
        now!("$6"),
        " FROM due"
    );
    let open = room::left(&mut *connection, namespace, offers).await?.open(offers);
    let [queues, operations, versions] = offer_columns(&open);
    let [_, all_operations, _] = offer_columns(offers);
    let (at, now): (Option<i64>, i64) = sqlx::query_as(NEXT_DUE)
        .bind(namespace.as_str())
        .bind(queues)
        .bind(operations)
        .bind(versions)
        .bind(all_operations)
        .bind(now)
        .fetch_one(connection)
        .await
        .while_trying("look for the next due record")?;
    // Here, since a damaged time would make the subtraction fail there.
    Ok(at.map(|at| Timestamp::from_millis(at).since(Timestamp::from_millis(now))))
}
