//! What people ask for who do not know the whole identity of a record, or want to know how all of them stand.

use ratchet_core::decide::Stored;
use ratchet_core::ledger::{Count, Cursor, Served};
use ratchet_core::{Key, Namespace, Record, RecordId};
use sqlx::PgConnection;

use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::row::{Snapshots, now, read_stored, read_with_steps, record_columns, steps_column};
use crate::write::column;

/// Goes from operation to operation by one seek each, so that a key is found without reading all of them.
pub(crate) async fn under_key(
    connection: &mut PgConnection,
    namespace: &Namespace,
    key: &Key,
) -> Result<Vec<Stored>, Fault> {
    const UNDER_KEY: &str = concat!(
        "SELECT ",
        record_columns!(),
        ", ",
        steps_column!(),
        " FROM ratchet.records AS r LEFT JOIN ratchet.progress AS p ON p.record_id = r.id \
          WHERE r.namespace = $1 AND r.key = $2 ORDER BY r.operation, r.generation"
    );
    let rows = sqlx::query(UNDER_KEY).bind(namespace.as_str()).bind(key.as_str()).fetch_all(connection).await;
    let (rows, mut snapshots) = (rows.while_trying("look a key up")?, Snapshots::default());
    rows.iter().map(|row| read_stored(row, &mut snapshots)).collect()
}

/// The number of each of these records, also of those that are tombstones.
pub(crate) async fn places(
    connection: &mut PgConnection,
    ids: &[&RecordId],
) -> Result<Vec<Option<i64>>, Fault> {
    const PLACES: &str = "SELECT (SELECT r.id FROM ratchet.records AS r \
            WHERE r.namespace = w.namespace AND r.operation = w.operation AND r.key = w.key \
                AND r.generation = w.generation) \
        FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY \
            AS w(namespace, operation, key, generation, number) ORDER BY w.number";
    sqlx::query_scalar(PLACES)
        .bind(column(ids, |id| id.namespace.as_str()))
        .bind(column(ids, |id| id.operation.as_str()))
        .bind(column(ids, |id| id.key.as_str()))
        .bind(column(ids, |id| i64::from(id.generation.get())))
        .fetch_all(connection)
        .await
        .while_trying("look for the place of a record")
}

pub(crate) async fn at(connection: &mut PgConnection, place: Cursor) -> Result<Option<Stored>, Fault> {
    const AT: &str = concat!(
        "SELECT ",
        record_columns!(),
        ", ",
        steps_column!(),
        " FROM ratchet.records AS r LEFT JOIN ratchet.progress AS p ON p.record_id = r.id WHERE r.id = $1"
    );
    let row = sqlx::query(AT).bind(place.0).fetch_optional(connection).await;
    let row = row.while_trying("look a record up")?;
    row.as_ref().map(|row| read_stored(row, &mut Snapshots::default())).transpose()
}

pub(crate) async fn census(
    connection: &mut PgConnection,
    namespace: &Namespace,
) -> Result<Vec<Count>, Fault> {
    const CENSUS: &str = "SELECT p.operation, p.version, p.state, count(*) AS records, \
            min(r.created_at) AS oldest \
        FROM ratchet.progress AS p JOIN ratchet.records AS r ON r.id = p.record_id WHERE p.namespace = $1 \
        GROUP BY p.operation, p.version, p.state ORDER BY p.operation, p.version, p.state";
    let rows = sqlx::query(CENSUS).bind(namespace.as_str()).fetch_all(connection).await;
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
    connection: &mut PgConnection,
    namespace: &Namespace,
    served: &[Served],
    limit: usize,
    now: Option<i64>,
) -> Result<Vec<Record>, Fault> {
    const TO_RECONCILE: &str = concat!(
        "SELECT ",
        record_columns!(),
        ", ",
        steps_column!(),
        " FROM ratchet.progress AS p CROSS JOIN LATERAL (SELECT * FROM ratchet.records AS r \
              WHERE r.id = p.record_id LIMIT 1) AS r \
          WHERE p.reconcile_at IS NOT NULL AND p.reconcile_at <= (SELECT ",
        now!("$4"),
        ") AND p.state = 'uncertain' AND p.namespace = $1 \
              AND (p.operation, p.version) IN (SELECT * FROM unnest($2::text[], $3::text[])) \
          ORDER BY p.reconcile_at LIMIT $5"
    );
    let (operations, versions): (Vec<&str>, Vec<&str>) =
        served.iter().map(|one| (one.operation.as_str(), one.version.as_str())).unzip();
    let mut looked_at = limit;
    loop {
        let rows = sqlx::query(TO_RECONCILE)
            .bind(namespace.as_str())
            .bind(&operations)
            .bind(&versions)
            .bind(now)
            .bind(i64::try_from(looked_at).unwrap_or(i64::MAX))
            .fetch_all(&mut *connection)
            .await
            .while_trying("look for records to ask about")?;
        // One that cannot be read keeps nobody from the others, and takes no place of theirs.
        let mut snapshots = Snapshots::default();
        let sound = rows.iter().filter_map(|row| read_with_steps(row, &mut snapshots).ok());
        let records: Vec<Record> = sound.map(|(_, record)| record).take(limit).collect();
        if records.len() == limit || rows.len() < looked_at {
            return Ok(records);
        }
        looked_at = looked_at.saturating_mul(2);
    }
}
