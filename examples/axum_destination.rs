//! A payment service that keeps the promise of `Idempotency-Key`.
//!
//! `cargo run --example axum_destination --features inbound` serves until it is stopped; with `-- --demo` it sends itself
//! one request three times, and shows the one charge that was made.

use std::path::Path;

use axum::Router;
use axum::extract::{Extension, Json, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use ratchet::http::inbound::{IdempotencyLayer, NotExecuted};
use ratchet::http::reqwest;
use ratchet::sqlite::once;
use ratchet::{Context, Contract, OnceError, OutcomeKind, Ratchet};
use serde::{Deserialize, Serialize};
use sqlx::SqlitePool;
use tokio::net::TcpListener;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

#[derive(Deserialize)]
struct Order {
    invoice: String,
    cents: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Charge {
    id: i64,
}

/// Charges in one transaction with what the layer knows about the request. If the process dies after its COMMIT, the
/// repetition comes here again, and `once` gives what the first one did.
async fn charge(
    State(pool): State<SqlitePool>,
    Extension(ctx): Extension<Context>,
    Json(order): Json<Order>,
) -> Response {
    let charge = once(&pool, &ctx, "charge", async |tx| {
        let insert = sqlx::query("INSERT INTO charges (invoice, cents) VALUES (?1, ?2)");
        let done = insert.bind(&order.invoice).bind(order.cents).execute(tx).await?;
        Ok(Charge { id: done.last_insert_rowid() })
    });
    match charge.await {
        Ok(charge) => (StatusCode::CREATED, Json(charge)).into_response(),
        Err(error) => failed(&error),
    }
}

/// What was rolled back certainly did not happen, so that the request may come again; of the rest nobody knows.
fn failed(error: &OnceError) -> Response {
    match error.outcome().kind() {
        OutcomeKind::NotApplied => (Extension(NotExecuted), StatusCode::SERVICE_UNAVAILABLE).into_response(),
        _ => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Ledger and charges share one database.
async fn service(database: &Path) -> Result<(Router, IdempotencyLayer, SqlitePool)> {
    let url = format!("sqlite:{}", database.display());
    let ratchet = Ratchet::open(&url).await?;
    let pool = SqlitePool::connect(&url).await?;
    sqlx::raw_sql(
        "CREATE TABLE IF NOT EXISTS charges (id INTEGER PRIMARY KEY, invoice TEXT NOT NULL, cents INTEGER NOT NULL) STRICT",
    )
    .execute(&pool)
    .await?;
    // A real service has authenticated the client by now, and gives its account.
    let layer = IdempotencyLayer::new(ratchet.ledger().clone(), |_| Some("everybody".to_owned()))
        .destination(Contract::DATABASE);
    let router = Router::new().route("/charges", post(charge)).with_state(pool.clone()).layer(layer.clone());
    Ok((router, layer, pool))
}

#[tokio::main]
async fn main() -> Result {
    let folder = tempfile::tempdir()?;
    let (router, layer, pool) = service(&folder.path().join("shop.db")).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/charges", listener.local_addr()?);
    println!("listening {url}");
    let server = axum::serve(listener, router);
    if std::env::args().any(|argument| argument == "--demo") {
        tokio::spawn(async { server.await });
        return demo(&url, &pool).await;
    }
    println!("try, more than once:");
    println!(
        "  curl -i {url} -H 'Idempotency-Key: invoice-2048' --json '{{\"invoice\": \"inv_2048\", \"cents\": 14396}}'"
    );
    server.with_graceful_shutdown(async { tokio::signal::ctrl_c().await.unwrap_or_default() }).await?;
    // What clients have left behind is executed to its end, too.
    layer.finished().await;
    Ok(())
}

async fn demo(url: &str, pool: &SqlitePool) -> Result {
    let client = reqwest::Client::new();
    for _ in 0..3 {
        let order = serde_json::json!({ "invoice": "inv_2048", "cents": 14_396 });
        let request = client.post(url).header("Idempotency-Key", "invoice-2048").json(&order);
        let answer = request.send().await?;
        let replayed = if answer.headers().contains_key("idempotent-replayed") { ", replayed" } else { "" };
        println!("{}{replayed}: {}", answer.status(), answer.text().await?);
    }
    let charges: i64 = sqlx::query_scalar("SELECT count(*) FROM charges").fetch_one(pool).await?;
    println!("charges made: {charges}");
    if charges == 1 { Ok(()) } else { Err("one was wanted".into()) }
}
