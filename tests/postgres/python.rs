//! A transaction of a Python program with psycopg.

use std::path::{Path, PathBuf};

use ratchet::{Conflict, Enqueued, Ratchet};
use ratchet_test_postgres::shared;
use tokio::process::Command;

use crate::support::{Working, order, printed, run, ship, wait_for_result, written_elsewhere};

/// What a Python program does; it gets the database's address and an order as JSON.
const SHOP: &str = include_str!("shop.py");

/// The interpreter that `cargo xtask test` makes, or the one that `RATCHET_TEST_PYTHON` names.
fn interpreter() -> PathBuf {
    if let Some(named) = std::env::var_os("RATCHET_TEST_PYTHON") {
        return PathBuf::from(named);
    }
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/python/bin/python");
    assert!(
        made.is_file(),
        "this test needs a Python with psycopg 3: `cargo xtask python` makes one in target/tools/python, \
         or name yours in RATCHET_TEST_PYTHON"
    );
    made
}

async fn shop(url: &str, input: &str, end: &str) -> Vec<String> {
    printed(&run(Command::new(interpreter()).args(["-c", SHOP, url, input, end])).await)
}

#[tokio::test]
async fn a_transaction_of_psycopg_is_all_or_nothing_and_its_commit_wakes_a_worker() {
    let database = shared().database().await;
    let producer = Ratchet::open(&database.url()).await.unwrap();
    producer.declare(&ratchet::registry![ship]).await.unwrap();
    let working = Working::start(&database.url()).await;
    let url = database.url();
    // It is there, and sleeps afterwards.
    let answer = ship::enqueue(&producer, order(9)).await.unwrap();
    assert!(matches!(answer, Enqueued::New { .. }), "{answer:?}");
    wait_for_result(&producer, 9).await;

    assert_eq!(shop(&url, &written_elsewhere(1, "19.90"), "rollback").await, ["new", "orders: 0"]);
    assert_eq!(shop(&url, &written_elsewhere(2, "19.90"), "commit").await, ["new", "orders: 1"]);
    wait_for_result(&producer, 2).await;
    working.end().await;
    let rolled_back = ship::enqueue(&producer, order(1)).await.unwrap();
    assert!(matches!(rolled_back, Enqueued::New { .. }), "{rolled_back:?}");

    assert_eq!(shop(&url, &written_elsewhere(1, "19.90"), "commit").await, ["existing", "orders: 2"]);
    assert_eq!(shop(&url, &written_elsewhere(2, "20"), "commit").await, ["conflict", "orders: 2"]);
    let mut dearer = order(2);
    dearer.lines[0].price = 20.0;
    let answer = ship::enqueue(&producer, dearer).await.unwrap();
    assert_eq!(answer, Enqueued::Conflict(Conflict::OtherInput));
}
