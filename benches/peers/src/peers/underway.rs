//! underway.

use std::ops::Range;

use sqlx_08::{PgPool, Postgres, Transaction};
use tokio::runtime::Handle;
use underway::{Queue, Task, Worker};

use super::pool_08;
use crate::board;
use crate::job::Job;
use crate::subject::{Result, Role, Subject};
use crate::work::Tuning;

#[derive(Clone)]
pub(crate) struct Underway {
    pool: PgPool,
    queue: Queue<JobTask>,
}

/// The key belongs to the task's value and is free again when the task is completed. A batch has one task for all its
/// inputs, and so no keys.
#[derive(Clone)]
struct JobTask {
    key: Option<String>,
}

impl Task for JobTask {
    type Input = Job;
    type Output = ();

    async fn execute(&self, transaction: Transaction<'_, Postgres>, job: Job) -> underway::task::Result<()> {
        board::started(job.id);
        transaction.commit().await?;
        Ok(())
    }

    fn concurrency_key(&self) -> Option<String> {
        self.key.clone()
    }
}

impl Subject for Underway {
    const NAME: &'static str = "underway";
    const PACKAGE: &'static str = "underway";
    const ROLE: Role = Role::Peer;
    const BACKLOG_DIVISOR: u64 = 5;
    const OPEN: &'static str = "SELECT count(*) FROM underway.task WHERE state <> 'succeeded'";
    const RECORDS: &'static str = "SELECT count(*) FROM underway.task";

    async fn open(url: &str) -> Result<Self> {
        let pool = pool_08(url).await?;
        // Its future cannot be shown to be `Send` in here, so it is waited for in place.
        tokio::task::block_in_place(|| Handle::current().block_on(underway::run_migrations(&pool)))?;
        let queue = Queue::builder().name("jobs").pool(pool.clone()).build().await?;
        Ok(Self { pool, queue })
    }

    /// A duplicate is a unique violation.
    async fn enqueue(&self, id: u64) -> Result<()> {
        let job = Job::new(id);
        let task = JobTask { key: Some(job.key()) };
        match self.queue.enqueue(&self.pool, &task, &job).await {
            Err(underway::queue::Error::Database(sqlx_08::Error::Database(error)))
                if error.is_unique_violation() =>
            {
                Ok(())
            }
            other => {
                other?;
                Ok(())
            }
        }
    }

    async fn enqueue_batch(&self, ids: Range<u64>) -> Result<()> {
        let jobs: Vec<_> = ids.map(Job::new).collect();
        self.queue.enqueue_multi(&self.pool, &JobTask { key: None }, &jobs).await?;
        Ok(())
    }

    async fn start_worker(&self, tuning: Tuning) -> Result<()> {
        let mut worker = Worker::new(self.queue.clone().into(), JobTask { key: None });
        if tuning != Tuning::Installed {
            // Its only setting, beside the interval that matters without notifications.
            worker.set_concurrency_limit(16);
        }
        tokio::spawn(async move { worker.run().await });
        Ok(())
    }
}
