//! apalis with apalis-postgres.

use std::ops::Range;
use std::time::Duration;

use apalis::prelude::*;
use apalis_postgres::queries::push_tasks;
use apalis_postgres::{Config, PgTask, PostgresStorage};
use sqlx::PgPool;

use super::pool;
use crate::board;
use crate::job::Job;
use crate::subject::{Result, Role, Subject};
use crate::work::Tuning;

const QUEUE: &str = "jobs";

#[derive(Clone)]
pub(crate) struct Apalis(PgPool);

fn task(id: u64) -> Result<PgTask> {
    let job = Job::new(id);
    Ok(TaskBuilder::new(serde_json::to_vec(&job)?).idempotency_key(job.key()).build())
}

async fn run(job: Job) -> Result<(), BoxDynError> {
    board::started(job.id);
    Ok(())
}

impl Subject for Apalis {
    const NAME: &'static str = "apalis";
    const PACKAGE: &'static str = "apalis-postgres";
    const ROLE: Role = Role::Peer;
    const OPEN: &'static str = "SELECT count(*) FROM apalis.jobs WHERE status <> 'Done'";
    const RECORDS: &'static str = "SELECT count(*) FROM apalis.jobs";

    async fn open(url: &str) -> Result<Self> {
        let pool = pool(url).await?;
        PostgresStorage::setup(&pool).await?;
        Ok(Self(pool))
    }

    /// The README's call for a connection of one's own: a round trip, where `push_task` begins a transaction. A
    /// duplicate is a unique violation.
    async fn enqueue(&self, id: u64) -> Result<()> {
        let mut connection = self.0.acquire().await?;
        match push_tasks(&mut *connection, QUEUE, vec![task(id)?]).await {
            Err(apalis_postgres::Error::Database(sqlx::Error::Database(error)))
                if error.is_unique_violation() =>
            {
                Ok(())
            }
            other => Ok(other?),
        }
    }

    async fn enqueue_batch(&self, ids: Range<u64>) -> Result<()> {
        let tasks = ids.map(task).collect::<Result<Vec<_>>>()?;
        let mut connection = self.0.acquire().await?;
        Ok(push_tasks(&mut *connection, QUEUE, tasks).await?)
    }

    async fn start_worker(&self, tuning: Tuning) -> Result<()> {
        let config = Config::default().queue(QUEUE);
        match tuning {
            Tuning::Installed => {
                let backend = PostgresStorage::<Job>::new(&self.0).with_config(config);
                tokio::spawn(WorkerBuilder::new("worker").backend(backend).build(run).run());
            }
            // As the README advises, notifications beside an interval. It is shorter here: a notification that arrives
            // while a fetch ends wakes nobody, and what follows waits for the interval.
            Tuning::Latency => {
                let backend = PostgresStorage::<Job>::new(&self.0)
                    .with_config(config)
                    .with_pubsub()
                    .poll_with_interval(Duration::from_millis(100));
                tokio::spawn(WorkerBuilder::new("worker").backend(backend).build(run).run());
            }
            Tuning::Throughput => {
                let config = config.batch_size(1_000);
                let backend = PostgresStorage::<Job>::new(&self.0)
                    .with_config(config)
                    .poll_with_interval(Duration::from_millis(5));
                tokio::spawn(WorkerBuilder::new("worker").backend(backend).build(run).run());
            }
        }
        Ok(())
    }
}
