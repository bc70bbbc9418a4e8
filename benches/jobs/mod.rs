//! The work that both ledgers do: jobs that are enqueued by many callers and drained by a worker.

use std::time::Duration;

use ratchet::{Contract, Failure, Filter, Input, Ratchet, RecordState};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, Input)]
pub(crate) struct Job {
    pub(crate) id: u64,
    pub(crate) customer: String,
    pub(crate) amount_cents: u64,
}

#[ratchet::operation(name = "job", version = "1", key = "job:<id>:v1", destination = Contract::header("Idempotency-Key"))]
pub(crate) async fn job(input: Job) -> Result<u64, Failure> {
    Ok(input.amount_cents)
}

pub(crate) fn job_of(id: u32) -> Job {
    Job { id: id.into(), customer: format!("cus_{id}"), amount_cents: 4_200 }
}

/// Enqueues jobs, `batch` in a call.
pub(crate) async fn fill(ratchet: &Ratchet, records: u32, batch: u32) {
    for first in (0..records).step_by(batch as usize) {
        let requests = (first..first + batch).map(|id| job::request(job_of(id))).collect();
        for answer in ratchet.submit_all(requests).await.expect("enqueued") {
            answer.expect("accepted").accepted().expect("new");
        }
    }
}

/// Enqueues jobs one by one, from many callers at once.
pub(crate) async fn enqueue_from(ratchet: &Ratchet, callers: u32, records: u32) {
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let ratchet = ratchet.clone();
            tokio::spawn(async move {
                for id in (caller..records).step_by(callers as usize) {
                    job::enqueue(&ratchet, job_of(id)).await.expect("enqueued").accepted().expect("new");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a caller");
    }
}

/// Executes what is on record.
pub(crate) async fn drain(ratchet: &Ratchet, concurrency: usize) {
    let worker = ratchet.worker(ratchet::registry![job]).concurrency(concurrency).build().expect("a worker");
    let looked_into = ratchet.clone();
    let drained = async move {
        for state in [RecordState::Pending, RecordState::Running] {
            let filter = Filter { state: Some(state), limit: 1, ..Filter::default() };
            while !looked_into.list(filter.clone()).await.expect("a page").records.is_empty() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    };
    worker.run(drained).await.expect("drained");
}
