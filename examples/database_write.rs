//! Books a seat in a database of the shop's own, while the worker is killed between the commit and its report.
//!
//! ```text
//! cargo run --example database_write
//! ```

#[allow(dead_code, reason = "each example uses a part of it")]
mod support;

use std::process::ExitCode;
use std::time::Duration;

use ratchet::sqlite::{migrate_effects, once};
use ratchet::{Context, Contract, Enqueued, Failure, Input, Ratchet, RetryPolicy, State};
use serde::{Deserialize, Serialize};
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteConnectOptions;

use support::{Result, Worker, parent_is_gone};

#[derive(Debug, Serialize, Deserialize, Input)]
struct BookSeat {
    show_id: i64,
    seat: i64,
}

const AT_ONCE: RetryPolicy = RetryPolicy::doubling(3, Duration::ZERO, Duration::ZERO);

#[ratchet::operation(
    name = "book_seat",
    version = "1",
    key = "show:<show_id>:seat:<seat>:book:v1",
    destination = Contract::DATABASE,
    retry = AT_ONCE
)]
async fn book_seat(ctx: Context, State(shop): State<SqlitePool>, input: BookSeat) -> Result<i64, Failure> {
    let booking = once(&shop, &ctx, "book", async |tx| {
        let insert = sqlx::query("INSERT INTO bookings (show_id, seat) VALUES (?1, ?2)");
        Ok(insert.bind(input.show_id).bind(input.seat).execute(tx).await?.last_insert_rowid())
    });
    let booking = booking.await?;
    println!("attempt {} has booking {booking}", ctx.attempt());
    if ctx.attempt() == 1 {
        // It is committed, and nobody has been told. Here the worker is killed.
        std::future::pending::<()>().await;
    }
    Ok(booking)
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => parent().await,
        [ledger, shop] => worker(ledger, shop).await,
        _ => Err("this example has no arguments".into()),
    }
}

async fn worker(ledger: &str, shop: &str) -> Result<ExitCode> {
    let shop = SqlitePool::connect_with(SqliteConnectOptions::new().filename(shop)).await?;
    let worker = Ratchet::open(ledger).await?.worker(ratchet::registry![book_seat]).state(shop);
    let worker = worker.lease(Duration::from_secs(1)).poll_interval(Duration::from_millis(50)).build()?;
    worker.run(parent_is_gone()).await?;
    Ok(ExitCode::SUCCESS)
}

async fn parent() -> Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let ledger = format!("sqlite:{}", folder.path().join("ratchet.db").display());
    let file = folder.path().join("shop.db").display().to_string();
    let shop =
        SqlitePool::connect_with(SqliteConnectOptions::new().filename(&file).create_if_missing(true)).await?;
    sqlx::raw_sql(
        "CREATE TABLE bookings (id INTEGER PRIMARY KEY AUTOINCREMENT, show_id INTEGER, seat INTEGER)",
    )
    .execute(&shop)
    .await?;
    migrate_effects(&mut *shop.acquire().await?).await?;
    let ratchet = Ratchet::open(&ledger).await?;
    let Enqueued::New { id } = book_seat::enqueue(&ratchet, BookSeat { show_id: 3, seat: 14 }).await? else {
        return Err("it was on record already".into());
    };

    let mut first = Worker::spawn(&[&ledger, &file])?;
    println!("{}", first.line().await?);
    first.kill().await?;
    println!("the worker is killed between the commit and its report");
    let mut second = Worker::spawn(&[&ledger, &file])?;
    println!("{}", second.line().await?);
    let record = second.settle(&ratchet, &id).await?;

    let bookings: i64 = sqlx::query_scalar("SELECT count(*) FROM bookings").fetch_one(&shop).await?;
    println!("attempts {}, bookings {bookings}, the record is {}", record.attempts, record.state.as_str());
    Ok(if (record.attempts, bookings) == (2, 1) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
