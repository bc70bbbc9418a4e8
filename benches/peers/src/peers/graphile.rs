//! `graphile_worker`.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use graphile_worker::{
    IntoTaskHandlerResult, JobKeyMode, JobSpec, LocalQueueConfig, TaskHandler, Worker, WorkerContext,
    WorkerOptions, WorkerUtils,
};
use sqlx::PgPool;

use super::pool;
use crate::board;
use crate::job::Job;
use crate::subject::{Result, Role, Subject};
use crate::work::Tuning;

#[derive(Clone)]
pub(crate) struct Graphile {
    pool: PgPool,
    utils: Arc<WorkerUtils>,
}

impl TaskHandler for Job {
    const IDENTIFIER: &'static str = "job";

    async fn run(self, _context: WorkerContext) -> impl IntoTaskHandlerResult {
        board::started(self.id);
        Ok::<(), String>(())
    }
}

/// The default mode replaces the input of the job that waits under the key, and is faster here than the mode that leaves
/// it alone. A completed job is deleted, and its key with it.
fn spec(job: &Job) -> JobSpec {
    JobSpec::builder().job_key(job.key()).job_key_mode(JobKeyMode::Replace).build()
}

async fn worker(options: WorkerOptions, pool: &PgPool) -> Result<Worker> {
    let options = options.pg_pool(pool.clone()).define_job::<Job>();
    Ok(Box::pin(options.init()).await?)
}

impl Subject for Graphile {
    const NAME: &'static str = "graphile_worker";
    const PACKAGE: &'static str = "graphile_worker";
    const ROLE: Role = Role::Peer;
    const OPEN: &'static str = "SELECT count(*) FROM graphile_worker._private_jobs";
    const RECORDS: &'static str = Self::OPEN;

    async fn open(url: &str) -> Result<Self> {
        let pool = pool(url).await?;
        let utils = worker(WorkerOptions::default(), &pool).await?.create_utils();
        Ok(Self { pool, utils: Arc::new(utils) })
    }

    async fn enqueue(&self, id: u64) -> Result<()> {
        let job = Job::new(id);
        let spec = spec(&job);
        self.utils.add_job(job, spec).await?;
        Ok(())
    }

    async fn enqueue_batch(&self, ids: Range<u64>) -> Result<()> {
        let jobs: Vec<_> = ids.map(Job::new).map(|job| (spec(&job), job)).collect();
        let jobs: Vec<_> = jobs.iter().map(|(spec, job)| (job.clone(), spec)).collect();
        self.utils.add_jobs(&jobs).await?;
        Ok(())
    }

    async fn start_worker(&self, tuning: Tuning) -> Result<()> {
        let options = match tuning {
            Tuning::Installed => WorkerOptions::default(),
            Tuning::Latency => WorkerOptions::default().concurrency(16),
            // What its documentation names for small jobs in large numbers: jobs are claimed ahead by several local
            // queues, and completed together.
            Tuning::Throughput => WorkerOptions::default()
                .concurrency(64)
                .local_queue(LocalQueueConfig::default().with_size(1_000).with_queue_count(2))
                .complete_job_batch_delay(Duration::from_millis(2)),
        };
        let worker = worker(options.listen_os_shutdown_signals(false), &self.pool).await?;
        tokio::spawn(async move { worker.run().await });
        Ok(())
    }
}
