//! `once` against the four statements that such a transaction needs at the least: BEGIN, a row that keeps duplicates out,
//! the effect, COMMIT.
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

mod ratio;

use std::time::{Duration, Instant};

use ratchet::sqlite::{migrate, migrate_effects, once};
use ratchet::{Context, Contract, Failure};
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use tempfile::TempDir;
use tokio::runtime::Runtime;

const EFFECTS: u32 = 1_000;

#[ratchet::operation(name = "book", version = "1", key = "show:<show>:seat:<seat>:book:v1", destination = Contract::DATABASE)]
async fn book(show: u32, seat: u32) -> Result<u32, Failure> {
    Ok(show + seat)
}

fn main() {
    let runtime = Runtime::new().expect("a runtime");
    for synchronous in [SqliteSynchronous::Full, SqliteSynchronous::Off] {
        ratio::header(&format!("SQLite with synchronous = {synchronous:?}, per effect"));
        let bare = || runtime.block_on(bare(synchronous));
        ratio::compare("once", EFFECTS, || runtime.block_on(first(synchronous, false)), bare);
        ratio::compare(
            "once beside its ledger",
            EFFECTS,
            || runtime.block_on(first(synchronous, true)),
            bare,
        );
        ratio::compare("once for a duplicate", EFFECTS, || runtime.block_on(again(synchronous)), bare);
    }
}

async fn pool(synchronous: SqliteSynchronous) -> (SqlitePool, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let options = SqliteConnectOptions::new()
        .filename(folder.path().join("shop.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous);
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await.expect("a pool");
    let tables = "CREATE TABLE bookings (id INTEGER PRIMARY KEY, seat INTEGER NOT NULL) STRICT;
         CREATE TABLE guards (key TEXT PRIMARY KEY, result TEXT NOT NULL) STRICT, WITHOUT ROWID;";
    sqlx::raw_sql(tables).execute(&pool).await.expect("tables");
    (pool, folder)
}

async fn first(synchronous: SqliteSynchronous, has_ledger: bool) -> Duration {
    let (pool, _folder) = pool(synchronous).await;
    let mut connection = pool.acquire().await.expect("a connection");
    if has_ledger {
        migrate(&mut connection).await.expect("tables");
    } else {
        migrate_effects(&mut connection).await.expect("a table");
    }
    drop(connection);
    round(&pool).await
}

async fn again(synchronous: SqliteSynchronous) -> Duration {
    let (pool, _folder) = pool(synchronous).await;
    migrate_effects(&mut pool.acquire().await.expect("a connection")).await.expect("a table");
    round(&pool).await;
    round(&pool).await
}

async fn round(pool: &SqlitePool) -> Duration {
    let contexts: Vec<Context> = (0..EFFECTS).map(|seat| book::test_context(&7, &seat)).collect();
    let started = Instant::now();
    for (seat, ctx) in (0_i64..).zip(&contexts) {
        let booked = once(pool, ctx, "book", async |tx| {
            let insert = sqlx::query("INSERT INTO bookings (seat) VALUES (?1)").bind(seat);
            Ok(insert.execute(tx).await?.last_insert_rowid())
        });
        assert_eq!(booked.await.expect("booked"), seat + 1);
    }
    started.elapsed()
}

async fn bare(synchronous: SqliteSynchronous) -> Duration {
    let (pool, _folder) = pool(synchronous).await;
    let started = Instant::now();
    for seat in 0..i64::from(EFFECTS) {
        let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await.expect("begun");
        let guard = sqlx::query("INSERT INTO guards (key, result) VALUES (?1, ?2) ON CONFLICT DO NOTHING");
        let guarded =
            guard.bind(format!("default/book/show:7:seat:{seat}:book:v1")).bind((seat + 1).to_string());
        assert_eq!(guarded.execute(&mut *transaction).await.expect("guarded").rows_affected(), 1);
        let insert = sqlx::query("INSERT INTO bookings (seat) VALUES (?1)").bind(seat);
        insert.execute(&mut *transaction).await.expect("booked");
        transaction.commit().await.expect("committed");
    }
    started.elapsed()
}
