//! Locks of several records are taken in the order of their identities, whichever way a call comes by them.

use std::time::Duration;

use ratchet_core::decide::Command;
use ratchet_core::ledger::Order;
use ratchet_core::{Ledger as _, Record, Token};
use ratchet_postgres::sqlx::{self, Connection as _, PgConnection};

use crate::support::{claim, database, execute, id, open, submit_new};

/// Holds the record that is first by its identity and last by its row, has the orders carried out meanwhile, and looks that
/// the other one is free for as long as they wait.
async fn waits_for_the_first_identity(connection: &mut PgConnection, other: &mut PgConnection) {
    const WAITING: &str = "SELECT count(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()";
    const FREE: &str = "SELECT count(*) FROM (SELECT 1 FROM ratchet.progress AS p \
        JOIN ratchet.records AS r ON r.id = p.record_id WHERE r.key LIKE '%:b:%' FOR UPDATE OF p SKIP LOCKED) AS free";
    let mut seen = 0;
    while seen < 5 {
        let waiting: i64 = sqlx::query_scalar(WAITING).fetch_one(&mut *connection).await.unwrap();
        if waiting > 0 {
            seen += 1;
            let free: i64 = sqlx::query_scalar(FREE).fetch_one(&mut *other).await.unwrap();
            assert_eq!(free, 1, "the second identity is locked before the first");
        }
        tokio::task::yield_now().await;
    }
}

fn renewals(records: &[Record]) -> Vec<Order> {
    let renew = |record: &Record| Order {
        id: record.id.clone(),
        command: Command::Renew { token: record.token, duration: Duration::from_mins(2) },
    };
    records.iter().map(renew).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_decided_from_memory_and_what_is_loaded_wait_for_the_same_record_first() {
    let database = database().await;
    let (ours, theirs) = (open(&database).await, open(&database).await);
    // The rows are numbered the other way round than the identities.
    for invoice in ["b", "a"] {
        submit_new(&ours, invoice).await;
    }
    let leased = claim(&ours, 2).await;
    assert_eq!(leased.len(), 2);
    assert_eq!(leased[0].token, Token::new(1));
    let (mut holder, mut looks, mut other) =
        (database.connect().await, database.connect().await, database.connect().await);
    // The program that leased them decides from memory, the other one loads them.
    for ledger in [&ours, &theirs] {
        let mut held = holder.begin().await.unwrap();
        execute(
            &mut held,
            "SELECT 1 FROM ratchet.progress WHERE record_id = (SELECT id FROM ratchet.records \
            WHERE key LIKE '%:a:%') FOR UPDATE",
        )
        .await;
        let (ledger, orders) = (ledger.clone(), renewals(&leased));
        let renewing = tokio::spawn(async move { ledger.apply(orders).await });
        let waits = waits_for_the_first_identity(&mut looks, &mut other);
        tokio::time::timeout(Duration::from_secs(30), waits).await.expect("nobody waits");
        held.rollback().await.unwrap();
        let answers = renewing.await.unwrap().unwrap();
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    }
    assert!(id("a") < id("b"));
}
