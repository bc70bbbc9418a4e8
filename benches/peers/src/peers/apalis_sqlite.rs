//! apalis with apalis-sqlite.

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use apalis::prelude::*;
use apalis_sqlite::{Config, SqliteStorage, SqliteTask, queries::push_tasks};
use futures_util::StreamExt as _;
use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;

use crate::board;
use crate::job::Job;
use crate::limits::sqlite_options;
use crate::subject::{Result, Role, Store, Subject};
use crate::work::Tuning;

const QUEUE: &str = "jobs";

#[derive(Clone)]
pub(crate) struct ApalisSqlite {
    url: String,
    /// Its `setup` turns syncing off on whichever connection it gets, so the migrations run alone here: all connections
    /// are opened with the durability that is compared.
    pool: SqlitePool,
    /// Tells the worker of this process about its own inserts; syncs as SQLite does by default, which is as fully.
    hooked: Arc<OnceLock<SqlitePool>>,
}

impl ApalisSqlite {
    fn pool(&self) -> &SqlitePool {
        self.hooked.get().unwrap_or(&self.pool)
    }
}

fn task(id: u64) -> Result<SqliteTask> {
    let job = Job::new(id);
    Ok(TaskBuilder::new(serde_json::to_vec(&job)?).idempotency_key(job.key()).build())
}

async fn run(job: Job) -> Result<(), BoxDynError> {
    board::started(job.id);
    Ok(())
}

impl Subject for ApalisSqlite {
    const NAME: &'static str = "apalis";
    const PACKAGE: &'static str = "apalis-sqlite";
    const ROLE: Role = Role::Peer;
    const STORE: Store = Store::Sqlite;
    const OPEN: &'static str = "SELECT count(*) FROM Jobs WHERE status <> 'Done'";
    const RECORDS: &'static str = "SELECT count(*) FROM Jobs";

    async fn open(url: &str) -> Result<Self> {
        let pool = SqlitePoolOptions::new().connect_with(sqlite_options(url)?).await?;
        SqliteStorage::migrations().run(&pool).await?;
        Ok(Self { url: url.to_owned(), pool, hooked: Arc::default() })
    }

    async fn enqueue(&self, id: u64) -> Result<()> {
        let mut connection = self.pool().acquire().await?;
        Ok(push_tasks(&mut *connection, QUEUE, &[task(id)?]).await?)
    }

    async fn enqueue_batch(&self, ids: Range<u64>) -> Result<()> {
        let tasks = ids.map(task).collect::<Result<Vec<_>>>()?;
        let mut transaction = self.pool().begin_with("BEGIN IMMEDIATE").await?;
        push_tasks(&mut *transaction, QUEUE, &tasks).await?;
        Ok(transaction.commit().await?)
    }

    async fn start_worker(&self, tuning: Tuning) -> Result<()> {
        let config = Config::default().queue(QUEUE);
        match tuning {
            Tuning::Installed => {
                let backend = SqliteStorage::<Job>::new(&self.pool).with_config(config);
                tokio::spawn(WorkerBuilder::new("worker").backend(backend).build(run).run());
            }
            // The README's event-driven worker.
            Tuning::Latency => {
                let (pool, listener) = SqliteStorage::connect_with_callback(&self.url)?;
                let strategy = Strategy::new()
                    .stream(listener.ready_chunks(config.batch_size))
                    .interval(Duration::from_millis(100));
                let backend =
                    SqliteStorage::<Job>::new(&pool).with_config(config).poll_with_strategy(strategy);
                let _ = self.hooked.set(pool);
                tokio::spawn(WorkerBuilder::new("worker").backend(backend).build(run).run());
            }
            Tuning::Throughput => {
                let backend = SqliteStorage::<Job>::new(&self.pool)
                    .with_config(config.batch_size(1_000))
                    .poll_with_interval(Duration::from_millis(5));
                tokio::spawn(WorkerBuilder::new("worker").backend(backend).build(run).run());
            }
        }
        Ok(())
    }
}
