//! The payment service: a separate process with its own database, which honours `Idempotency-Key` as payment services
//! do, and charges again for every request that has none.

use std::path::Path;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Row, SqlitePool};
use tokio::net::TcpListener;

use crate::operations::{CollectInvoice, Receipt};
use crate::{Result, standard_input_closed};

/// How long an answer takes to reach the worker after the charge is made.
const WAY_BACK: Duration = Duration::from_millis(20);

pub(crate) async fn run(database: &Path) -> Result<()> {
    let options = SqliteConnectOptions::new()
        .filename(database)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    // One connection: requests are charged one after the other, so that no two can share a key.
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
    sqlx::raw_sql(
        "CREATE TABLE requests (id INTEGER PRIMARY KEY, invoice_id TEXT NOT NULL) STRICT;
         CREATE TABLE charges (id INTEGER PRIMARY KEY, invoice_id TEXT NOT NULL, amount_cents INTEGER NOT NULL,
                               idempotency_key TEXT UNIQUE) STRICT;",
    )
    .execute(&pool)
    .await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening http://{}", listener.local_addr()?);
    let service = Router::new().route("/charges", post(charge)).with_state(pool);
    axum::serve(listener, service).with_graceful_shutdown(standard_input_closed()).await?;
    Ok(())
}

type Answer = std::result::Result<(StatusCode, axum::Json<Receipt>), StatusCode>;

async fn charge(
    State(pool): State<SqlitePool>,
    headers: HeaderMap,
    axum::Json(invoice): axum::Json<CollectInvoice>,
) -> Answer {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
    let (status, charge_id) = book(&pool, key, &invoice)
        .await
        .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?
        .ok_or(StatusCode::UNPROCESSABLE_ENTITY)?;
    if status == StatusCode::CREATED {
        // The charge is made and the answer is not there yet: for a worker this is the worst moment to die.
        println!("charged {}", invoice.invoice_id);
    }
    tokio::time::sleep(WAY_BACK).await;
    Ok((status, axum::Json(Receipt { charge_id: format!("ch_{charge_id}") })))
}

/// Charges once per key, and whenever there is no key. `None` means that the key belongs to another charge.
async fn book(
    pool: &SqlitePool,
    key: Option<&str>,
    invoice: &CollectInvoice,
) -> std::result::Result<Option<(StatusCode, i64)>, sqlx::Error> {
    let amount = i64::try_from(invoice.amount_cents).unwrap_or(i64::MAX);
    let mut tx = pool.begin().await?;
    sqlx::query("INSERT INTO requests (invoice_id) VALUES (?1)")
        .bind(&invoice.invoice_id)
        .execute(&mut *tx)
        .await?;
    let known = sqlx::query("SELECT id, invoice_id, amount_cents FROM charges WHERE idempotency_key = ?1")
        .bind(key)
        .fetch_optional(&mut *tx)
        .await?;
    let booked = if let Some(row) = known {
        let same = row.get::<String, _>(1) == invoice.invoice_id && row.get::<i64, _>(2) == amount;
        same.then(|| (StatusCode::OK, row.get(0)))
    } else {
        let inserted = sqlx::query(
            "INSERT INTO charges (invoice_id, amount_cents, idempotency_key) VALUES (?1, ?2, ?3)",
        )
        .bind(&invoice.invoice_id)
        .bind(amount)
        .bind(key)
        .execute(&mut *tx)
        .await?;
        Some((StatusCode::CREATED, inserted.last_insert_rowid()))
    };
    tx.commit().await?;
    Ok(booked)
}
