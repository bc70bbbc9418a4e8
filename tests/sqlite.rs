//! The face on a real file: transactions of the caller's, several programs on one file, nothing lost on the way.
#![cfg(feature = "sqlite")]
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

use std::time::Duration;

use ratchet::{
    Context, Contract, Enqueued, Failure, Input, LedgerError, Ratchet, RecordId, RecordState, Registry,
    RetryPolicy, State, Stored,
};
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

/// Books once in the shop's own database, and falls silent before it reports the first time.
#[ratchet::operation(name = "book", version = "1", key = "order:<id>:book", destination = Contract::DATABASE,
    retry = AT_ONCE)]
async fn book(ctx: Context, State(pool): State<SqlitePool>, input: Order) -> Result<i64, Failure> {
    let booked = booked(&ctx, &pool, &input).await?;
    silent_at_first(&ctx).await;
    Ok(booked)
}

/// The same inside a step, before one that recognises nothing.
#[ratchet::operation(name = "book_and_print", version = "1", key = "order:<id>:print", destination = steps,
    retry = AT_ONCE)]
async fn book_and_print(ctx: Context, State(pool): State<SqlitePool>, input: Order) -> Result<i64, Failure> {
    let book = ctx.step("book").to(Contract::DATABASE);
    let booked = book.run(async |step: Context| booked(&step, &pool, &input).await).await?;
    let print = ctx.step("print");
    let attempt = print.run(async |step: Context| Ok(i64::from(step.attempt()))).await?;
    silent_at_first(&ctx).await;
    Ok(booked * 10 + attempt)
}

const AT_ONCE: RetryPolicy = RetryPolicy::doubling(3, Duration::ZERO, Duration::ZERO);

/// The number of the row, which tells a second one from the first.
async fn booked(ctx: &Context, pool: &SqlitePool, input: &Order) -> Result<i64, Failure> {
    let row = i64::try_from(input.id)?;
    let booked = ratchet::sqlite::once(pool, ctx, "book", async |tx| {
        let insert = sqlx::query("INSERT INTO bookings (order_id) VALUES (?1)").bind(row);
        Ok(insert.execute(tx).await?.last_insert_rowid())
    });
    Ok(booked.await?)
}

async fn silent_at_first(ctx: &Context) {
    if ctx.attempt() == 1 {
        std::future::pending().await
    }
}

/// Lets a worker run until the attempt has acted, stops it there, and lets another one go on.
async fn result_after_a_kill(
    shop: &Shop,
    pool: &SqlitePool,
    registry: fn() -> Registry,
    id: RecordId,
) -> i64 {
    let builder = || shop.ratchet.worker(registry()).state(pool.clone()).grace(Duration::ZERO);
    let acted = async {
        while count(pool, "SELECT count(*) FROM ratchet_effects").await == 0 || unfinished_steps(pool).await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    builder().build().unwrap().run(acted).await.unwrap();
    let done = async {
        loop {
            match shop.ratchet.find(id.clone()).await.unwrap() {
                Some(Stored::Record(record)) if record.state == RecordState::Succeeded => {
                    assert_eq!(record.attempts, 2);
                    return record.result.unwrap().decode().unwrap();
                }
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    let (end, ended) = oneshot::channel::<()>();
    let worker = builder().poll_interval(Duration::from_millis(5)).build().unwrap();
    let working = tokio::spawn(worker.run(async {
        let _ = ended.await;
    }));
    let result = tokio::time::timeout(Duration::from_secs(30), done).await.unwrap();
    end.send(()).unwrap();
    working.await.unwrap().unwrap();
    result
}

async fn unfinished_steps(pool: &SqlitePool) -> bool {
    let steps = "SELECT count(*) FROM ratchet_steps WHERE name = 'print' AND state = 'done'";
    count(pool, "SELECT count(*) FROM ratchet_steps").await > 0 && count(pool, steps).await == 0
}

async fn count(pool: &SqlitePool, statement: &'static str) -> i64 {
    sqlx::query_scalar(statement).fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn an_effect_between_whose_commit_and_report_the_worker_died_happens_once() {
    let shop = shop().await;
    let pool = pool(&shop).await;
    let table = "CREATE TABLE bookings (id INTEGER PRIMARY KEY AUTOINCREMENT, order_id INTEGER NOT NULL)";
    sqlx::raw_sql(table).execute(&pool).await.unwrap();
    let Enqueued::New { id } = book::enqueue(&shop.ratchet, Order { id: 7 }).await.unwrap() else { panic!() };
    assert_eq!(result_after_a_kill(&shop, &pool, || ratchet::registry![book], id).await, 1);
    assert_eq!(count(&pool, "SELECT count(*) FROM bookings").await, 1);
}

#[tokio::test]
async fn finished_steps_are_not_run_again_after_the_worker_died() {
    let shop = shop().await;
    let pool = pool(&shop).await;
    let table = "CREATE TABLE bookings (id INTEGER PRIMARY KEY AUTOINCREMENT, order_id INTEGER NOT NULL)";
    sqlx::raw_sql(table).execute(&pool).await.unwrap();
    let enqueued = book_and_print::enqueue(&shop.ratchet, Order { id: 7 }).await.unwrap();
    let Enqueued::New { id } = enqueued else { panic!() };
    // The first booking, and printed by the first attempt.
    assert_eq!(result_after_a_kill(&shop, &pool, || ratchet::registry![book_and_print], id).await, 11);
    assert_eq!(count(&pool, "SELECT count(*) FROM bookings").await, 1);
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
    for url in ["postgres://user:secret@localhost/db", "ratchet.db", ""] {
        let error = Ratchet::open(url).await.unwrap_err();
        assert!(matches!(error, LedgerError::Address { .. }), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
