//! The audit trail. Its entries hold free text, which goes in as parameters of its own: JSON inside SQLite ends a text
//! at a zero byte.

use ratchet_core::{AuditEntry, RecordId};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

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
