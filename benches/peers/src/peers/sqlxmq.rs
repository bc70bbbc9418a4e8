//! sqlxmq.

use sqlx_08::PgPool;
use sqlxmq::{CurrentJob, JobRegistry, JobRunnerHandle};
use uuid::Uuid;

use super::{migrate, pool_08};
use crate::board;
use crate::job::Job;
use crate::subject::{Result, Role, Subject};
use crate::work::{Tuning, Work};

#[derive(Clone)]
pub(crate) struct Sqlxmq(PgPool);

#[sqlxmq::job]
async fn run(mut current: CurrentJob) -> Result<()> {
    let job: Job = current.json()?.ok_or("no input")?;
    board::started(job.id);
    current.complete().await?;
    Ok(())
}

impl Subject for Sqlxmq {
    const NAME: &'static str = "sqlxmq";
    const PACKAGE: &'static str = "sqlxmq";
    const ROLE: Role = Role::Peer;
    const BACKLOG_DIVISOR: u64 = 5;
    // One row is there for its own purposes.
    const OPEN: &'static str = "SELECT count(*) - 1 FROM mq_msgs";
    const RECORDS: &'static str = Self::OPEN;

    fn offers(work: Work) -> bool {
        !matches!(work, Work::Batch | Work::Effect)
    }

    async fn open(url: &str) -> Result<Self> {
        migrate(url, env!("SQLXMQ_MIGRATIONS")).await?;
        Ok(Self(pool_08(url).await?))
    }

    /// There is no key: what comes nearest is an id that follows from the job. A duplicate is a unique violation.
    async fn enqueue(&self, id: u64) -> Result<()> {
        let mut builder = run.builder_with_id(Uuid::from_u64_pair(1, id));
        match builder.set_json(&Job::new(id))?.spawn(&self.0).await {
            Err(sqlx_08::Error::Database(error)) if error.is_unique_violation() => Ok(()),
            other => {
                other?;
                Ok(())
            }
        }
    }

    async fn start_worker(&self, tuning: Tuning) -> Result<()> {
        let mut runner = JobRegistry::new(&[run]).runner(&self.0);
        match tuning {
            Tuning::Installed => {}
            // Larger batches are more efficient, says its documentation.
            Tuning::Throughput => drop(runner.set_concurrency(100, 200)),
            Tuning::Latency => drop(runner.set_concurrency(16, 32)),
        }
        let handle: JobRunnerHandle = runner.run().await?;
        // The runner stops when its handle is dropped.
        std::mem::forget(handle);
        Ok(())
    }
}
