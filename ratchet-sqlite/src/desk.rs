//! Loads records on the desk, inside the writer's transaction, and writes what was decided about them.

use std::collections::BTreeSet;

use ratchet_core::RecordId;
use ratchet_core::ledger::desk::{Damaged, Desk, Sheet};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::row::{IdentityRow, read, record_columns, rows_as_json};
use crate::write;

/// Loads the records of these identities; those that do not exist are left out.
pub(crate) async fn load_identities(
    connection: &mut SqliteConnection,
    ids: &BTreeSet<&RecordId>,
) -> Result<Desk, Fault> {
    const BY_IDENTITY: &str = concat!(
        "WITH wanted AS MATERIALIZED (SELECT value AS w FROM json_each(?1)) SELECT ",
        record_columns!(),
        " FROM wanted CROSS JOIN ratchet_records AS r INDEXED BY ratchet_records_identity \
          ON r.namespace = w ->> 'namespace' AND r.operation = w ->> 'operation' AND r.key = w ->> 'key' \
          AND r.generation = w ->> 'generation'"
    );
    let ids: Vec<IdentityRow<'_>> = ids.iter().map(|id| IdentityRow::from(*id)).collect();
    load(connection, BY_IDENTITY, rows_as_json(&ids)?).await
}

/// Loads the records of these rows.
pub(crate) async fn load_rows(connection: &mut SqliteConnection, rows: &[i64]) -> Result<Desk, Fault> {
    const BY_ROW: &str = concat!(
        "SELECT ",
        record_columns!(),
        " FROM json_each(?1) AS wanted CROSS JOIN ratchet_records AS r ON r.id = wanted.value"
    );
    load(connection, BY_ROW, rows_as_json(rows)?).await
}

async fn load(
    connection: &mut SqliteConnection,
    statement: &'static str,
    wanted: String,
) -> Result<Desk, Fault> {
    let rows =
        sqlx::query(statement).bind(wanted).fetch_all(connection).await.while_trying("load records")?;
    let mut desk = Desk::default();
    for row in &rows {
        match read(row) {
            Ok((number, record)) => desk.sheets.push(Sheet::new(number, record)),
            Err(Fault::Damaged(what)) => desk.damaged.push(damaged(row, what)?),
            Err(fault) => return Err(fault),
        }
    }
    Ok(desk)
}

fn damaged(row: &SqliteRow, what: &'static str) -> Result<Damaged, Fault> {
    let columns = Columns(row);
    Ok(Damaged { row: columns.number("id")?, id: columns.identity().ok(), what })
}

/// Writes everything that was decided.
pub(crate) async fn write(connection: &mut SqliteConnection, desk: &Desk) -> Result<(), Fault> {
    write::records(connection, &desk.sheets).await?;
    write::steps(connection, &desk.sheets).await?;
    write::attempts(connection, &desk.attempts).await?;
    for (row, entry) in &desk.audit {
        crate::audit::write(connection, *row, entry).await?;
    }
    Ok(())
}
