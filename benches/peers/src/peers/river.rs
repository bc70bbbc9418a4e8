//! riverqueue.

use std::convert::Infallible;
use std::ops::Range;
use std::time::Duration;

use riverqueue::migrate::PostgresMigrator;
use riverqueue::{Client, JobArgs, QueueConfig, WorkContext, WorkOutcome, Workers};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use super::pool;
use crate::board;
use crate::job::Job;
use crate::subject::{Result, Role, Subject};
use crate::work::Tuning;

#[derive(Clone)]
pub(crate) struct River {
    pool: PgPool,
    client: Client,
}

/// Unique in every state, for as long as the row is there.
#[derive(Debug, Clone, Serialize, Deserialize, JobArgs)]
#[river(kind = "job", unique(by_args))]
pub(super) struct Args {
    #[river(unique)]
    id: u64,
    customer: String,
    amount_cents: u64,
}

impl Args {
    pub(super) fn new(id: u64) -> Self {
        let Job { id, customer, amount_cents } = Job::new(id);
        Self { id, customer, amount_cents }
    }
}

async fn run(_context: WorkContext, job: riverqueue::Job<Args>) -> Result<WorkOutcome, Infallible> {
    board::started(job.args.id);
    Ok(WorkOutcome::Complete)
}

pub(super) fn workers() -> Result<Workers> {
    let mut workers = Workers::new();
    workers.add_fn(run)?;
    Ok(workers)
}

/// The shortest pause between fetches, the longest between looks without a notification, and the jobs at once.
pub(super) fn settings(tuning: Tuning) -> (Duration, QueueConfig) {
    match tuning {
        // Those of the README.
        Tuning::Installed => (riverqueue::FETCH_COOLDOWN_DEFAULT, QueueConfig::new(10)),
        // Those of its own benchmark.
        Tuning::Throughput => {
            let queue = QueueConfig::new(2_000).with_fetch_poll_interval(Duration::from_millis(20));
            (Duration::from_millis(2), queue)
        }
        // The shortest that it allows.
        Tuning::Latency => {
            let queue = QueueConfig::new(16).with_fetch_poll_interval(Duration::from_millis(20));
            (Duration::from_millis(1), queue)
        }
    }
}

impl Subject for River {
    const NAME: &'static str = "riverqueue";
    const PACKAGE: &'static str = "riverqueue";
    const ROLE: Role = Role::Peer;
    const OPEN: &'static str = "SELECT count(*) FROM river_job WHERE state <> 'completed'";
    const RECORDS: &'static str = "SELECT count(*) FROM river_job";

    async fn open(url: &str) -> Result<Self> {
        let pool = pool(url).await?;
        PostgresMigrator::new(pool.clone()).migrate_up().await?;
        let client = Client::builder(pool.clone()).build()?;
        Ok(Self { pool, client })
    }

    async fn enqueue(&self, id: u64) -> Result<()> {
        self.client.insert(Args::new(id)).await?;
        Ok(())
    }

    async fn enqueue_batch(&self, ids: Range<u64>) -> Result<()> {
        self.client.insert_many(ids.map(Args::new)).await?;
        Ok(())
    }

    async fn start_worker(&self, tuning: Tuning) -> Result<()> {
        let (cooldown, queue) = settings(tuning);
        let client = Client::builder(self.pool.clone())
            .workers(workers()?)
            .fetch_cooldown(cooldown)
            .queue("default", queue)
            .build()?;
        client.start()?.detach();
        Ok(())
    }
}
