//! Bare SQLite with synchronous = FULL: one writer that commits for all callers, and claims and completes in batches.

use std::ops::Range;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Row as _, SqliteConnection};
use tokio::sync::{Mutex, mpsc, oneshot};

use super::spawn;
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
    calls: mpsc::Sender<(u64, oneshot::Sender<()>)>,
    connection: Arc<Mutex<SqliteConnection>>,
}

const INSERT: &str = "
    INSERT INTO jobs (operation, key, version, fingerprint, state, ready_at, token, input)
    SELECT 'job', value ->> 0, '1', unhex(value ->> 1), 0, 0, 0, value ->> 2 FROM json_each(?1) WHERE true
    ON CONFLICT DO NOTHING RETURNING key";

const FIND: &str = "
    SELECT jobs.key FROM json_each(?1) AS call JOIN jobs ON operation = 'job' AND jobs.key = call.value ->> 0
    WHERE fingerprint = unhex(call.value ->> 1)";

const CLAIM: &str = "
    UPDATE jobs SET state = 1, token = token + 1, lease_until = 1 WHERE id IN
        (SELECT id FROM jobs WHERE state = 0 AND operation = 'job' AND version = '1' AND ready_at <= 1
         ORDER BY ready_at LIMIT 1000)
    RETURNING id, token, input";

const COMPLETE: &str = "
    UPDATE jobs SET state = 2, lease_until = NULL, result = done.value ->> 2 FROM json_each(?1) AS done
    WHERE jobs.id = done.value ->> 0 AND token = done.value ->> 1 AND state = 1";

/// Puts all on record in one statement. Fails if a row holds another input.
async fn insert(connection: &mut SqliteConnection, ids: impl Iterator<Item = u64>) -> Result<()> {
    let mut rows = Vec::new();
    for id in ids {
        let (job, fingerprint) = (Job::new(id), format!("{id:064x}"));
        rows.push((job.key(), fingerprint, serde_json::to_string(&job)?));
    }
    let json = serde_json::to_string(&rows)?;
    let new = sqlx::query(INSERT).bind(&json).fetch_all(&mut *connection).await?;
    if new.len() == rows.len() {
        return Ok(());
    }
    let same = sqlx::query(FIND).bind(&json).fetch_all(connection).await?;
    if same.len() == rows.len() { Ok(()) } else { Err("another input".into()) }
}

/// Claims, runs and completes a batch. Answers how many that were.
async fn turn(connection: &mut SqliteConnection) -> Result<usize> {
    let claimed = sqlx::query(CLAIM).fetch_all(&mut *connection).await?;
    let mut done = Vec::with_capacity(claimed.len());
    for row in &claimed {
        let job: Job = serde_json::from_str(row.get(2))?;
        board::started(job.id);
        done.push((row.get::<i64, _>(0), row.get::<i64, _>(1), serde_json::to_string(&job.amount_cents)?));
    }
    let completed = sqlx::query(COMPLETE).bind(serde_json::to_string(&done)?).execute(connection).await?;
    if usize::try_from(completed.rows_affected())? == done.len() {
        Ok(done.len())
    } else {
        Err("a lease was lost".into())
    }
}

async fn write(
    connection: Arc<Mutex<SqliteConnection>>,
    mut calls: mpsc::Receiver<(u64, oneshot::Sender<()>)>,
) -> Result<()> {
    let mut taken = Vec::with_capacity(MOST);
    while calls.recv_many(&mut taken, MOST).await > 0 {
        let mut connection = connection.lock().await;
        insert(&mut connection, taken.iter().map(|(id, _)| *id)).await?;
        for (_, answer) in taken.drain(..) {
            let _ = answer.send(());
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
        let (answer, durable) = oneshot::channel();
        self.calls.send((id, answer)).await?;
        Ok(durable.await?)
    }

    async fn enqueue_batch(&self, ids: Range<u64>) -> Result<()> {
        insert(&mut *self.connection.lock().await, ids).await
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
