//! fang, with its async workers.

use std::time::Duration;

use fang::asynk::async_queue::{AsyncQueue, AsyncQueueable};
use fang::asynk::async_worker_pool::AsyncWorkerPool;
use fang::{AsyncRunnable, FangError, RetentionMode, SleepParams, async_trait, typetag};

use super::{CONNECTIONS, migrate};
use crate::board;
use crate::job::Job;
use crate::subject::{Result, Role, Subject};
use crate::work::{Tuning, Work};

#[derive(Clone)]
pub(crate) struct Fang(AsyncQueue);

#[typetag::serde]
#[async_trait]
impl AsyncRunnable for Job {
    async fn run(&self, _queue: &dyn AsyncQueueable) -> Result<(), FangError> {
        board::started(self.id);
        Ok(())
    }

    /// Looked up before the insert; no index keeps two callers from inserting the same.
    fn uniq(&self) -> bool {
        true
    }
}

impl Subject for Fang {
    const NAME: &'static str = "fang";
    const PACKAGE: &'static str = "fang";
    const ROLE: Role = Role::Peer;
    const BACKLOG_DIVISOR: u64 = 5;
    const OPEN: &'static str = "SELECT count(*) FROM fang_tasks WHERE state <> 'finished'";
    const RECORDS: &'static str = "SELECT count(*) FROM fang_tasks";

    fn offers(work: Work) -> bool {
        !matches!(work, Work::Batch | Work::Effect)
    }

    async fn open(url: &str) -> Result<Self> {
        migrate(url, env!("FANG_MIGRATIONS")).await?;
        let mut queue = AsyncQueue::builder().uri(url).max_pool_size(CONNECTIONS).build();
        queue.connect().await?;
        Ok(Self(queue))
    }

    async fn enqueue(&self, id: u64) -> Result<()> {
        self.0.insert_task(&Job::new(id)).await?;
        Ok(())
    }

    async fn start_worker(&self, tuning: Tuning) -> Result<()> {
        // Completed tasks are kept, as with the others that can; the sleep of 5 seconds as installed is the shortest.
        let sleep = match tuning {
            Tuning::Installed => SleepParams::default(),
            Tuning::Throughput | Tuning::Latency => {
                let shortest = Duration::from_millis(10);
                SleepParams {
                    sleep_period: shortest,
                    max_sleep_period: Duration::from_millis(50),
                    min_sleep_period: shortest,
                    sleep_step: shortest,
                }
            }
        };
        let workers = if tuning == Tuning::Latency { 4_u32 } else { 16 };
        let mut pool: AsyncWorkerPool<AsyncQueue> = AsyncWorkerPool::builder()
            .number_of_workers(workers)
            .queue(self.0.clone())
            .sleep_params(sleep)
            .retention_mode(RetentionMode::KeepAll)
            .build();
        pool.start().await;
        Ok(())
    }
}
