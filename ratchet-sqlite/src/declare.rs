//! What workers declared about their operations.

use std::collections::HashMap;

use ratchet_core::ledger::{Declaration, Declared, Served};
use ratchet_core::{HiddenPaths, LedgerError, OperationName, Priority, Version};
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{SqliteConnection, SqlitePool};

use crate::columns::Columns;
use crate::error::{Fault, While as _};

/// Compares all declarations, each with those before it, before it writes any. The inner result is the caller's answer;
/// a refusal writes nothing.
pub(crate) async fn declare(
    connection: &mut SqliteConnection,
    declared: &[Declaration],
) -> Result<Result<(), LedgerError>, Fault> {
    let mut known: HashMap<&OperationName, Vec<String>> = HashMap::new();
    let mut new = Vec::new();
    for declaration in declared {
        let operation = &declaration.operation;
        if !known.contains_key(operation) {
            known.insert(operation, accepted(connection, operation).await?);
        }
        let known = known.entry(operation).or_default();
        match declaration.is_new(known) {
            Ok(false) => {}
            Ok(true) => {
                known.push(declaration.template.clone());
                new.push(declaration);
            }
            Err(refused) => return Ok(Err(refused)),
        }
    }
    for declaration in new {
        record(connection, declaration).await?;
    }
    for declaration in declared {
        hide(connection, declaration).await?;
        describe(connection, declaration).await?;
    }
    Ok(Ok(()))
}

/// In the order in which they were accepted.
async fn accepted(
    connection: &mut SqliteConnection,
    operation: &OperationName,
) -> Result<Vec<String>, Fault> {
    sqlx::query_scalar("SELECT template FROM ratchet_templates WHERE operation = ?1 ORDER BY id")
        .bind(operation.as_str())
        .fetch_all(connection)
        .await
        .while_trying("look key templates up")
}

async fn record(connection: &mut SqliteConnection, declaration: &Declaration) -> Result<(), Fault> {
    const ADD: &str = "INSERT INTO ratchet_templates (operation, template, new_identity) VALUES (?1, ?2, ?3)";
    sqlx::query(ADD)
        .bind(declaration.operation.as_str())
        .bind(&declaration.template)
        .bind(declaration.new_identity.as_deref())
        .execute(connection)
        .await
        .while_trying("record a key template")?;
    Ok(())
}

/// Keeps what people are told about windows; a worker that starts again writes nothing.
async fn describe(connection: &mut SqliteConnection, declaration: &Declaration) -> Result<(), Fault> {
    const WRITE: &str = "INSERT INTO ratchet_declarations AS d \
            (operation, version, policy, contract, priority, queue, volatile, concurrency, template, forms) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
        ON CONFLICT (operation, version) DO UPDATE SET policy = excluded.policy, contract = excluded.contract, \
            priority = excluded.priority, queue = excluded.queue, volatile = excluded.volatile, \
            concurrency = excluded.concurrency, template = excluded.template, forms = excluded.forms \
        WHERE (d.policy, d.contract, d.priority, d.queue, d.volatile, d.template, d.forms) <> \
                (excluded.policy, excluded.contract, excluded.priority, excluded.queue, excluded.volatile, \
                excluded.template, excluded.forms) \
            OR d.concurrency IS NOT excluded.concurrency";
    sqlx::query(WRITE)
        .bind(declaration.operation.as_str())
        .bind(declaration.version.as_str())
        .bind(as_json(&declaration.policy)?)
        .bind(as_json(&declaration.contract)?)
        .bind(declaration.priority.0)
        .bind(declaration.queue.as_str())
        .bind(as_json(&declaration.volatile)?)
        .bind(declaration.concurrency.map(|limit| i64::from(limit.get())))
        .bind(&declaration.template)
        .bind(as_json(&declaration.forms)?)
        .execute(connection)
        .await
        .while_trying("record what is declared")?;
    Ok(())
}

pub(crate) fn as_json<T: Serialize>(value: &T) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|_| Fault::Damaged("a declaration cannot be written as JSON"))
}

pub(crate) async fn declarations(readers: &SqlitePool) -> Result<Vec<Declared>, Fault> {
    const READ: &str = "SELECT operation, version, policy, contract, priority, queue, volatile, concurrency \
        FROM ratchet_declarations ORDER BY operation, version";
    let rows = sqlx::query(READ).fetch_all(readers).await.while_trying("read what is declared")?;
    rows.iter().map(read).collect()
}

/// Reads a row of `ratchet_declarations`.
pub(crate) fn read(row: &SqliteRow) -> Result<Declared, Fault> {
    let row = Columns(row);
    let of = Served { operation: row.name("operation")?, version: row.name("version")? };
    Ok(Declared {
        of,
        policy: row.json("policy")?,
        contract: row.json("contract")?,
        priority: Priority(row.small("priority")?),
        queue: row.name("queue")?,
        volatile: row.json("volatile")?,
        concurrency: row.limit("concurrency")?,
    })
}

/// Adds to what is hidden; a worker that starts again writes nothing.
async fn hide(connection: &mut SqliteConnection, declaration: &Declaration) -> Result<(), Fault> {
    const WRITE: &str = "INSERT INTO ratchet_hidden (operation, version, paths) VALUES (?1, ?2, ?3) \
         ON CONFLICT (operation, version) DO UPDATE SET paths = excluded.paths";
    let known = hidden(connection, &declaration.operation, &declaration.version).await?;
    let all =
        known.as_ref().map_or_else(|| declaration.hidden.clone(), |known| known.union(&declaration.hidden));
    if known.as_ref() == Some(&all) {
        return Ok(());
    }
    let paths = serde_json::to_string(&all).map_err(|_| Fault::Damaged("hidden paths cannot be written"))?;
    sqlx::query(WRITE)
        .bind(declaration.operation.as_str())
        .bind(declaration.version.as_str())
        .bind(paths)
        .execute(connection)
        .await
        .while_trying("record what is hidden")?;
    Ok(())
}

/// What is hidden of the inputs of an operation and version.
pub(crate) async fn hidden(
    connection: &mut SqliteConnection,
    operation: &OperationName,
    version: &Version,
) -> Result<Option<HiddenPaths>, Fault> {
    let paths: Option<String> =
        sqlx::query_scalar("SELECT paths FROM ratchet_hidden WHERE operation = ?1 AND version = ?2")
            .bind(operation.as_str())
            .bind(version.as_str())
            .fetch_optional(connection)
            .await
            .while_trying("read what is hidden")?;
    paths
        .map(|paths| serde_json::from_str(&paths))
        .transpose()
        .map_err(|_| Fault::Damaged("hidden paths cannot be read"))
}
