//! Takes orders in transactions of the shop's own, and announces each to a warehouse, while the worker is killed between
//! the warehouse's answer and the note that it came.
//!
//! ```text
//! cargo run --example outbox
//! ```
//!
//! The operation is written in the transaction of the order, so there is no order without it and no operation without the
//! order; the worker is the relay. See `docs/outbox.md`.

#[allow(dead_code, reason = "each example uses a part of it")]
mod support;

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State as Shared;
use axum::http::HeaderMap;
use ratchet::sqlite::enqueue_in;
use ratchet::{Context, Contract, Enqueued, Failure, Input, Ratchet, RecordId, RetryPolicy, State};
use serde::{Deserialize, Serialize};
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteConnectOptions;

use support::{Result, Worker, parent_is_gone};

const WAREHOUSE: Contract = Contract::header("Idempotency-Key");
const AT_ONCE: RetryPolicy = RetryPolicy::doubling(3, Duration::ZERO, Duration::ZERO);

#[derive(Debug, Serialize, Deserialize, Input)]
struct Order {
    order_id: i64,
}

#[ratchet::operation(name = "announce_order", version = "1", key = "order:<order_id>:announce:v1",
    destination = WAREHOUSE, retry = AT_ONCE)]
async fn announce_order(
    ctx: Context,
    State(warehouse): State<Warehouse>,
    input: Order,
) -> Result<(), Failure> {
    warehouse.http.post(&warehouse.url).json(&input).idempotent(&ctx).deliver().await?;
    println!("attempt {} has the warehouse's answer", ctx.attempt());
    if ctx.attempt() == 1 {
        // It is sent, and not marked as sent. Here the worker is killed.
        std::future::pending::<()>().await;
    }
    Ok(())
}

#[derive(Debug, Clone)]
struct Warehouse {
    http: ratchet::http::Client,
    url: String,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => parent().await,
        [shop, url] => worker(shop, url.clone()).await,
        _ => Err("this example has no arguments".into()),
    }
}

async fn worker(shop: &str, url: String) -> Result<ExitCode> {
    let http = ratchet::http::Client::configured(ratchet::http::reqwest::ClientBuilder::no_proxy)?;
    let worker = Ratchet::open(shop).await?.worker(ratchet::registry![announce_order]);
    let worker = worker.state(Warehouse { http, url }).lease(Duration::from_secs(1));
    worker.poll_interval(Duration::from_millis(50)).build()?.run(parent_is_gone()).await?;
    Ok(ExitCode::SUCCESS)
}

async fn parent() -> Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("shop.db");
    let shop = format!("sqlite:{}", file.display());
    let ratchet = Ratchet::open(&shop).await?;
    let orders = SqlitePool::connect_with(SqliteConnectOptions::new().filename(&file)).await?;
    sqlx::raw_sql("CREATE TABLE orders (id INTEGER PRIMARY KEY)").execute(&orders).await?;
    let requests = Requests::default();
    let url = warehouse(requests.clone()).await?;

    let id = take_order(&orders, 7, true).await?;
    take_order(&orders, 8, false).await?;
    println!("order 7 is committed, order 8 is rolled back");
    let mut first = Worker::spawn(&[&shop, &url])?;
    println!("{}", first.line().await?);
    first.kill().await?;
    println!("the worker is killed before it notes the answer");
    let mut second = Worker::spawn(&[&shop, &url])?;
    println!("{}", second.line().await?);
    second.settle(&ratchet, &id).await?;

    let requests = requests.lock().unwrap_or_else(PoisonError::into_inner).clone();
    println!("requests by key: {requests:?}");
    let holds = requests.into_iter().eq([("order:7:announce:v1".to_owned(), 2)]);
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The order and what follows from it, in one transaction.
async fn take_order(orders: &SqlitePool, order_id: i64, commits: bool) -> Result<RecordId> {
    let mut transaction = orders.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::query("INSERT INTO orders (id) VALUES (?1)").bind(order_id).execute(&mut *transaction).await?;
    let enqueued = enqueue_in(&mut transaction, announce_order::request(Order { order_id })).await?;
    let Enqueued::New { id } = enqueued else { return Err("it was on record already".into()) };
    if commits {
        transaction.commit().await?;
    } else {
        transaction.rollback().await?;
    }
    Ok(id)
}

/// How often the warehouse received each key. It acts on the first of them.
type Requests = Arc<Mutex<HashMap<String, u32>>>;

async fn warehouse(requests: Requests) -> Result<String> {
    let announced = async |Shared(requests): Shared<Requests>, headers: HeaderMap| {
        let key =
            headers.get("idempotency-key").and_then(|key| key.to_str().ok()).unwrap_or_default().to_owned();
        *requests.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += 1;
    };
    let app = axum::Router::new().route("/orders", axum::routing::post(announced)).with_state(requests);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/orders", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(url)
}
