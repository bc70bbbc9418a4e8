//! The face on a real file: transactions of the caller's, several programs on one file, nothing lost on the way.
#![cfg(feature = "sqlite")]
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

mod effects;
#[path = "../limits/mod.rs"]
mod limits;

use std::time::Duration;

use ratchet::{Enqueued, Failure, Input, LedgerError, Ratchet, RecordState};
use serde::{Deserialize, Serialize};
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteConnectOptions;
use tempfile::TempDir;
use tokio::sync::oneshot;

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Order {
    id: u64,
}

#[ratchet::operation(name = "ship", version = "1", key = "order:<id>:ship")]
async fn ship(input: Order) -> Result<u64, Failure> {
    Ok(input.id)
}

struct Shop {
    folder: TempDir,
    url: String,
    ratchet: Ratchet,
}

async fn shop() -> Shop {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("shop.db").display());
    let ratchet = Ratchet::open(&url).await.unwrap();
    Shop { folder, url, ratchet }
}

async fn pool(shop: &Shop) -> SqlitePool {
    let options = SqliteConnectOptions::new().filename(shop.folder.path().join("shop.db"));
    let pool = SqlitePool::connect_with(options).await.unwrap();
    sqlx::raw_sql("CREATE TABLE orders (id INTEGER PRIMARY KEY)").execute(&pool).await.unwrap();
    pool
}

async fn order_and_enqueue(pool: &SqlitePool, id: u64) -> sqlx::Transaction<'static, sqlx::Sqlite> {
    let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let row = i64::try_from(id).unwrap();
    sqlx::query("INSERT INTO orders (id) VALUES (?1)").bind(row).execute(&mut *transaction).await.unwrap();
    let answer = ratchet::sqlite::enqueue_in(&mut transaction, ship::request(Order { id })).await.unwrap();
    assert!(matches!(answer, Enqueued::New { .. }), "{answer:?}");
    transaction
}

/// Until the order is shipped, as a producer sees it.
async fn wait_for_result(ratchet: &Ratchet, id: u64) {
    let shipped = async {
        loop {
            let answer = ship::enqueue(ratchet, Order { id }).await.unwrap();
            if let Enqueued::Existing { result: Some(result), .. } = answer {
                return result;
            }
            tokio::task::yield_now().await;
        }
    };
    assert_eq!(tokio::time::timeout(Duration::from_secs(30), shipped).await.unwrap(), id);
}

#[tokio::test]
async fn an_operation_is_on_record_if_and_only_if_the_transaction_commits() {
    let shop = shop().await;
    let pool = pool(&shop).await;
    order_and_enqueue(&pool, 1).await.rollback().await.unwrap();
    order_and_enqueue(&pool, 2).await.commit().await.unwrap();
    let again = ship::enqueue(&shop.ratchet, Order { id: 2 }).await.unwrap();
    assert!(matches!(again, Enqueued::Existing { state: RecordState::Pending, .. }), "{again:?}");
    // Nobody else has told the worker, which looks by itself once an hour.
    let builder = shop.ratchet.worker(ratchet::registry![ship]).poll_interval(Duration::from_hours(1));
    let worker = builder.build().unwrap();
    let (end, ended) = oneshot::channel::<()>();
    let working = tokio::spawn(worker.run(async {
        let _ = ended.await;
    }));
    wait_for_result(&shop.ratchet, 2).await;
    order_and_enqueue(&pool, 3).await.commit().await.unwrap();
    shop.ratchet.wake();
    wait_for_result(&shop.ratchet, 3).await;
    end.send(()).unwrap();
    working.await.unwrap().unwrap();
    let rolled_back = ship::enqueue(&shop.ratchet, Order { id: 1 }).await.unwrap();
    assert!(matches!(rolled_back, Enqueued::New { .. }), "{rolled_back:?}");
}

#[tokio::test]
async fn a_worker_of_another_program_finds_what_was_enqueued() {
    let shop = shop().await;
    // Its own connections and its own signals, as in another process.
    let other = Ratchet::open(&shop.url).await.unwrap();
    let worker =
        other.worker(ratchet::registry![ship]).poll_interval(Duration::from_millis(10)).build().unwrap();
    let (end, ended) = oneshot::channel::<()>();
    let working = tokio::spawn(worker.run(async {
        let _ = ended.await;
    }));
    let Enqueued::New { .. } = ship::enqueue(&shop.ratchet, Order { id: 3 }).await.unwrap() else {
        panic!("expected a new record")
    };
    wait_for_result(&shop.ratchet, 3).await;
    end.send(()).unwrap();
    working.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_changed_template_is_refused_after_a_restart_too() {
    mod changed {
        use super::{Failure, Order};

        #[ratchet::operation(name = "ship", version = "2", key = "shipment:<id>")]
        pub(super) async fn ship(input: Order) -> Result<u64, Failure> {
            Ok(input.id)
        }
    }
    let shop = shop().await;
    let first = shop.ratchet.worker(ratchet::registry![ship]).build().unwrap();
    first.run(std::future::ready(())).await.unwrap();
    let reopened = Ratchet::open(&shop.url).await.unwrap();
    let second = reopened.worker(ratchet::registry![changed::ship]).build().unwrap();
    let error = second.run(std::future::ready(())).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the key template of `ship` is `shipment:<id>`, but records exist with `order:<id>:ship`: the same action would \
         get a second identity. Restore the template, use another name, or declare `new_identity = \"reason\"`"
    );
}

#[tokio::test]
async fn an_address_that_nobody_serves_is_refused_without_its_credentials() {
    for url in ["mysql://user:secret@localhost/db", "ratchet.db", ""] {
        let error = Ratchet::open(url).await.unwrap_err();
        assert!(matches!(error, LedgerError::Address { .. }), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_holds_over_two_programs_on_one_file() {
    let shop = shop().await;
    let other = Ratchet::open(&shop.url).await.unwrap();
    limits::hold_over_two_programs(shop.ratchet.clone(), other).await;
}
