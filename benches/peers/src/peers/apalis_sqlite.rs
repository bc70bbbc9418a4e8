//! apalis with apalis-sqlite.

use std::ops::Range;
use std::time::Duration;

use apalis::prelude::*;
use apalis_sqlite::{Config, SqliteStorage, SqliteTask, queries::push_tasks};
use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;

use crate::board;
use crate::job::Job;
use crate::limits::sqlite_options;
use crate::subject::{Result, Role, Store, Subject};
use crate::work::Tuning;

const QUEUE: &str = "jobs";

/// Its `setup` turns syncing off on whichever connection it gets, so the migrations run alone here: all connections are
/// opened with the durability that is compared.
#[derive(Clone)]
pub(crate) struct ApalisSqlite(SqlitePool);

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
        Ok(Self(pool))
    }

    async fn enqueue(&self, id: u64) -> Result<()> {
        let mut connection = self.0.acquire().await?;
        Ok(push_tasks(&mut *connection, QUEUE, &[task(id)?]).await?)
    }

    async fn enqueue_batch(&self, ids: Range<u64>) -> Result<()> {
        let tasks = ids.map(task).collect::<Result<Vec<_>>>()?;
        let mut transaction = self.0.begin_with("BEGIN IMMEDIATE").await?;
        push_tasks(&mut *transaction, QUEUE, &tasks).await?;
        Ok(transaction.commit().await?)
    }

    async fn start_worker(&self, tuning: Tuning) -> Result<()> {
        let config = Config::default().queue(QUEUE);
        if tuning == Tuning::Installed {
            let backend = SqliteStorage::<Job>::new(&self.0).with_config(config);
            tokio::spawn(WorkerBuilder::new("worker").backend(backend).build(run).run());
        } else {
            let (size, interval) = if tuning == Tuning::Throughput { (1_000, 5) } else { (10, 1) };
            let backend = SqliteStorage::<Job>::new(&self.0)
                .with_config(config.batch_size(size))
                .poll_with_interval(Duration::from_millis(interval));
            tokio::spawn(WorkerBuilder::new("worker").backend(backend).build(run).run());
        }
        Ok(())
    }
}
