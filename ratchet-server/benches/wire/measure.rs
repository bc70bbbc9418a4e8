//! One round of one subject: all of a backlog is claimed, then all of it is reported.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::connection::Line;
use crate::subject::{Subject, worker};

pub(crate) struct Plan {
    pub(crate) workers: usize,
    pub(crate) jobs: usize,
}

pub(crate) struct Round {
    pub(crate) claims: Measured,
    pub(crate) reports: Measured,
    /// Of the server, at the end.
    pub(crate) memory_mib: u64,
}

/// So many calls took so long, and so much of the processor in the server; the database is not in it.
pub(crate) struct Measured {
    calls: usize,
    took: Duration,
    processor_seconds: f64,
}

impl Measured {
    #[allow(clippy::cast_precision_loss, reason = "thousands")]
    pub(crate) fn per_second(&self) -> f64 {
        self.calls as f64 / self.took.as_secs_f64()
    }

    #[allow(clippy::cast_precision_loss, reason = "thousands")]
    pub(crate) fn processor_micros(&self) -> f64 {
        self.processor_seconds * 1e6 / self.calls as f64
    }
}

/// A worker's connection and the jobs that it has.
struct Worker {
    line: Line,
    id: String,
    jobs: Vec<Value>,
}

pub(crate) async fn round(subject: &mut Subject, plan: &Plan) -> Round {
    subject.prepare(plan.jobs, plan.workers).await;
    let workers =
        (0..plan.workers).map(|number| Worker { line: subject.line(), id: worker(number), jobs: Vec::new() });
    let each = plan.jobs / plan.workers;
    let (workers, claims) = measured(subject, workers.collect(), |worker| claim(worker, each)).await;
    let (_, reports) = measured(subject, workers, report).await;
    Round { claims, reports, memory_mib: subject.usage().memory_kib / 1024 }
}

/// Has all workers do their part at once.
async fn measured<F>(
    subject: &Subject,
    workers: Vec<Worker>,
    part: impl Fn(Worker) -> F,
) -> (Vec<Worker>, Measured)
where
    F: Future<Output = Worker> + Send + 'static,
{
    let (begun, before) = (Instant::now(), subject.usage().seconds);
    let working: JoinSet<Worker> = workers.into_iter().map(part).collect();
    let workers = working.join_all().await;
    let (took, processor_seconds) = (begun.elapsed(), subject.usage().seconds - before);
    let calls = workers.iter().map(|worker| worker.jobs.len()).sum();
    (workers, Measured { calls, took, processor_seconds })
}

async fn claim(mut worker: Worker, jobs: usize) -> Worker {
    for _ in 0..jobs {
        let answer =
            worker.line.post("/workers/claim", &json!({"workerId": worker.id})).await.expect("it answers");
        assert_eq!(answer.status, 200, "{}", answer.body);
        worker.jobs.push(answer.body["job"].clone());
    }
    worker
}

async fn report(mut worker: Worker) -> Worker {
    for job in &worker.jobs {
        let path = format!("/workers/jobs/{}/report", job["jobId"].as_str().expect("a job has an id"));
        let report = json!({
            "workerId": worker.id, "leaseToken": job["leaseToken"], "status": "SUCCEEDED", "output": {"receipt": 1}
        });
        let answer = worker.line.post(&path, &report).await.expect("it answers");
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    worker
}
