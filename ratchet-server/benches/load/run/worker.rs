//! A worker: claims, acts, and reports; now and then it dies in between.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::connection::Line;
use super::{Shared, next};

/// One in so many jobs is dropped after its effect.
const DROPPED: u64 = 200;

/// How long the destination takes.
const ACT: Duration = Duration::from_millis(50);

pub(super) async fn live(shared: Arc<Shared>, number: usize) {
    let mut line = Line::new(&shared.address, &shared.worker_key);
    let id = format!("load-{number}");
    let handlers = json!([{"name": "charge", "version": "1"}]);
    let register = json!({"workerId": id, "capacity": 1, "handlers": handlers});
    while !matches!(line.post("/workers/register", &register).await, Ok(answer) if answer.status == 200) {
        sleep(Duration::from_millis(250)).await;
    }
    // They do not all ask at once.
    let share = u32::try_from(number * 1000 / shared.plan.workers).unwrap_or(0);
    sleep(shared.plan.idle * share / 1000).await;
    while !shared.over.is_cancelled() {
        match claimed(&shared, &mut line, &id).await {
            Ok(job) => execute(&shared, &mut line, &id, &job).await,
            Err(wait) => tokio::select! {
                () = shared.over.cancelled() => return,
                () = sleep(wait) => {}
            },
        }
    }
}

/// A job, or how long to wait before the next claim.
async fn claimed(shared: &Shared, line: &mut Line, id: &str) -> Result<Value, Duration> {
    let begun = Instant::now();
    let Ok(answer) = line.post("/workers/claim", &json!({"workerId": id})).await else {
        next(&shared.broken);
        return Err(Duration::from_millis(250));
    };
    if let Some(wait) = answer.come_again() {
        next(&shared.refused);
        return Err(wait);
    }
    if answer.status == 204 {
        shared.latencies.add("claim, nothing due", begun.elapsed());
        return Err(shared.plan.idle);
    }
    assert_eq!(answer.status, 200, "{}", answer.body);
    shared.latencies.add("claim", begun.elapsed());
    Ok(answer.body["job"].clone())
}

async fn execute(shared: &Shared, line: &mut Line, id: &str, job: &Value) {
    let key = job["idempotencyKey"].as_str().expect("a job has a key");
    let order = job["input"]["order"].as_u64().expect("the input comes as it was given");
    if let Some(took) = shared.destination.picked_up(order) {
        shared.latencies.add("enqueue to job", took);
    }
    shared.destination.apply(key, order);
    sleep(ACT).await;
    // A first attempt, so that everything ends.
    if job["attempt"] == 1 && next(&shared.jobs).is_multiple_of(DROPPED) {
        next(&shared.dropped);
        return;
    }
    let path = format!("/workers/jobs/{}/report", job["jobId"].as_str().expect("a job has an id"));
    let report = json!({
        "workerId": id, "leaseToken": job["leaseToken"], "status": "SUCCEEDED", "output": {"receipt": order}
    });
    let begun = Instant::now();
    for _ in 0..10 {
        match line.post(&path, &report).await {
            Ok(answer) if answer.status == 200 => {
                shared.latencies.add("report", begun.elapsed());
                shared.destination.settle(order);
                return;
            }
            // Another attempt has it.
            Ok(answer) if answer.status == 422 => return,
            Ok(_) => next(&shared.refused),
            Err(_) => next(&shared.broken),
        };
        sleep(Duration::from_millis(250)).await;
    }
}
