//! What a worker leases ahead of need.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ratchet::{Context, Contract, Failure, Input, Ratchet, RecordState, State};
use serde::{Deserialize, Serialize};

use crate::support::{Stage, id_of, record, settled, start_with, within};

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Job {
    id: u64,
}

/// How many handlers run, and how many did at the most.
#[derive(Debug, Clone, Default)]
struct Gauge(Arc<[AtomicUsize; 2]>);

#[ratchet::operation(name = "short", version = "1", key = "short:<id>", destination = Contract::header("Idempotency-Key"))]
async fn short(job: Job, State(gauge): State<Gauge>) -> Result<u64, Failure> {
    let running = gauge.0[0].fetch_add(1, Ordering::SeqCst) + 1;
    gauge.0[1].fetch_max(running, Ordering::SeqCst);
    tokio::task::yield_now().await;
    gauge.0[0].fetch_sub(1, Ordering::SeqCst);
    Ok(job.id)
}

#[tokio::test]
async fn no_more_handlers_run_at_once_than_were_allowed() {
    let ratchet = Ratchet::in_memory();
    let mut last = None;
    for id in 0..500 {
        last = Some(id_of(short::enqueue(&ratchet, Job { id }).await.unwrap()));
    }
    let gauge = Gauge::default();
    let worker = start_with(ratchet.worker(ratchet::registry![short]).concurrency(3).state(gauge.clone()));
    assert_eq!(settled(&ratchet, &last.unwrap()).await.state, RecordState::Succeeded);
    worker.stop().await;
    assert_eq!(gauge.0[1].load(Ordering::SeqCst), 3);
}

/// Short for the first jobs, and then as long as the test wants.
#[ratchet::operation(name = "slower", version = "1", key = "slower:<id>", destination = Contract::header("Idempotency-Key"))]
async fn slower(ctx: Context, job: Job, State(stage): State<Stage>) -> Result<u64, Failure> {
    if job.id >= 200 {
        let _ = stage.entered.send(ctx);
        stage.go.notified().await;
    }
    Ok(job.id)
}

#[tokio::test]
async fn what_waits_for_a_slot_for_long_is_left_to_others() {
    let ratchet = Ratchet::in_memory();
    let mut ids = Vec::new();
    for id in 0..220 {
        ids.push(id_of(slower::enqueue(&ratchet, Job { id }).await.unwrap()));
    }
    let (stage, mut entered) = Stage::new();
    let busy = start_with(
        ratchet
            .worker(ratchet::registry![slower])
            .concurrency(1)
            .poll_interval(Duration::from_hours(1))
            .state(stage.clone()),
    );
    let _running = within(entered.recv()).await.unwrap();
    let mut leased = 0;
    for id in &ids[200..] {
        leased += usize::from(record(&ratchet, id).await.state == RecordState::Running);
    }
    assert!(leased > 1, "nothing was leased ahead");
    // Another worker gets what the busy one gives back, and nothing of it was tried.
    let (other_stage, mut entered_there) = Stage::new();
    let other = start_with(ratchet.worker(ratchet::registry![slower]).concurrency(64).state(other_stage));
    let given_back = async {
        loop {
            let context = entered_there.recv().await.unwrap();
            if context.token().get() == 2 {
                return record(&ratchet, context.id()).await;
            }
        }
    };
    assert_eq!(within(given_back).await.spent, 0);
    drop((busy.ask_to_stop(), other.ask_to_stop()));
}
