//! Bare SQLite with synchronous = FULL: one writer that commits for all callers, and claims and completes in batches.

use std::ops::Range;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, SqliteConnection};
use tokio::sync::{Mutex, mpsc, oneshot};

use super::{fingerprint, spawn};
use crate::board;
use crate::job::Job;
use crate::subject::{Result, Role, Store, Subject};
use crate::work::{Tuning, Work};

const MOST: usize = 1_000;

/// Equal durability and room for all: every commit is synced, and a writer waits for another.
pub(crate) fn options(url: &str) -> Result<SqliteConnectOptions> {
    Ok(SqliteConnectOptions::from_str(url)?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(30))
        .pragma("cache_size", "-16384"))
}

#[derive(Clone)]
pub(crate) struct Sqlite {
    calls: mpsc::Sender<(u64, oneshot::Sender<bool>)>,
    connection: Arc<Mutex<SqliteConnection>>,
}

/// Whether every row is new or holds the same input.
async fn insert(connection: &mut SqliteConnection, ids: impl Iterator<Item = u64>) -> Result<Vec<bool>> {
    let mut same = Vec::new();
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for id in ids {
        let job = Job::new(id);
        let (key, fingerprint) = (job.key(), fingerprint(id));
        let new = sqlx::query(
            "INSERT INTO jobs (operation, key, version, fingerprint, state, ready_at, token, input)
             VALUES ('job', ?1, '1', ?2, 0, 0, 0, ?3) ON CONFLICT DO NOTHING",
        )
        .bind(&key)
        .bind(&fingerprint)
        .bind(serde_json::to_string(&job)?)
        .execute(&mut *transaction)
        .await?;
        same.push(if new.rows_affected() == 1 {
            true
        } else {
            let on_record: Vec<u8> =
                sqlx::query_scalar("SELECT fingerprint FROM jobs WHERE operation = 'job' AND key = ?1")
                    .bind(&key)
                    .fetch_one(&mut *transaction)
                    .await?;
            on_record == fingerprint
        });
    }
    transaction.commit().await?;
    Ok(same)
}

/// Claims a batch in one transaction, and completes it row by row in another.
async fn turn(connection: &mut SqliteConnection) -> Result<usize> {
    let claimed = sqlx::query(
        "UPDATE jobs SET state = 1, token = token + 1, lease_until = 1 WHERE id IN
             (SELECT id FROM jobs WHERE state = 0 AND operation = 'job' AND version = '1' AND ready_at <= 1
              ORDER BY ready_at LIMIT 1000)
         RETURNING id, token, input",
    )
    .fetch_all(&mut *connection)
    .await?;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for row in &claimed {
        let job: Job = serde_json::from_str(row.get(2))?;
        board::started(job.id);
        sqlx::query(
            "UPDATE jobs SET state = 2, lease_until = NULL, result = ?3 WHERE id = ?1 AND token = ?2 AND state = 1",
        )
        .bind(row.get::<i64, _>(0))
        .bind(row.get::<i64, _>(1))
        .bind(serde_json::to_string(&job.amount_cents)?)
        .execute(&mut *transaction)
        .await?;
    }
    transaction.commit().await?;
    Ok(claimed.len())
}

async fn write(
    connection: Arc<Mutex<SqliteConnection>>,
    mut calls: mpsc::Receiver<(u64, oneshot::Sender<bool>)>,
) -> Result<()> {
    let mut taken = Vec::with_capacity(MOST);
    while calls.recv_many(&mut taken, MOST).await > 0 {
        let mut connection = connection.lock().await;
        let same = insert(&mut connection, taken.iter().map(|(id, _)| *id)).await?;
        for ((_, answer), same) in taken.drain(..).zip(same) {
            let _ = answer.send(same);
        }
    }
    Ok(())
}

impl Subject for Sqlite {
    const NAME: &'static str = "bare SQLite, coalesced";
    const PACKAGE: &'static str = "sqlx-sqlite";
    const ROLE: Role = Role::Limit;
    const STORE: Store = Store::Sqlite;
    const OPEN: &'static str = "SELECT count(*) FROM jobs WHERE state <> 2";
    const RECORDS: &'static str = "SELECT count(*) FROM jobs";

    fn offers(work: Work) -> bool {
        matches!(work, Work::Enqueue | Work::Duplicate | Work::Batch | Work::Drain)
    }

    async fn open(url: &str) -> Result<Self> {
        let mut connection = options(url)?.connect().await?;
        sqlx::raw_sql(
            "CREATE TABLE jobs (id INTEGER PRIMARY KEY, operation TEXT NOT NULL, key TEXT NOT NULL,
                 version TEXT NOT NULL, fingerprint BLOB NOT NULL, state INTEGER NOT NULL, ready_at INTEGER NOT NULL,
                 token INTEGER NOT NULL, lease_until INTEGER, result TEXT, input TEXT NOT NULL) STRICT;
             CREATE UNIQUE INDEX jobs_key ON jobs (operation, key);
             CREATE INDEX jobs_pending ON jobs (operation, version, ready_at) WHERE state = 0;",
        )
        .execute(&mut connection)
        .await?;
        let connection = Arc::new(Mutex::new(connection));
        let (calls, received) = mpsc::channel(MOST);
        spawn(write(connection.clone(), received));
        Ok(Self { calls, connection })
    }

    async fn enqueue(&self, id: u64) -> Result<()> {
        let (answer, same) = oneshot::channel();
        self.calls.send((id, answer)).await?;
        if same.await? { Ok(()) } else { Err("another input".into()) }
    }

    async fn enqueue_batch(&self, ids: Range<u64>) -> Result<()> {
        insert(&mut *self.connection.lock().await, ids).await?;
        Ok(())
    }

    async fn start_worker(&self, _tuning: Tuning) -> Result<()> {
        let connection = self.connection.clone();
        spawn(async move {
            while turn(&mut *connection.lock().await).await? > 0 {}
            Ok(())
        });
        Ok(())
    }
}
