//! The key templates that workers declared.

use std::collections::HashMap;

use ratchet_core::ledger::TemplateDeclaration;
use ratchet_core::{LedgerError, OperationName};
use sqlx::SqliteConnection;

use crate::error::{Fault, While as _};

/// Compares all declarations, each with those before it, before it writes any. The inner result is the caller's answer; it changes nothing.
pub(crate) async fn declare(
    connection: &mut SqliteConnection,
    declared: &[TemplateDeclaration],
) -> Result<Result<(), LedgerError>, Fault> {
    let mut differing: HashMap<&OperationName, &TemplateDeclaration> = HashMap::new();
    for declaration in declared {
        let on_record = match differing.get(&declaration.operation) {
            Some(earlier) => Some(earlier.template.clone()),
            None => on_record(connection, declaration).await?,
        };
        if let Err(refused) = declaration.check(on_record.as_deref()) {
            return Ok(Err(refused));
        }
        if on_record.as_ref() != Some(&declaration.template) {
            differing.insert(&declaration.operation, declaration);
        }
    }
    for declaration in differing.into_values() {
        record(connection, declaration).await?;
    }
    Ok(Ok(()))
}

async fn on_record(
    connection: &mut SqliteConnection,
    declaration: &TemplateDeclaration,
) -> Result<Option<String>, Fault> {
    sqlx::query_scalar("SELECT template FROM ratchet_templates WHERE operation = ?1")
        .bind(declaration.operation.as_str())
        .fetch_optional(connection)
        .await
        .while_trying("look a key template up")
}

async fn record(connection: &mut SqliteConnection, declaration: &TemplateDeclaration) -> Result<(), Fault> {
    const PUT: &str =
        "INSERT OR REPLACE INTO ratchet_templates (operation, template, new_identity) VALUES (?1, ?2, ?3)";
    sqlx::query(PUT)
        .bind(declaration.operation.as_str())
        .bind(&declaration.template)
        .bind(declaration.new_identity.as_deref())
        .execute(connection)
        .await
        .while_trying("record a key template")?;
    Ok(())
}
