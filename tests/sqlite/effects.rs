//! Effects in the shop's own database, from the handler to the row: the worker dies, or loses its lease, on the way.

use std::time::Duration;

use ratchet::{
    Cause, CauseKind, Context, Contract, Enqueued, Failure, OnceError, OnceErrorKind, Outcome, RecordId,
    RecordState, Registry, RetryPolicy, State, Stored, Token, decide,
};
use sqlx::SqlitePool;
use tokio::sync::{mpsc, oneshot};

use super::{Order, Shop, pool, shop};

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
        std::future::pending::<()>().await;
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

/// Has its effect, and does not commit before it is told to stop.
#[ratchet::operation(name = "linger", version = "1", key = "order:<id>:linger", destination = Contract::DATABASE)]
async fn linger(ctx: Context, State(shop): State<Lingering>, _input: Order) -> Result<(), Failure> {
    let lingering = ratchet::sqlite::once(&shop.pool, &ctx, "book", async |tx| {
        sqlx::query("INSERT INTO orders (id) VALUES (1)").execute(tx).await?;
        shop.inserted.send(ctx.token()).unwrap();
        ctx.cancellation().await;
        Ok(())
    });
    let ended = lingering.await;
    shop.refused.send(ended.as_ref().err().map(OnceError::kind)).unwrap();
    Ok(ended?)
}

#[derive(Debug, Clone)]
struct Lingering {
    pool: SqlitePool,
    inserted: mpsc::UnboundedSender<Token>,
    refused: mpsc::UnboundedSender<Option<OnceErrorKind>>,
}

#[tokio::test]
async fn an_attempt_that_lost_its_lease_meanwhile_does_not_commit() {
    // Its ledger is in another database, so that only the lease knows.
    let (ledger, shop) = (shop().await, shop().await);
    let pool = pool(&shop).await;
    let ((inserted, mut at), (refused, mut told)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
    let builder = ledger.ratchet.worker(ratchet::registry![linger]).lease(Duration::from_secs(1));
    let worker = builder.state(Lingering { pool: pool.clone(), inserted, refused }).build().unwrap();
    let Enqueued::New { id } = linger::enqueue(&ledger.ratchet, Order { id: 7 }).await.unwrap() else {
        panic!()
    };
    let (end, ended) = oneshot::channel::<()>();
    let working = tokio::spawn(worker.run(async {
        let _ = ended.await;
    }));
    let token = at.recv().await.unwrap();
    let cause = Cause::new(CauseKind::Handler, "decided elsewhere");
    let outcome = Outcome::Rejected { cause, after_lookup: false };
    let order = ratchet::ledger::Order { id, command: decide::Command::Settle { token, outcome } };
    ledger.ratchet.ledger().apply(vec![order]).await.unwrap();
    let refused = tokio::time::timeout(Duration::from_secs(30), told.recv()).await.unwrap();
    assert_eq!(refused, Some(Some(OnceErrorKind::LeaseLost)));
    assert_eq!(count(&pool, "SELECT count(*) FROM orders").await, 0);
    end.send(()).unwrap();
    working.await.unwrap().unwrap();
}
