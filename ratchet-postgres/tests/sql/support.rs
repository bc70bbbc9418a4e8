//! What these tests share.

use std::sync::Arc;

use ratchet_core::ledger::Declaration;
use ratchet_core::serde_json::{Value, json};
use ratchet_core::{
    Contract, Form, Generation, Key, Ledger as _, Namespace, OperationName, Payload, Policy, Priority, Queue,
    RecordId, Submission, Version,
};
use ratchet_postgres::PostgresLedger;
use ratchet_postgres::sqlx::{self, AssertSqlSafe, PgConnection, Row as _};
use ratchet_test_postgres::Database;

pub(crate) const OPERATION: OperationName = OperationName::from_static("collect_invoice");
pub(crate) const TEMPLATE: &str = "invoice:<id>:collect:v1";
pub(crate) const POLICY: Policy = Policy { reconciles: true, ..Policy::DEFAULT };

pub(crate) async fn database() -> Database<'static> {
    ratchet_test_postgres::shared().database().await
}

/// A ledger in which the versions 1 and 2 of the operation are declared.
pub(crate) async fn declared(database: &Database<'_>, policy: Policy) -> Arc<PostgresLedger> {
    let ledger = PostgresLedger::open(&database.url()).await.expect("a ledger");
    let version = |version| Declaration {
        forms: vec![Form::Text],
        policy: policy.clone(),
        contract: Contract::header("Idempotency-Key").terms(),
        priority: Priority(3),
        ..Declaration::new(OPERATION, Version::from_static(version), TEMPLATE)
    };
    ledger.declare(vec![version("1"), version("2")]).await.expect("declarations");
    ledger
}

pub(crate) fn id(namespace: &str, invoice: &str) -> RecordId {
    RecordId {
        namespace: Namespace::new(namespace).expect("a namespace"),
        operation: OPERATION,
        key: Key::parse(&format!("invoice:{invoice}:collect:v1")).expect("a key"),
        generation: Generation::FIRST,
    }
}

pub(crate) fn input(invoice: &str, cents: i64) -> Value {
    json!({ "id": invoice, "amount": { "cents": cents } })
}

/// What version 1 of the operation submits for this input.
pub(crate) fn submission(namespace: &str, invoice: &str, cents: i64) -> Submission {
    Submission {
        id: id(namespace, invoice),
        version: Version::from_static("1"),
        input: Payload::from_value(&input(invoice, cents), Payload::LARGEST_INPUT).expect("a payload"),
        compared: None,
        policy: POLICY,
        contract: Contract::header("Idempotency-Key").terms(),
        not_before: None,
        priority: Priority(3),
        queue: Queue::DEFAULT,
        group: None,
        after: None,
        renewal: None,
        trace: None,
    }
}

/// The first column of the only row.
pub(crate) async fn text(
    connection: &mut PgConnection,
    statement: &str,
) -> Result<Option<String>, sqlx::Error> {
    sqlx::query(AssertSqlSafe(statement)).persistent(false).fetch_one(connection).await?.try_get(0)
}

/// Code and detail of what the database refuses.
pub(crate) fn refusal(error: &sqlx::Error) -> (String, String) {
    use sqlx::postgres::PgDatabaseError;
    let error = error.as_database_error().unwrap_or_else(|| panic!("no refusal: {error}"));
    let error = error.downcast_ref::<PgDatabaseError>();
    (error.code().to_owned(), error.detail().unwrap_or_default().to_owned())
}
