//! What the tests of this crate share.
#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod effects;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ratchet_core::decide::{Answer, Command};
use ratchet_core::ledger::{Claim, Filter, Offer, Order, Served};
use ratchet_core::serde_json::json;
use ratchet_core::{
    Contract, Generation, Key, Ledger as _, LedgerError, Namespace, OperationName, Outcome, Payload, Policy,
    Priority, Queue, Record, RecordId, Submission, Submitted, Version, WorkerId,
};
use ratchet_sqlite::SqliteLedger;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, SqliteConnection};

pub(crate) const OPERATION: OperationName = OperationName::from_static("collect_invoice");
pub(crate) const VERSION: Version = Version::from_static("1");

pub(crate) fn url(directory: &Path) -> String {
    format!("sqlite://{}/ledger.db", directory.display())
}

/// A connection of somebody else's to the same database.
pub(crate) async fn other_connection(directory: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(directory.join("ledger.db"))
        .create_if_missing(true)
        .busy_timeout(Duration::from_millis(50));
    options.connect().await.expect("a connection")
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

pub(crate) async fn submit(ledger: &SqliteLedger, invoice: &str) -> Result<Submitted, LedgerError> {
    let mut answers = ledger.submit(vec![submission(invoice)]).await?;
    Ok(answers.pop().expect("one answer"))
}

pub(crate) async fn submit_new(ledger: &SqliteLedger, invoice: &str) {
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

pub(crate) async fn claim(ledger: &SqliteLedger, limit: usize) -> Vec<Record> {
    ledger.claim(claim_of(limit)).await.expect("a claim")
}

pub(crate) async fn settle(ledger: &SqliteLedger, record: &Record, outcome: Outcome) -> Answer {
    let command = Command::Settle { token: record.token, outcome };
    let order = Order { id: record.id.clone(), command };
    let mut answers = ledger.apply(vec![order]).await.expect("an answer");
    answers.pop().expect("one answer").expect("no refusal")
}

pub(crate) async fn all(ledger: &SqliteLedger) -> Vec<Record> {
    let filter = Filter { limit: usize::MAX, ..Filter::default() };
    ledger.list(filter).await.expect("a page").records
}

/// Opens a second ledger on the same database, as another process would.
pub(crate) async fn open(directory: &Path) -> Arc<SqliteLedger> {
    SqliteLedger::open(&url(directory)).await.expect("a ledger")
}
