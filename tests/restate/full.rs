//! More work than a program has room for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ratchet::{Context, Contract, Failure, State, WorkerBuilder, registry};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::support::{Engine, Numbered, within};

const DESTINATION: Contract = Contract::header("Idempotency-Key");

/// One runs and 101 wait: so many are turned away.
const TURNED_AWAY: u64 = 20;
const RECORDS: u64 = 102 + TURNED_AWAY;

#[derive(Debug, Clone)]
struct Scene {
    executed: mpsc::UnboundedSender<u64>,
    go: Arc<Semaphore>,
}

#[ratchet::operation(name = "pack", version = "1", key = "pack:<id>", destination = DESTINATION)]
async fn pack(_ctx: Context, State(scene): State<Scene>, input: Numbered) -> Result<(), Failure> {
    let _go = scene.go.acquire().await;
    scene.executed.send(input.id).unwrap();
    Ok(())
}

/// A record tells again by itself only after half a minute.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_turned_away_is_asked_for_when_there_is_room() {
    let (executed, mut seen) = mpsc::unbounded_channel();
    let scene = Scene { executed, go: Arc::new(Semaphore::new(0)) };
    let state = scene.clone();
    let set_up = |builder: WorkerBuilder| builder.state(state).concurrency(1);
    let engine = Engine::start(registry![pack], set_up).await;
    let mut callers = JoinSet::new();
    for id in 0..RECORDS {
        let ratchet = engine.ratchet.clone();
        callers.spawn(async move { pack::enqueue(&ratchet, Numbered { id }).await.unwrap() });
    }
    callers.join_all().await;
    scene.go.add_permits(1);
    let mut ids = Vec::new();
    let mut last = Instant::now();
    let mut longest = Duration::ZERO;
    for _ in 0..RECORDS {
        ids.push(within(seen.recv()).await.unwrap());
        longest = longest.max(last.elapsed());
        last = Instant::now();
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..RECORDS).collect::<Vec<_>>());
    assert!(longest < Duration::from_secs(10), "{longest:?}");
}
