//! The outbox pattern on both stores: `docs/outbox.md` tells it.
#![cfg(all(feature = "http", feature = "sqlite", feature = "testing"))]

mod destination;
#[cfg(feature = "restate")]
#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../restate/support.rs"]
mod engine;
#[macro_use]
mod pattern;
#[cfg(feature = "restate")]
#[path = "../../ratchet-restate/tests/support/server.rs"]
mod server;

use std::time::Duration;

use ratchet::{Context, Contract, Enqueued, Failure, Input, Ratchet, RecordId, RetryPolicy, State, Stored};
use serde::{Deserialize, Serialize};

use destination::Destination;
#[cfg(feature = "restate")]
use engine::Engine;

const WAREHOUSE: Contract = Contract::header("Idempotency-Key");
const AT_ONCE: RetryPolicy = RetryPolicy::doubling(3, Duration::ZERO, Duration::ZERO);

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Order {
    order_id: i64,
}

/// Where the operation is written in the transaction of the order.
#[ratchet::operation(name = "announce_order", version = "1", key = "order:<order_id>:announce:v1",
    destination = WAREHOUSE, retry = AT_ONCE)]
async fn announce_order(
    ctx: Context,
    State(warehouse): State<Warehouse>,
    input: Order,
) -> Result<(), Failure> {
    warehouse.announce(&ctx, input.order_id).await?;
    if ctx.attempt() == 1 && warehouse.falls_silent {
        // It is sent, and never marked as sent.
        std::future::pending::<()>().await;
    }
    Ok(())
}

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Message {
    message_id: i64,
    order_id: i64,
}

/// Where the ledger is elsewhere: its identity is that of the row in the outbox.
#[ratchet::operation(name = "relay_message", version = "1", key = "outbox:<message_id>:relay:v1",
    destination = WAREHOUSE, retry = AT_ONCE)]
async fn relay_message(
    ctx: Context,
    State(warehouse): State<Warehouse>,
    input: Message,
) -> Result<(), Failure> {
    warehouse.announce(&ctx, input.order_id).await
}

#[derive(Debug, Clone)]
struct Warehouse {
    http: ratchet::http::Client,
    url: String,
    falls_silent: bool,
}

impl Warehouse {
    fn at(destination: &Destination, falls_silent: bool) -> Self {
        let http =
            ratchet::http::Client::configured(ratchet::http::reqwest::ClientBuilder::no_proxy).unwrap();
        Self { http, url: destination.url.clone(), falls_silent }
    }

    async fn announce(&self, ctx: &Context, order_id: i64) -> Result<(), Failure> {
        self.http.post(&self.url).json(&order_id).idempotent(ctx).deliver().await.map(drop)
    }
}

fn worker(ratchet: &Ratchet, warehouse: Warehouse) -> ratchet::Worker {
    let worker = ratchet.worker(ratchet::registry![announce_order, relay_message]).state(warehouse);
    worker.lease(Duration::from_secs(1)).poll_interval(Duration::from_millis(20)).build().unwrap()
}

/// Runs a worker until it has sent, and takes its threads from under it.
async fn send_and_die(ratchet: Ratchet, destination: &mut Destination) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.spawn(worker(&ratchet, Warehouse::at(destination, true)).run(std::future::pending()));
    destination.answered().await;
    runtime.shutdown_background();
}

/// Runs a worker until the record is settled.
async fn settle(ratchet: &Ratchet, destination: &Destination, id: &RecordId) -> ratchet::Record {
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let working = tokio::spawn(worker(ratchet, Warehouse::at(destination, true)).run(async {
        let _ = ended.await;
    }));
    let settled = async {
        loop {
            match ratchet.find(id.clone()).await.unwrap() {
                Some(Stored::Record(record)) if record.state.is_settled() => return *record,
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    let record = tokio::time::timeout(Duration::from_secs(30), settled).await.unwrap();
    end.send(()).unwrap();
    working.await.unwrap().unwrap();
    record
}

fn id_of<T: std::fmt::Debug>(enqueued: Enqueued<T>) -> RecordId {
    match enqueued {
        Enqueued::New { id } | Enqueued::Existing { id, .. } => id,
        other => panic!("expected a record, got {other:?}"),
    }
}

outbox! {
    mod sqlite;
    pool = sqlx::SqlitePool;
    enqueue_in = ratchet::sqlite::enqueue_in;
    database = {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("shop.db").display());
        (folder, url)
    };
}

#[cfg(feature = "postgres")]
outbox! {
    mod postgres;
    pool = sqlx::PgPool;
    enqueue_in = ratchet::postgres::enqueue_in;
    database = {
        let database = ratchet_test_postgres::shared().database().await;
        let url = database.url();
        (database, url)
    };
}
