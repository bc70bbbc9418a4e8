//! The audit trail. Its entries hold free text, which goes in as parameters of its own: JSON inside SQLite ends a text
//! at a zero byte.

use ratchet_core::ledger::{AuditPage, Cursor, Decided};
use ratchet_core::{AuditEntry, Generation, Key, Namespace, RecordId};
use sqlx::sqlite::SqliteRow;
use sqlx::{SqliteConnection, SqlitePool};

use crate::columns::Columns;
use crate::error::{Fault, While as _};

pub(crate) async fn write(
    connection: &mut SqliteConnection,
    record: i64,
    entry: &AuditEntry,
) -> Result<(), Fault> {
    const INSERT: &str = "INSERT INTO ratchet_audit (record_id, at, by, action, reason, from_state, to_state) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    sqlx::query(INSERT)
        .bind(record)
        .bind(entry.at.as_millis())
        .bind(&entry.by)
        .bind(&entry.action)
        .bind(&entry.reason)
        .bind(entry.from.as_str())
        .bind(entry.to.as_str())
        .execute(connection)
        .await
        .while_trying("write the audit trail")?;
    Ok(())
}

/// The same for a record whose row was made a moment ago.
pub(crate) async fn write_for(
    connection: &mut SqliteConnection,
    id: &RecordId,
    entry: &AuditEntry,
) -> Result<(), Fault> {
    const ROW: &str = "SELECT id FROM ratchet_records \
        WHERE namespace = ?1 AND operation = ?2 AND key = ?3 AND generation = ?4";
    let record: i64 = sqlx::query_scalar(ROW)
        .bind(id.namespace.as_str())
        .bind(id.operation.as_str())
        .bind(id.key.as_str())
        .bind(i64::from(id.generation.get()))
        .fetch_one(&mut *connection)
        .await
        .while_trying("look a key up")?;
    write(connection, record, entry).await
}

/// A page of the trails of all records. The trail is walked backwards, and each record looked up.
pub(crate) async fn log(
    readers: &SqlitePool,
    namespace: &Namespace,
    before: Option<Cursor>,
    limit: usize,
) -> Result<AuditPage, Fault> {
    const LOG: &str = "SELECT a.*, r.namespace, r.operation, r.key, r.generation \
        FROM ratchet_audit AS a CROSS JOIN ratchet_records AS r ON r.id = a.record_id \
        WHERE r.namespace = ?1 AND a.id < ?2 ORDER BY a.id DESC LIMIT ?3";
    let limit = limit.max(1);
    let rows = sqlx::query(LOG)
        .bind(namespace.as_str())
        .bind(before.map_or(i64::MAX, |cursor| cursor.0))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(readers)
        .await
        .while_trying("list decisions")?;
    let decisions: Vec<Decided> = rows.iter().map(decided).collect::<Result<_, Fault>>()?;
    let last = rows.last().filter(|_| rows.len() == limit);
    let next = last.map(|row| Columns(row).number("id")).transpose()?;
    Ok(AuditPage { decisions, next: next.map(Cursor) })
}

fn decided(row: &SqliteRow) -> Result<Decided, Fault> {
    let columns = Columns(row);
    let place = Cursor(columns.number("record_id")?);
    let id = RecordId {
        namespace: columns.name("namespace")?,
        operation: columns.name("operation")?,
        key: Key::parse(columns.text("key")?).map_err(|_| Fault::Damaged("a key is malformed"))?,
        generation: Generation::new(columns.small("generation")?)
            .ok_or(Fault::Damaged("a generation is zero"))?,
    };
    Ok(Decided { id, place, entry: read(row)? })
}

/// Reads a row of `ratchet_audit`.
pub(crate) fn read(row: &SqliteRow) -> Result<AuditEntry, Fault> {
    let row = Columns(row);
    Ok(AuditEntry {
        at: row.time("at")?,
        by: row.text("by")?.to_owned(),
        action: row.text("action")?.to_owned(),
        reason: row.text("reason")?.to_owned(),
        from: row.state("from_state")?,
        to: row.state("to_state")?,
    })
}
