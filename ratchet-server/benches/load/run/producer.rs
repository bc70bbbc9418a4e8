//! A producer: enqueues orders at its pace, and some of them twice.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::connection::{Answer, Line};
use super::{Shared, next};

/// One in so many orders is enqueued again, as after a lost answer.
const REPEATED: u64 = 10;

pub(super) async fn live(shared: Arc<Shared>, number: usize) {
    let mut line = Line::new(&shared.address, &shared.producer_key);
    let started = sent(&shared, &mut line, "/runs", &json!({"name": format!("load {number}")})).await;
    let run = started.body["run"]["id"].as_str().expect("a run has an id").to_owned();
    let path = format!("/runs/{run}/enqueue");
    // They do not all come at once.
    let share = u32::try_from(number * 1000 / shared.plan.producers).unwrap_or(0);
    sleep(shared.plan.pace * share / 1000).await;
    let mut pace = interval(shared.plan.pace);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = shared.enough.cancelled() => return,
            _ = pace.tick() => {}
        }
        enqueue(&shared, &mut line, &path).await;
    }
}

async fn enqueue(shared: &Shared, line: &mut Line, path: &str) {
    let order = next(&shared.orders);
    let body = json!({
        "name": "charge", "version": "1", "input": {"order": order, "customer": "c_4711", "cents": 1999},
        "idempotencyKey": format!("order:{order}:charge"),
        "timeoutMs": u64::try_from(shared.plan.attempt.as_millis()).unwrap_or(u64::MAX)
    });
    shared.destination.ask(order);
    let begun = Instant::now();
    let answer = sent(shared, line, path, &body).await;
    shared.latencies.add("enqueue", begun.elapsed());
    assert!(matches!(answer.status, 200 | 201), "{} {}", answer.status, answer.body);
    shared.destination.accept(order);
    if order.is_multiple_of(REPEATED) {
        let begun = Instant::now();
        let answer = sent(shared, line, path, &body).await;
        shared.latencies.add("enqueue again", begun.elapsed());
        assert_eq!((answer.status, &answer.body["created"]), (200, &json!(false)));
    }
}

/// Asks until there is an answer: a key makes that safe.
async fn sent(shared: &Shared, line: &mut Line, path: &str, body: &Value) -> Answer {
    loop {
        let wait = if let Ok(answer) = line.post(path, body).await {
            let Some(wait) = answer.come_again() else { return answer };
            next(&shared.refused);
            wait
        } else {
            next(&shared.broken);
            Duration::from_millis(250)
        };
        sleep(wait).await;
    }
}
