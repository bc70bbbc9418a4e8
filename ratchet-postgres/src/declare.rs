//! What workers declared about their operations.

use std::collections::HashMap;

use ratchet_core::ledger::{Declaration, Declared, Served};
use ratchet_core::{HiddenPaths, LedgerError, OperationName, Priority, Version, serde_json};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection};

use crate::columns::{Columns, by_json};
use crate::error::{Fault, While as _};
use crate::row::as_json;
use crate::text::{escaped, unescaped};

/// Compares all declarations, each with those before it, before it writes any. The inner result is the caller's answer;
/// a refusal writes nothing.
pub(crate) async fn declare(
    connection: &mut PgConnection,
    declared: &[Declaration],
) -> Result<Result<(), LedgerError>, Fault> {
    // Workers that start together take turns; those that read are let through.
    const ONE_AT_A_TIME: &str = "LOCK TABLE ratchet.templates IN SHARE ROW EXCLUSIVE MODE";
    let doing = "record key templates";
    let mut transaction = connection.begin().await.while_trying(doing)?;
    sqlx::raw_sql(ONE_AT_A_TIME).execute(&mut *transaction).await.while_trying(doing)?;
    let mut known: HashMap<&OperationName, Vec<String>> = HashMap::new();
    for declaration in declared {
        let operation = &declaration.operation;
        if !known.contains_key(operation) {
            known.insert(operation, accepted(&mut transaction, operation).await?);
        }
        let known = known.entry(operation).or_default();
        match declaration.is_new(known) {
            Ok(false) => {}
            Ok(true) => {
                known.push(declaration.template.clone());
                record(&mut transaction, declaration).await?;
            }
            // What was written before it is rolled back, and now: the lock would stay for as long as the connection rests.
            Err(refused) => {
                transaction.rollback().await.while_trying(doing)?;
                return Ok(Err(refused));
            }
        }
        hide(&mut transaction, declaration).await?;
        describe(&mut transaction, declaration).await?;
    }
    transaction.commit().await.while_trying(doing)?;
    Ok(Ok(()))
}

/// In the order in which they were accepted.
async fn accepted(connection: &mut PgConnection, operation: &OperationName) -> Result<Vec<String>, Fault> {
    let templates: Vec<String> =
        sqlx::query_scalar("SELECT template FROM ratchet.templates WHERE operation = $1 ORDER BY id")
            .bind(operation.as_str())
            .fetch_all(connection)
            .await
            .while_trying("look key templates up")?;
    Ok(templates.iter().map(|template| unescaped(template)).collect())
}

async fn record(connection: &mut PgConnection, declaration: &Declaration) -> Result<(), Fault> {
    const ADD: &str = "INSERT INTO ratchet.templates (operation, template, new_identity) VALUES ($1, $2, $3)";
    sqlx::query(ADD)
        .bind(declaration.operation.as_str())
        .bind(escaped(&declaration.template))
        .bind(declaration.new_identity.as_deref().map(escaped))
        .execute(connection)
        .await
        .while_trying("record a key template")?;
    Ok(())
}

/// Keeps what the functions for other languages enqueue with; a worker that starts again writes nothing.
async fn describe(connection: &mut PgConnection, declaration: &Declaration) -> Result<(), Fault> {
    const WRITE: &str = "INSERT INTO ratchet.declarations AS d \
            (operation, version, template, policy, contract, priority, queue, volatile, forms, \
             concurrency) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
        ON CONFLICT (operation, version) DO UPDATE SET template = excluded.template, policy = excluded.policy, \
            contract = excluded.contract, priority = excluded.priority, queue = excluded.queue, \
            volatile = excluded.volatile, forms = excluded.forms, concurrency = excluded.concurrency \
        WHERE (d.template, d.policy, d.contract, d.priority, d.queue, d.volatile, d.forms, d.concurrency) IS DISTINCT FROM \
            (excluded.template, excluded.policy, excluded.contract, excluded.priority, excluded.queue, \
            excluded.volatile, excluded.forms, excluded.concurrency)";
    sqlx::query(WRITE)
        .bind(declaration.operation.as_str())
        .bind(declaration.version.as_str())
        .bind(escaped(&declaration.template))
        .bind(as_json(&declaration.policy)?)
        .bind(as_json(&declaration.contract)?)
        .bind(declaration.priority.0)
        .bind(declaration.queue.as_str())
        .bind(as_json(&declaration.volatile)?)
        .bind(as_json(&declaration.forms)?)
        .bind(declaration.concurrency.map(|limit| i64::from(limit.get())))
        .execute(connection)
        .await
        .while_trying("record what is declared")?;
    Ok(())
}

pub(crate) async fn declarations(connection: &mut PgConnection) -> Result<Vec<Declared>, Fault> {
    const READ: &str = "SELECT operation, version, policy, contract, priority, queue, volatile, concurrency \
        FROM ratchet.declarations ORDER BY operation, version";
    let rows = sqlx::query(READ).fetch_all(connection).await.while_trying("read what is declared")?;
    rows.iter().map(read).collect()
}

/// Reads a row of `ratchet.declarations`.
pub(crate) fn read(row: &PgRow) -> Result<Declared, Fault> {
    let row = Columns(row);
    let of = Served { operation: row.name("operation")?, version: row.name("version")? };
    Ok(Declared {
        of,
        policy: by_json(row.text("policy")?)?,
        contract: by_json(row.text("contract")?)?,
        priority: Priority(row.priority("priority")?),
        queue: row.name("queue")?,
        volatile: by_json(row.text("volatile")?)?,
        concurrency: row.limit("concurrency")?,
    })
}

/// Adds to what is hidden; a worker that starts again writes nothing.
async fn hide(connection: &mut PgConnection, declaration: &Declaration) -> Result<(), Fault> {
    const WRITE: &str = "INSERT INTO ratchet.hidden (operation, version, paths) VALUES ($1, $2, $3) \
         ON CONFLICT (operation, version) DO UPDATE SET paths = excluded.paths";
    let known = hidden(&mut *connection, &declaration.operation, &declaration.version).await?;
    let all =
        known.as_ref().map_or_else(|| declaration.hidden.clone(), |known| known.union(&declaration.hidden));
    if known.as_ref() == Some(&all) {
        return Ok(());
    }
    sqlx::query(WRITE)
        .bind(declaration.operation.as_str())
        .bind(declaration.version.as_str())
        .bind(as_json(&all)?)
        .execute(connection)
        .await
        .while_trying("record what is hidden")?;
    Ok(())
}

/// What is hidden of the inputs of an operation and version.
pub(crate) async fn hidden(
    connection: &mut PgConnection,
    operation: &OperationName,
    version: &Version,
) -> Result<Option<HiddenPaths>, Fault> {
    let paths: Option<String> =
        sqlx::query_scalar("SELECT paths FROM ratchet.hidden WHERE operation = $1 AND version = $2")
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
