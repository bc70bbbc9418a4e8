//! A run: starts the server, lets everybody work for a while, waits for the rest, and counts.

mod connection;
mod destination;
mod latency;
mod producer;
mod report;
mod server;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ratchet::{Ratchet, RecordState};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use destination::Destination;
use latency::Latencies;
pub(crate) use report::Report;
pub(crate) use server::Kind;
use server::{Served, Usage};

/// What is done for how long.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) store: Kind,
    pub(crate) workers: usize,
    pub(crate) producers: usize,
    /// For how long orders come.
    pub(crate) span: Duration,
    /// Between two orders of a producer.
    pub(crate) pace: Duration,
    /// Between two claims of a worker to which nothing was given.
    pub(crate) idle: Duration,
    /// How long the server lets a claim wait.
    pub(crate) claim_wait: Duration,
    /// Between two looks at the server's memory.
    pub(crate) sample: Duration,
    /// How long an attempt may take: what a worker drops is taken up by another one after as long.
    pub(crate) attempt: Duration,
}

/// What all clients share.
struct Shared {
    plan: Plan,
    address: String,
    producer_key: String,
    worker_key: String,
    destination: Destination,
    latencies: Latencies,
    orders: AtomicU64,
    jobs: AtomicU64,
    /// Jobs that a worker dropped after the effect, as one that dies does.
    dropped: AtomicU64,
    /// Connections that ended under a request.
    broken: AtomicU64,
    /// Answers that asked to come again later.
    refused: AtomicU64,
    enough: CancellationToken,
    over: CancellationToken,
}

/// How long the rest may take when no more orders come.
const PATIENCE: Duration = Duration::from_mins(3);

pub(crate) async fn run(plan: &Plan) -> Report {
    let served = Served::start(plan.store, plan.claim_wait).await;
    let shared = Arc::new(Shared {
        address: served.address.clone(),
        producer_key: served.key("producer"),
        worker_key: served.key("worker"),
        plan: plan.clone(),
        destination: Destination::default(),
        latencies: Latencies::default(),
        orders: AtomicU64::default(),
        jobs: AtomicU64::default(),
        dropped: AtomicU64::default(),
        broken: AtomicU64::default(),
        refused: AtomicU64::default(),
        enough: CancellationToken::new(),
        over: CancellationToken::new(),
    });
    set_policy(&served).await;
    let mut workers = JoinSet::new();
    for number in 0..plan.workers {
        workers.spawn(worker::live(Arc::clone(&shared), number));
    }
    let mut producers = JoinSet::new();
    for number in 0..plan.producers {
        producers.spawn(producer::live(Arc::clone(&shared), number));
    }
    let begun = Instant::now();
    let mut usage = vec![served.usage()];
    while begun.elapsed() < plan.span {
        sleep(plan.sample.min(plan.span.saturating_sub(begun.elapsed()))).await;
        usage.push(served.usage());
        say_how_far(&shared, begun, usage.last());
    }
    shared.enough.cancel();
    while producers.join_next().await.is_some() {}
    let took = begun.elapsed();
    wait_for_the_rest(&shared).await;
    usage.push(served.usage());
    shared.over.cancel();
    while workers.join_next().await.is_some() {}
    let states = states(&served).await;
    Report::of(&shared, took, usage, states)
}

/// So that what a worker dropped is tried again soon, and as often as it takes.
async fn set_policy(served: &Served) {
    let operator = served.key("operator");
    let quick = serde_json::json!({
        "preset": "CUSTOM", "maxAttempts": 50, "initialDelayMs": 1000, "multiplier": 1.0, "maxDelayMs": 1000,
        "jitterPercent": 0.0
    });
    let mut line = connection::Line::new(&served.address, &operator);
    let set = line.send("PUT", "/endpoints/charge/policy", &quick).await.expect("the policy is set");
    assert_eq!(set.status, 200, "{}", set.body);
}

fn say_how_far(shared: &Shared, begun: Instant, usage: Option<&Usage>) {
    let memory = usage.map_or(0, |usage| usage.memory_kib / 1024);
    let (accepted, applied) = (shared.destination.accepted(), shared.destination.applied());
    eprintln!("{:>4} s: {accepted} accepted, {applied} applied, {memory} MiB", begun.elapsed().as_secs());
}

async fn wait_for_the_rest(shared: &Shared) {
    let since = Instant::now();
    // A job that was dropped is reported by its next attempt, after its effect is counted.
    while shared.destination.unsettled() > 0 && since.elapsed() < PATIENCE {
        sleep(Duration::from_millis(100)).await;
    }
}

/// How many records the store has in each state.
async fn states(served: &Served) -> Vec<(RecordState, u64)> {
    let ratchet = Ratchet::open(&served.store).await.expect("the store opens");
    let census = ratchet.census().await.expect("the records are counted");
    census.iter().map(|count| (count.state, count.records)).collect()
}

fn next(counter: &AtomicU64) -> u64 {
    counter.fetch_add(1, Ordering::Relaxed) + 1
}
