//! Reads, on connections of their own: they see the last commit and never wait for the writer.

use std::collections::BTreeSet;

use ratchet_core::decide::Stored;
use ratchet_core::ledger::{Cursor, Filter, Offer, Page, Served, Unserved};
use ratchet_core::{
    Attempt, AttemptEnd, AuditEntry, GroupId, Namespace, OperationName, OutcomeKind, RecordId, State,
    Timestamp,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqlitePool};

use crate::claim::{offers_as_json, tables_of_shelves};
use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::first_attempt::first_attempt;
use crate::room;
use crate::row::{record_json, rows_as_json, tombstone_json};
use crate::stored::{read_all, read_stored};

pub(crate) async fn find(readers: &SqlitePool, id: &RecordId) -> Result<Option<Stored>, Fault> {
    const STORED: &str = concat!(
        "SELECT ",
        record_json!(),
        " FROM ratchet_records AS r \
          WHERE r.namespace = ?1 AND r.operation = ?2 AND r.key = ?3 AND r.generation = ?4 UNION ALL SELECT ",
        tombstone_json!(),
        " FROM ratchet_tombstones AS t \
          WHERE t.namespace = ?1 AND t.operation = ?2 AND t.key = ?3 AND t.generation = ?4"
    );
    let Some(row) = rows_of(readers, STORED, id).await?.into_iter().next() else { return Ok(None) };
    read_stored(readers, row.try_get(0).while_trying("read a row")?).await.map(Some)
}

pub(crate) async fn attempts(readers: &SqlitePool, id: &RecordId) -> Result<Vec<Attempt>, Fault> {
    const ATTEMPTS: &str = concat!(
        "SELECT a.* FROM ratchet_records AS r JOIN ratchet_attempts AS a ON a.record_id = r.id \
         WHERE r.namespace = ?1 AND r.operation = ?2 AND r.key = ?3 AND r.generation = ?4 UNION ALL ",
        first_attempt!(
            "ratchet_records AS r \
             WHERE r.namespace = ?1 AND r.operation = ?2 AND r.key = ?3 AND r.generation = ?4"
        ),
        " ORDER BY token"
    );
    rows_of(readers, ATTEMPTS, id).await?.iter().map(read_attempt).collect()
}

pub(crate) async fn audit(readers: &SqlitePool, id: &RecordId) -> Result<Vec<AuditEntry>, Fault> {
    const AUDIT: &str = "SELECT a.* FROM ratchet_records AS r JOIN ratchet_audit AS a ON a.record_id = r.id \
        WHERE r.namespace = ?1 AND r.operation = ?2 AND r.key = ?3 AND r.generation = ?4 ORDER BY a.id";
    rows_of(readers, AUDIT, id).await?.iter().map(crate::audit::read).collect()
}

async fn rows_of(
    readers: &SqlitePool,
    statement: &'static str,
    id: &RecordId,
) -> Result<Vec<SqliteRow>, Fault> {
    sqlx::query(statement)
        .bind(id.namespace.as_str())
        .bind(id.operation.as_str())
        .bind(id.key.as_str())
        .bind(i64::from(id.generation.get()))
        .fetch_all(readers)
        .await
        .while_trying("look a record up")
}

pub(crate) fn read_attempt(row: &SqliteRow) -> Result<Attempt, Fault> {
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

/// A page of records, in the order that the filter wants. The `+` keeps the planner from sorting a whole namespace for one
/// page.
macro_rules! listing {
    ($filter:ident, $source:literal) => {
        if $filter.newest_first {
            listing!($source, "r.id < ?4 ORDER BY r.id DESC")
        } else {
            listing!($source, "r.id > ?4 ORDER BY r.id")
        }
    };
    ($source:literal, $place:literal) => {
        concat!(
            "SELECT ",
            record_json!(),
            " FROM ratchet_records AS r ",
            $source,
            " AND +r.namespace = ?1 AND (?2 IS NULL OR r.operation = ?2) AND (?3 IS NULL OR r.state = ?3) \
              AND (?6 IS NULL OR r.group_id = ?6) AND (?7 IS NULL OR r.created_at < ?7) AND ",
            $place,
            " LIMIT ?5"
        )
    };
}

/// The statement whose index holds few records beside those of this group and state.
fn listing_of(filter: &Filter) -> &'static str {
    if filter.group.is_some() {
        return listing!(
            filter,
            "INDEXED BY ratchet_records_group WHERE r.namespace = ?1 AND r.group_id = ?6"
        );
    }
    match filter.state {
        Some(State::Waiting) => {
            listing!(
                filter,
                "INDEXED BY ratchet_records_waiting WHERE r.comes_after IS NOT NULL AND r.state = 'waiting'"
            )
        }
        Some(State::Pending) => {
            listing!(filter, "INDEXED BY ratchet_records_pending WHERE r.state = 'pending'")
        }
        Some(State::Running) => {
            listing!(filter, "INDEXED BY ratchet_records_leased WHERE r.state = 'running'")
        }
        Some(State::Failed | State::Exhausted | State::Uncertain | State::Abandoned) => listing!(
            filter,
            "INDEXED BY ratchet_records_attention WHERE r.namespace = ?1 AND r.state = ?3 \
             AND r.attention IS NOT NULL"
        ),
        None | Some(State::Succeeded | State::Cancelled | State::Skipped) => {
            listing!(filter, "NOT INDEXED WHERE TRUE")
        }
    }
}

pub(crate) async fn list(readers: &SqlitePool, filter: &Filter) -> Result<Page, Fault> {
    let limit = filter.limit.max(1);
    let rows: Vec<Vec<u8>> = sqlx::query_scalar(listing_of(filter))
        .bind(filter.namespace.as_str())
        .bind(filter.operation.as_ref().map(OperationName::as_str))
        .bind(filter.state.map(State::as_str))
        .bind(filter.after.unwrap_or(filter.first_place()).0)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .bind(filter.group.as_ref().map(GroupId::as_str))
        .bind(filter.created_before.map(Timestamp::as_millis))
        .fetch_all(readers)
        .await
        .while_trying("list records")?;
    let texts: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
    let mut page = Page::default();
    for read in read_all(readers, &texts).await? {
        let (place, record) = read?;
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
    readers: &SqlitePool,
    namespace: &Namespace,
    offers: &[Offer],
    now: Timestamp,
) -> Result<Vec<Unserved>, Fault> {
    const UNSERVED: &str = "SELECT queue, operation, version, count(*) AS records, min(ready_at) AS since \
        FROM ratchet_records INDEXED BY ratchet_records_pending \
        WHERE state = 'pending' AND namespace = ?1 AND ready_at <= ?3 AND (queue, operation, version) NOT IN ( \
            SELECT value ->> 'queue', value ->> 'operation', value ->> 'version' FROM json_each(?2)) \
        GROUP BY queue, operation, version ORDER BY operation, version, queue";
    let rows = sqlx::query(UNSERVED)
        .bind(namespace.as_str())
        .bind(offers_as_json(offers)?)
        .bind(now.as_millis())
        .fetch_all(readers)
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

/// When the next record that a claim would take becomes due, or the next lease of an operation in `?3` ends.
pub(crate) async fn next_due(
    readers: &SqlitePool,
    namespace: &Namespace,
    offers: &[Offer],
) -> Result<Option<Timestamp>, Fault> {
    const NEXT_DUE: &str = concat!(
        "WITH RECURSIVE ",
        tables_of_shelves!(),
        ", due(at) AS ( \
             SELECT (SELECT min(r.ready_at) FROM ratchet_records AS r INDEXED BY ratchet_records_pending \
                 WHERE r.state = 'pending' AND r.namespace = ?1 AND r.queue = shelf.queue \
                     AND r.operation = shelf.operation AND r.version = shelf.version \
                     AND r.priority = shelf.priority) \
             FROM shelf WHERE priority IS NOT NULL \
             UNION ALL \
             SELECT min(lease_until) FROM ratchet_records INDEXED BY ratchet_records_leased \
             WHERE state = 'running' AND namespace = ?1 AND operation IN (SELECT value FROM json_each(?3))) \
         SELECT min(at) FROM due"
    );
    let open = room::left(readers, namespace, offers).await?.open(offers);
    let operations: BTreeSet<&OperationName> = offers.iter().map(|offer| &offer.served.operation).collect();
    let at: Option<i64> = sqlx::query_scalar(NEXT_DUE)
        .bind(namespace.as_str())
        .bind(offers_as_json(&open)?)
        .bind(rows_as_json(&operations.iter().collect::<Vec<_>>())?)
        .fetch_one(readers)
        .await
        .while_trying("look for the next due record")?;
    Ok(at.map(Timestamp::from_millis))
}
