//! Transactions of a real `psql`, beside a worker and a producer in Rust.

use std::time::Duration;

use ratchet::{Conflict, Enqueued, Ratchet};
use ratchet_test_postgres::{Database, shared};
use tokio::process::Command;

use crate::support::{Order, Working, order, printed, run, ship, wait_for_result, written_elsewhere};

/// Runs a script and gives the rows that it printed.
async fn psql(database: &Database<'_>, script: &str) -> Vec<String> {
    let mut command = Command::new("psql");
    command.arg("--no-psqlrc").args(["--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"]);
    printed(&run(command.arg(database.url()).args(["--command", script])).await)
}

fn enqueue(id: u64, price: &str) -> String {
    let input = written_elsewhere(id, price);
    format!(
        "SELECT concat_ws(' ', answer, state, result, reason) FROM ratchet.enqueue('ship', '1', $input${input}$input$)"
    )
}

fn transaction(id: u64, price: &str, end: &str) -> String {
    format!("BEGIN; INSERT INTO orders VALUES ({id}); {}; {end}", enqueue(id, price))
}

#[tokio::test]
async fn a_transaction_of_psql_is_all_or_nothing_and_its_commit_wakes_a_worker() {
    let database = shared().database().await;
    let producer = Ratchet::open(&database.url()).await.unwrap();
    psql(&database, "CREATE TABLE orders (id bigint PRIMARY KEY)").await;
    producer.declare(&ratchet::registry![ship]).await.unwrap();
    let working = Working::start(&database.url()).await;
    // It is there, and sleeps afterwards.
    let answer = ship::enqueue(&producer, order(9)).await.unwrap();
    assert!(matches!(answer, Enqueued::New { .. }), "{answer:?}");
    wait_for_result(&producer, 9).await;

    assert_eq!(psql(&database, &transaction(1, "19.9", "ROLLBACK")).await, ["new pending"]);
    assert_eq!(psql(&database, &transaction(2, "1.99e1", "COMMIT")).await, ["new pending"]);
    wait_for_result(&producer, 2).await;
    assert_eq!(psql(&database, "SELECT id FROM orders").await, ["2"]);
    working.end().await;

    let rolled_back = ship::enqueue(&producer, order(1)).await.unwrap();
    assert!(matches!(rolled_back, Enqueued::New { .. }), "{rolled_back:?}");
    // The same in both directions.
    assert_eq!(psql(&database, &enqueue(1, "19.90")).await, ["existing pending"]);
    assert_eq!(psql(&database, &enqueue(2, "19.90")).await, ["existing succeeded 2"]);
    // Another input in both directions.
    assert_eq!(psql(&database, &enqueue(1, "20")).await, ["conflict other_input"]);
    let mut dearer = order(2);
    dearer.lines[0].price = 20.0;
    let answer = ship::enqueue(&producer, dearer).await.unwrap();
    assert_eq!(answer, Enqueued::Conflict(Conflict::OtherInput));
}

#[tokio::test]
async fn a_sleeping_worker_is_woken_by_the_commit_and_not_by_a_rollback() {
    let database = shared().database().await;
    let ratchet = Ratchet::open(&database.url()).await.unwrap();
    ratchet.declare(&ratchet::registry![ship]).await.unwrap();
    psql(&database, "CREATE TABLE orders (id bigint PRIMARY KEY)").await;
    let mut sleeper = ratchet.ledger().wakeups();
    let soon = Duration::from_secs(10);
    // It listens by now.
    tokio::time::timeout(soon, sleeper.changed()).await.unwrap().unwrap();
    psql(&database, &transaction(1, "1", "ROLLBACK")).await;
    let woken = tokio::time::timeout(Duration::from_millis(300), sleeper.changed()).await;
    assert!(woken.is_err(), "a rollback woke somebody");
    psql(&database, &transaction(1, "1", "COMMIT")).await;
    tokio::time::timeout(soon, sleeper.changed()).await.expect("a commit wakes").unwrap();
}

#[tokio::test]
async fn the_record_is_the_one_that_the_code_would_have_made() {
    const ROW: &str = "SELECT concat_ws(' ', key, encode(fingerprint, 'hex'), priority, policy, contract) \
        FROM ratchet.records WHERE key = 'order:7:ship' AND namespace = ";
    let database = shared().database().await;
    let ratchet = Ratchet::open(&database.url()).await.unwrap();
    ratchet.declare(&ratchet::registry![ship]).await.unwrap();
    let namespace = ratchet::Namespace::new("rust").unwrap();
    let answer = ratchet.in_namespace(namespace).submit(ship::request(order(7))).await.unwrap();
    assert!(matches!(answer, Enqueued::New { .. }), "{answer:?}");
    psql(&database, &enqueue(7, "19.90")).await;
    let in_rust = psql(&database, &format!("{ROW}'rust'")).await;
    assert_eq!(psql(&database, &format!("{ROW}'default'")).await, in_rust);
    // The stored input has what is volatile, and is the first submission's.
    let stored = psql(&database, "SELECT input FROM ratchet.records WHERE namespace = 'default'").await;
    let stored: Order = serde_json::from_str(&stored[0]).unwrap();
    assert_eq!((stored.written_at, stored.lines[0].stock), (2, 3));
}
