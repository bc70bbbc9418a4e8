//! The audit trail, whose entries hold free text.

use ratchet_core::{AuditEntry, Timestamp};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::text::{escaped, unescaped};
use crate::write::column;

/// Adds entries to the trails of records, by the numbers of their rows.
pub(crate) async fn write(connection: &mut PgConnection, entries: &[(i64, AuditEntry)]) -> Result<(), Fault> {
    const INSERT: &str = "INSERT INTO ratchet.audit (record_id, at, by, action, reason, from_state, to_state) \
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])";
    if entries.is_empty() {
        return Ok(());
    }
    sqlx::query(INSERT)
        .bind(column(entries, |(row, _)| *row))
        .bind(column(entries, |(_, entry)| entry.at.as_millis()))
        .bind(column(entries, |(_, entry)| escaped(&entry.by).into_owned()))
        .bind(column(entries, |(_, entry)| escaped(&entry.action).into_owned()))
        .bind(column(entries, |(_, entry)| escaped(&entry.reason).into_owned()))
        .bind(column(entries, |(_, entry)| entry.from.as_str()))
        .bind(column(entries, |(_, entry)| entry.to.as_str()))
        .execute(connection)
        .await
        .while_trying("write the audit trail")?;
    Ok(())
}

/// Reads a row of `ratchet.audit`.
pub(crate) fn read(row: &PgRow) -> Result<AuditEntry, Fault> {
    let row = Columns(row);
    Ok(AuditEntry {
        at: row.time("at")?,
        by: unescaped(row.text("by")?),
        action: unescaped(row.text("action")?),
        reason: unescaped(row.text("reason")?),
        from: row.state("from_state")?,
        to: row.state("to_state")?,
    })
}

/// An entry of the moment in which it is written.
pub(crate) fn now(entry: AuditEntry, now: Timestamp) -> AuditEntry {
    AuditEntry { at: now, ..entry }
}
