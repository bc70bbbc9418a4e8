//! The key templates that workers declared.

use std::collections::HashMap;

use ratchet_core::ledger::TemplateDeclaration;
use ratchet_core::{LedgerError, OperationName};
use sqlx::SqliteConnection;

use crate::error::{Fault, While as _};

/// Compares all declarations, each with those before it, before it writes any. The inner result is the caller's answer;
/// a refusal writes nothing.
pub(crate) async fn declare(
    connection: &mut SqliteConnection,
    declared: &[TemplateDeclaration],
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

async fn record(connection: &mut SqliteConnection, declaration: &TemplateDeclaration) -> Result<(), Fault> {
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
