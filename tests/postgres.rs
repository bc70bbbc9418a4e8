//! Operations with a ledger in `PostgreSQL`, as a user of this crate writes them.
#![cfg(feature = "postgres")]
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

#[path = "limits/mod.rs"]
mod limits;

use std::time::Duration;

use ratchet::postgres::sqlx::PgPool;
use ratchet::{Enqueued, Failure, Input, Ratchet};
use ratchet_test_postgres::shared;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Order {
    id: u64,
}

#[ratchet::operation(name = "ship", version = "1", key = "order:<id>:ship")]
async fn ship(input: Order) -> Result<u64, Failure> {
    Ok(input.id)
}

/// Until the order is shipped, as a producer sees it.
async fn wait_for_result(ratchet: &Ratchet, id: u64) {
    let shipped = async {
        loop {
            let answer = ship::enqueue(ratchet, Order { id }).await.unwrap();
            if let Enqueued::Existing { result: Some(result), .. } = answer {
                return result;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert_eq!(tokio::time::timeout(Duration::from_secs(30), shipped).await.unwrap(), id);
}

#[tokio::test]
async fn a_worker_of_another_program_is_woken_by_what_commits() {
    let database = shared().database().await;
    let producer = Ratchet::open(&database.url()).await.unwrap();
    // Its own connections and its own signals, as in another process; it looks by itself once an hour.
    let other = Ratchet::open(&database.url()).await.unwrap();
    let builder = other.worker(ratchet::registry![ship]).poll_interval(Duration::from_hours(1));
    let worker = builder.build().unwrap();
    let (end, ended) = oneshot::channel::<()>();
    let working = tokio::spawn(worker.run(async {
        let _ = ended.await;
    }));
    let answer = ship::enqueue(&producer, Order { id: 1 }).await.unwrap();
    assert!(matches!(answer, Enqueued::New { .. }), "{answer:?}");
    wait_for_result(&producer, 1).await;

    let pool = PgPool::connect(&database.url()).await.unwrap();
    for (id, commits) in [(2, false), (3, true)] {
        let mut transaction = pool.begin().await.unwrap();
        let told =
            ratchet::postgres::enqueue_in(&mut transaction, ship::request(Order { id })).await.unwrap();
        assert!(matches!(told, Enqueued::New { .. }), "{told:?}");
        if commits { transaction.commit().await.unwrap() } else { transaction.rollback().await.unwrap() }
    }
    wait_for_result(&producer, 3).await;
    end.send(()).unwrap();
    working.await.unwrap().unwrap();
    let rolled_back = ship::enqueue(&producer, Order { id: 2 }).await.unwrap();
    assert!(matches!(rolled_back, Enqueued::New { .. }), "{rolled_back:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_holds_over_two_programs_on_one_database() {
    let database = shared().database().await;
    let one = Ratchet::open(&database.url()).await.unwrap();
    let other = Ratchet::open(&database.url()).await.unwrap();
    limits::hold_over_two_programs(one, other).await;
}
