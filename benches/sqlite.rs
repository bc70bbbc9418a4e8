//! The `SQLite` ledger against a bare sqlx loop with the same durability and the same number of commits.
//!
//! The bare side holds rows of the same shape and knows neither versions nor contracts nor attempts nor a decision: it is
//! what the work costs at the least when it is written by hand, one statement per row.
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

mod jobs;
mod ratio;

use std::sync::Arc;
use std::time::{Duration, Instant};

use jobs::{Job, fill, job_of};
use ratchet::Ratchet;
use ratchet::sqlite::SqliteLedger;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, SqliteConnection};
use tempfile::TempDir;
use tokio::runtime::Runtime;

const RECORDS: u32 = 4_000;
const BATCH: u32 = 100;

fn main() {
    let runtime = Runtime::new().expect("a runtime");
    ratio::header("SQLite with synchronous = FULL, per record");
    let commits = RECORDS / BATCH;
    ratio::compare(
        "enqueue, 100 in a call",
        RECORDS,
        || runtime.block_on(enqueue_batches()),
        || runtime.block_on(bare_enqueue(commits)),
    );
    for callers in [1, 16, 64] {
        let records = if callers == 1 { RECORDS / 8 } else { RECORDS };
        // As many commits as ours needed, measured once before.
        let (_, commits) = runtime.block_on(enqueue_from(callers, records));
        ratio::compare(
            &format!("enqueue, {callers} callers ({} a commit)", records / commits),
            records,
            || runtime.block_on(enqueue_from(callers, records)).0,
            || runtime.block_on(bare_enqueue_of(records, commits)),
        );
    }
    for concurrency in [16, 128] {
        let (_, commits) = runtime.block_on(drain(concurrency));
        ratio::compare(
            &format!("drain, {concurrency} at once ({} a commit)", 2 * RECORDS / commits),
            RECORDS,
            || runtime.block_on(drain(concurrency)).0,
            || runtime.block_on(bare_drain(commits)),
        );
    }
}

struct Store {
    ratchet: Ratchet,
    ledger: Arc<SqliteLedger>,
    _folder: TempDir,
}

async fn store() -> Store {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("ratchet.db").display());
    let ledger = SqliteLedger::open(&url).await.expect("a ledger");
    Store { ratchet: Ratchet::with_ledger(ledger.clone()), ledger, _folder: folder }
}

async fn enqueue_batches() -> Duration {
    let store = store().await;
    let started = Instant::now();
    fill(&store.ratchet, RECORDS, BATCH).await;
    started.elapsed()
}

/// How long it took and how many commits it needed.
async fn enqueue_from(callers: u32, records: u32) -> (Duration, u32) {
    let store = store().await;
    let before = store.ledger.commits();
    let started = Instant::now();
    jobs::enqueue_from(&store.ratchet, callers, records).await;
    (started.elapsed(), u32::try_from(store.ledger.commits() - before).expect("a number"))
}

async fn drain(concurrency: usize) -> (Duration, u32) {
    let store = store().await;
    fill(&store.ratchet, RECORDS, BATCH).await;
    let before = store.ledger.commits();
    let started = Instant::now();
    jobs::drain(&store.ratchet, concurrency).await;
    (started.elapsed(), u32::try_from(store.ledger.commits() - before).expect("a number"))
}

async fn bare() -> (SqliteConnection, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut connection = SqliteConnectOptions::new()
        .filename(folder.path().join("bare.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("cache_size", "-16384")
        .connect()
        .await
        .expect("a connection");
    sqlx::raw_sql(
        "CREATE TABLE jobs (id INTEGER PRIMARY KEY, operation TEXT NOT NULL, key TEXT NOT NULL, version TEXT NOT NULL,
             fingerprint BLOB NOT NULL, state TEXT NOT NULL, ready_at INTEGER NOT NULL, token INTEGER NOT NULL,
             lease_until INTEGER, result TEXT, input TEXT NOT NULL) STRICT;
         CREATE UNIQUE INDEX jobs_key ON jobs (operation, key);
         CREATE INDEX jobs_pending ON jobs (operation, version, ready_at) WHERE state = 'pending';",
    )
    .execute(&mut connection)
    .await
    .expect("tables");
    (connection, folder)
}

async fn bare_enqueue(commits: u32) -> Duration {
    bare_enqueue_of(RECORDS, commits).await
}

async fn bare_enqueue_of(records: u32, commits: u32) -> Duration {
    let (mut connection, _folder) = bare().await;
    let started = Instant::now();
    bare_fill(&mut connection, records, commits).await;
    started.elapsed()
}

async fn bare_fill(connection: &mut SqliteConnection, records: u32, commits: u32) {
    for ids in chunks(records, commits) {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.expect("begun");
        for id in ids {
            let input = serde_json::to_string(&job_of(id)).expect("JSON");
            let inserted = sqlx::query(
                "INSERT INTO jobs (operation, key, version, fingerprint, state, ready_at, token, input)
                 VALUES ('job', ?1, '1', ?2, 'pending', 0, 0, ?3) ON CONFLICT DO NOTHING",
            )
            .bind(format!("job:{id}:v1"))
            .bind([7_u8; 32].as_slice())
            .bind(input)
            .execute(&mut *transaction)
            .await
            .expect("inserted");
            assert_eq!(inserted.rows_affected(), 1);
        }
        transaction.commit().await.expect("committed");
    }
}

/// Claims a part in one transaction, and settles it row by row in another.
async fn bare_drain(commits: u32) -> Duration {
    let (mut connection, _folder) = bare().await;
    bare_fill(&mut connection, RECORDS, RECORDS / BATCH).await;
    let started = Instant::now();
    for ids in chunks(RECORDS, commits / 2) {
        let claimed = sqlx::query(
            "UPDATE jobs SET state = 'running', token = token + 1, lease_until = 1 WHERE id IN
                 (SELECT id FROM jobs WHERE state = 'pending' AND operation = 'job' AND version = '1' AND ready_at <= 1
                  ORDER BY ready_at LIMIT ?1)
             RETURNING id, token, input",
        )
        .bind(i64::try_from(ids.len()).expect("a number"))
        .fetch_all(&mut connection)
        .await
        .expect("claimed");
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.expect("begun");
        for row in claimed {
            let input: Job = serde_json::from_str(row.get(2)).expect("JSON");
            let settled = sqlx::query(
                "UPDATE jobs SET state = 'succeeded', lease_until = NULL, result = ?3 WHERE id = ?1 AND token = ?2
                     AND state = 'running'",
            )
            .bind(row.get::<i64, _>(0))
            .bind(row.get::<i64, _>(1))
            .bind(serde_json::to_string(&input.amount_cents).expect("JSON"))
            .execute(&mut *transaction)
            .await
            .expect("settled");
            assert_eq!(settled.rows_affected(), 1);
        }
        transaction.commit().await.expect("committed");
    }
    started.elapsed()
}

/// The ids from 0 in as many parts as there are commits.
fn chunks(records: u32, commits: u32) -> impl Iterator<Item = std::ops::Range<u32>> {
    let size = records.div_ceil(commits.max(1));
    (0..records).step_by(size as usize).map(move |first| first..records.min(first + size))
}
