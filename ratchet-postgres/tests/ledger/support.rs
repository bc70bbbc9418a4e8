//! What the tests of this crate share.

use std::sync::Arc;
use std::time::Duration;

use ratchet_core::decide::{Answer, Command};
use ratchet_core::ledger::{Claim, Filter, Offer, Order, Served};
use ratchet_core::serde_json::json;
use ratchet_core::{
    Contract, Generation, Key, Ledger as _, LedgerError, Namespace, OperationName, Outcome, Payload, Policy,
    Priority, Queue, Record, RecordId, Submission, Submitted, Version, WorkerId,
};
use ratchet_postgres::PostgresLedger;
use ratchet_postgres::sqlx::{AssertSqlSafe, PgConnection, raw_sql};
use ratchet_test_postgres::Database;

pub(crate) const OPERATION: OperationName = OperationName::from_static("collect_invoice");
pub(crate) const VERSION: Version = Version::from_static("1");

/// An empty database of the server that all tests share.
pub(crate) async fn database() -> Database<'static> {
    ratchet_test_postgres::shared().database().await
}

/// Opens a ledger, as another process would.
pub(crate) async fn open(database: &Database<'_>) -> Arc<PostgresLedger> {
    PostgresLedger::open(&database.url()).await.expect("a ledger")
}

pub(crate) async fn execute(connection: &mut PgConnection, statement: &str) -> u64 {
    let done = raw_sql(AssertSqlSafe(statement)).execute(connection).await;
    done.unwrap_or_else(|error| panic!("{statement}: {error}")).rows_affected()
}

pub(crate) fn id(invoice: &str) -> RecordId {
    RecordId {
        namespace: Namespace::DEFAULT,
        operation: OPERATION,
        key: Key::parse(&format!("invoice:{invoice}:collect:v1")).expect("a key"),
        generation: Generation::FIRST,
    }
}

pub(crate) fn submission(invoice: &str) -> Submission {
    Submission {
        id: id(invoice),
        version: VERSION,
        input: payload(invoice),
        compared: None,
        policy: Policy::DEFAULT,
        contract: Contract::header("Idempotency-Key").terms(),
        not_before: None,
        queue: Queue::DEFAULT,
        priority: Priority(0),
        group: None,
        after: None,
        renewal: None,
        trace: None,
    }
}

pub(crate) fn payload(text: &str) -> Payload {
    Payload::encode(&json!({ "text": text }), Payload::LARGEST_INPUT).expect("a payload")
}

pub(crate) async fn submit(ledger: &PostgresLedger, invoice: &str) -> Result<Submitted, LedgerError> {
    let mut answers = ledger.submit(vec![submission(invoice)]).await?;
    Ok(answers.pop().expect("one answer"))
}

pub(crate) async fn submit_new(ledger: &PostgresLedger, invoice: &str) {
    let answer = submit(ledger, invoice).await.expect("an answer");
    assert!(matches!(answer, Submitted::New { .. }), "{answer:?}");
}

pub(crate) fn claim_of(limit: usize) -> Claim {
    Claim {
        namespace: Namespace::DEFAULT,
        offers: vec![Offer {
            served: Served { operation: OPERATION, version: VERSION },
            queue: Queue::DEFAULT,
            at_most: None,
        }],
        worker: WorkerId::from_static("worker-1"),
        limit,
        lease: Duration::from_mins(1),
        start_if_safe: true,
    }
}

pub(crate) async fn claim(ledger: &PostgresLedger, limit: usize) -> Vec<Record> {
    ledger.claim(claim_of(limit)).await.expect("a claim")
}

pub(crate) async fn settle(ledger: &PostgresLedger, record: &Record) -> Result<Answer, LedgerError> {
    let command = Command::Settle { token: record.token, outcome: Outcome::done(payload("paid")) };
    let mut answers = ledger.apply(vec![Order { id: record.id.clone(), command }]).await?;
    Ok(answers.pop().expect("one answer").expect("no refusal"))
}

pub(crate) async fn all(ledger: &PostgresLedger) -> Vec<Record> {
    let filter = Filter { limit: usize::MAX, ..Filter::default() };
    ledger.list(filter).await.expect("a page").records
}
