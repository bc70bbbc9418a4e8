//! Ratchet: one operation, whichever ledger holds it.

mod postgres;
mod sqlite;

pub(crate) use postgres::OnPostgres;
pub(crate) use sqlite::OnSqlite;

use std::ops::Range;

use ratchet::{Client, Context, Contract, Failure, Input};
use serde::{Deserialize, Serialize};

use crate::board;
use crate::job::Job;
use crate::subject::Result;
use crate::work::Tuning;

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Charge {
    id: u64,
    customer: String,
    amount_cents: u64,
}

impl Charge {
    fn new(id: u64) -> Self {
        let Job { id, customer, amount_cents } = Job::new(id);
        Self { id, customer, amount_cents }
    }
}

#[ratchet::operation(name = "job", version = "1", key = "job:<id>:v1", destination = Contract::header("Idempotency-Key"))]
#[allow(clippy::unused_async, reason = "handlers are async, whatever they do")]
async fn job(input: Charge) -> Result<u64, Failure> {
    board::started(input.id);
    Ok(input.amount_cents)
}

/// Has its effect in the database.
#[ratchet::operation(name = "pay", version = "1", key = "effect:<id>:v1", destination = Contract::DATABASE)]
#[allow(clippy::unused_async, reason = "handlers are async, whatever they do")]
async fn pay(input: Charge) -> Result<u64, Failure> {
    Ok(input.amount_cents)
}

/// An attempt at it, as a worker hands it to the handler.
fn attempt(id: u64) -> Context {
    pay::test_context(&Charge::new(id))
}

/// The answer to a duplicate says so, after its input was compared with that on record.
async fn enqueue(client: &Client, id: u64) -> Result<()> {
    job::enqueue(client, Charge::new(id)).await?.accepted()?;
    Ok(())
}

async fn enqueue_batch(client: &Client, ids: Range<u64>) -> Result<()> {
    let requests = ids.map(|id| job::request(Charge::new(id))).collect();
    for answer in client.submit_all(requests).await? {
        answer?.accepted()?;
    }
    Ok(())
}

fn start_worker(client: &Client, tuning: Tuning) -> Result<()> {
    let worker = client.worker(ratchet::registry![job]);
    let worker = match tuning {
        Tuning::Installed | Tuning::Latency => worker,
        Tuning::Throughput => worker.concurrency(1_000),
    };
    let worker = worker.build()?;
    tokio::spawn(worker.run(std::future::pending::<()>()));
    Ok(())
}
