//! Loads records on the desk, inside the writer's transaction, and writes what was decided about them.

use std::collections::BTreeSet;

use ratchet_core::RecordId;
use ratchet_core::ledger::desk::{Damaged, Desk, Sheet};
use sqlx::SqliteConnection;

use crate::error::{Fault, While as _};
use crate::row::{IdentityRow, ROWS_PER_STATEMENT, record_json, rows_as_json};
use crate::stored::{lines_of, read_all, read_damaged};
use crate::usual::Usual;
use crate::{first_attempt, write};

/// Records as [lines](lines_of).
macro_rules! lines {
    ($source:literal) => {
        concat!("SELECT group_concat(", record_json!(), ", char(10)) ", $source)
    };
}

/// Loads the records of these identities; those that do not exist are left out.
pub(crate) async fn load_identities(
    connection: &mut SqliteConnection,
    ids: &BTreeSet<&RecordId>,
) -> Result<Desk, Fault> {
    const BY_IDENTITY: &str = lines!(
        "FROM (SELECT value AS w FROM json_each(?1)) CROSS JOIN ratchet_records AS r INDEXED BY ratchet_records_identity \
          ON r.namespace = w ->> 'namespace' AND r.operation = w ->> 'operation' AND r.key = w ->> 'key' \
          AND r.generation = w ->> 'generation'"
    );
    let ids: Vec<IdentityRow<'_>> = ids.iter().map(|id| IdentityRow::from(*id)).collect();
    let mut desk = Desk::default();
    for ids in ids.chunks(ROWS_PER_STATEMENT) {
        load(connection, BY_IDENTITY, rows_as_json(ids)?, &mut desk).await?;
    }
    Ok(desk)
}

/// Loads the records of these rows.
pub(crate) async fn load_rows(connection: &mut SqliteConnection, rows: &[i64]) -> Result<Desk, Fault> {
    const BY_ROW: &str =
        lines!("FROM json_each(?1) AS wanted CROSS JOIN ratchet_records AS r ON r.id = wanted.value");
    let mut desk = Desk::default();
    for rows in rows.chunks(ROWS_PER_STATEMENT) {
        load(connection, BY_ROW, rows_as_json(rows)?, &mut desk).await?;
    }
    Ok(desk)
}

async fn load(
    connection: &mut SqliteConnection,
    statement: &'static str,
    wanted: String,
    desk: &mut Desk,
) -> Result<(), Fault> {
    let lines: Option<Vec<u8>> = sqlx::query_scalar(statement)
        .bind(wanted)
        .fetch_one(&mut *connection)
        .await
        .while_trying("load records")?;
    let lines: Vec<&[u8]> = lines_of(lines.as_deref().unwrap_or_default()).collect();
    for (line, read) in lines.iter().zip(read_all(connection, &lines).await?) {
        match read {
            Ok((row, record)) => desk.sheets.push(Sheet::new(row, record)),
            Err(Fault::Damaged(what)) => {
                let (row, id) = read_damaged(line)?;
                desk.damaged.push(Damaged { row, id, what });
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(())
}

/// Writes everything that was decided.
pub(crate) async fn write(connection: &mut SqliteConnection, desk: &Desk) -> Result<(), Fault> {
    let usual = Usual::of(desk);
    first_attempt::make_room(connection, desk, &usual).await?;
    usual.write(connection).await?;
    write::records(connection, &desk.sheets, &usual).await?;
    write::steps(connection, &desk.sheets).await?;
    write::attempts(connection, &desk.attempts, &usual).await?;
    for (row, entry) in &desk.audit {
        crate::audit::write(connection, *row, entry).await?;
    }
    Ok(())
}
