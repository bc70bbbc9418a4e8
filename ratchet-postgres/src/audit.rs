//! The audit trail, whose entries hold free text.

use ratchet_core::ledger::{AuditPage, Cursor, Decided};
use ratchet_core::{AuditEntry, Namespace, Timestamp};
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

/// A page of the trails of all records. The trail is walked backwards, and each record looked up.
pub(crate) async fn log(
    connection: &mut PgConnection,
    namespace: &Namespace,
    before: Option<Cursor>,
    limit: usize,
) -> Result<AuditPage, Fault> {
    const LOG: &str = "SELECT a.id, a.record_id, a.at, a.by, a.action, a.reason, a.from_state, a.to_state, \
            r.namespace, r.operation, r.key, r.generation \
        FROM ratchet.audit AS a JOIN ratchet.records AS r ON r.id = a.record_id \
        WHERE r.namespace = $1 AND a.id < $2 ORDER BY a.id DESC LIMIT $3";
    let limit = limit.max(1);
    let rows = sqlx::query(LOG)
        .bind(namespace.as_str())
        .bind(before.map_or(i64::MAX, |cursor| cursor.0))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(connection)
        .await
        .while_trying("list decisions")?;
    let decisions: Vec<Decided> = rows.iter().map(decided).collect::<Result<_, Fault>>()?;
    let last = rows.last().filter(|_| rows.len() == limit);
    let next = last.map(|row| Columns(row).number("id")).transpose()?;
    Ok(AuditPage { decisions, next: next.map(Cursor) })
}

fn decided(row: &PgRow) -> Result<Decided, Fault> {
    let columns = Columns(row);
    let place = Cursor(columns.number("record_id")?);
    Ok(Decided { id: columns.identity()?, place, entry: read(row)? })
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
