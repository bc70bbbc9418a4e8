//! What people ask for who do not know the whole identity of a record, or want to know how all of them stand.

use ratchet_core::decide::Stored;
use ratchet_core::ledger::{Count, Cursor, Served};
use ratchet_core::{Key, Namespace, Record, RecordId, Timestamp, serde_json};
use sqlx::{SqliteExecutor, SqlitePool};

use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::row::{IdentityRow, record_json, rows_as_json, tombstone_json};
use crate::stored::{read_all, read_stored};

/// In the order of operation and generation. Goes from operation to operation by one seek each, so that a key is found without reading all of them.
pub(crate) async fn under_key(
    readers: &SqlitePool,
    namespace: &Namespace,
    key: &Key,
) -> Result<Vec<Stored>, Fault> {
    const UNDER_KEY: &str = concat!(
        "WITH RECURSIVE \
         live(operation) AS (SELECT min(operation) FROM ratchet_records WHERE namespace = ?1 \
             UNION ALL SELECT (SELECT min(operation) FROM ratchet_records \
                 WHERE namespace = ?1 AND operation > live.operation) FROM live WHERE operation IS NOT NULL), \
         purged(operation) AS (SELECT min(operation) FROM ratchet_tombstones WHERE namespace = ?1 \
             UNION ALL SELECT (SELECT min(operation) FROM ratchet_tombstones \
                 WHERE namespace = ?1 AND operation > purged.operation) FROM purged WHERE operation IS NOT NULL) \
         SELECT ",
        record_json!(),
        " AS row, r.operation, r.generation FROM live CROSS JOIN ratchet_records AS r INDEXED BY ratchet_records_identity \
          WHERE r.namespace = ?1 AND r.operation = live.operation AND r.key = ?2 UNION ALL SELECT ",
        tombstone_json!(),
        ", t.operation, t.generation FROM purged CROSS JOIN ratchet_tombstones AS t \
          WHERE t.namespace = ?1 AND t.operation = purged.operation AND t.key = ?2 \
          ORDER BY 2, 3"
    );
    let rows: Result<Vec<Vec<u8>>, _> =
        sqlx::query_scalar(UNDER_KEY).bind(namespace.as_str()).bind(key.as_str()).fetch_all(readers).await;
    let mut stored = Vec::new();
    for row in rows.while_trying("look a key up")? {
        stored.push(read_stored(readers, &row).await?);
    }
    Ok(stored)
}

/// The number of each of these records, also of those that are tombstones.
pub(crate) async fn places(
    executor: impl SqliteExecutor<'_>,
    ids: &[&RecordId],
) -> Result<Vec<Option<i64>>, Fault> {
    const PLACES: &str = "SELECT coalesce( \
            (SELECT r.id FROM ratchet_records AS r INDEXED BY ratchet_records_identity \
                WHERE r.namespace = w.value ->> 'namespace' AND r.operation = w.value ->> 'operation' \
                    AND r.key = w.value ->> 'key' AND r.generation = w.value ->> 'generation'), \
            (SELECT t.place FROM ratchet_tombstones AS t \
                WHERE t.namespace = w.value ->> 'namespace' AND t.operation = w.value ->> 'operation' \
                    AND t.key = w.value ->> 'key' AND t.generation = w.value ->> 'generation')) \
        FROM json_each(?1) AS w ORDER BY w.key";
    let ids: Vec<IdentityRow<'_>> = ids.iter().map(|id| IdentityRow::from(*id)).collect();
    let places = sqlx::query_scalar(PLACES).bind(rows_as_json(&ids)?).fetch_all(executor).await;
    places.while_trying("look for the place of a record")
}

pub(crate) async fn at(readers: &SqlitePool, place: Cursor) -> Result<Option<Stored>, Fault> {
    const AT: &str = concat!(
        "SELECT ",
        record_json!(),
        " FROM ratchet_records AS r WHERE r.id = ?1 UNION ALL SELECT ",
        tombstone_json!(),
        " FROM ratchet_tombstones AS t WHERE t.place = ?1"
    );
    let row: Result<Option<Vec<u8>>, _> = sqlx::query_scalar(AT).bind(place.0).fetch_optional(readers).await;
    let Some(row) = row.while_trying("look a record up")? else { return Ok(None) };
    read_stored(readers, &row).await.map(Some)
}

pub(crate) async fn census(readers: &SqlitePool, namespace: &Namespace) -> Result<Vec<Count>, Fault> {
    const CENSUS: &str = "SELECT operation, version, state, count(*) AS records, min(created_at) AS oldest \
        FROM ratchet_records WHERE namespace = ?1 GROUP BY operation, version, state \
        ORDER BY operation, version, state";
    let rows = sqlx::query(CENSUS).bind(namespace.as_str()).fetch_all(readers).await;
    let count = |row| {
        let row = Columns(row);
        Ok(Count {
            of: Served { operation: row.name("operation")?, version: row.name("version")? },
            state: row.state("state")?,
            records: row.small("records")?,
            oldest: row.time("oldest")?,
        })
    };
    rows.while_trying("count records")?.iter().map(count).collect()
}

/// What is due for a question, the longest waiting first. Few records are uncertain, so all of these are looked at.
pub(crate) async fn to_reconcile(
    readers: &SqlitePool,
    namespace: &Namespace,
    served: &[Served],
    limit: usize,
    now: Timestamp,
) -> Result<Vec<Record>, Fault> {
    const TO_RECONCILE: &str = concat!(
        "SELECT ",
        record_json!(),
        " FROM ratchet_records AS r INDEXED BY ratchet_records_to_reconcile \
          WHERE r.reconcile_at IS NOT NULL AND r.reconcile_at <= ?3 AND r.state = 'uncertain' AND r.namespace = ?1 \
              AND (r.operation, r.version) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?2)) \
          ORDER BY r.reconcile_at LIMIT ?4"
    );
    let pair = |one: &Served| serde_json::json!([one.operation.as_str(), one.version.as_str()]);
    let wanted: serde_json::Value = served.iter().map(pair).collect();
    let mut looked_at = limit;
    loop {
        let rows: Vec<Vec<u8>> = sqlx::query_scalar(TO_RECONCILE)
            .bind(namespace.as_str())
            .bind(wanted.to_string())
            .bind(now.as_millis())
            .bind(i64::try_from(looked_at).unwrap_or(i64::MAX))
            .fetch_all(readers)
            .await
            .while_trying("look for records to ask about")?;
        // One that cannot be read keeps nobody from the others, and takes no place of theirs.
        let texts: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        let sound = read_all(readers, &texts).await?.into_iter().flatten().map(|(_, record)| record);
        let records: Vec<Record> = sound.take(limit).collect();
        if records.len() == limit || rows.len() < looked_at {
            return Ok(records);
        }
        looked_at = looked_at.saturating_mul(2);
    }
}
