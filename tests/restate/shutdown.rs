//! Programs that are asked to end while an attempt runs.

use std::sync::Arc;
use std::time::Duration;

use ratchet::{
    CancelReason, Context, Contract, Enqueued, Failure, LedgerError, OutcomeKind, RecordId, RecordState,
    RetryPolicy, State, WorkerBuilder, registry,
};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::support::{Engine, Numbered, Serving, within};

const DESTINATION: Contract = Contract::header("Idempotency-Key");
const AT_ONCE: RetryPolicy = RetryPolicy::doubling(3, Duration::ZERO, Duration::ZERO);

#[derive(Debug, Clone, Default)]
struct Held {
    entered: Arc<Notify>,
    told: Arc<Notify>,
    go: Arc<Notify>,
}

/// Waits in its first attempt, whatever it is told.
#[ratchet::operation(name = "hold", version = "1", key = "hold:<id>", destination = DESTINATION, retry = AT_ONCE)]
async fn hold(ctx: Context, State(held): State<Held>, input: Numbered) -> Result<u64, Failure> {
    if ctx.attempt() == 1 {
        held.entered.notify_one();
        if ctx.cancellation().await == CancelReason::Shutdown {
            held.told.notify_one();
        }
        held.go.notified().await;
    }
    Ok(input.id)
}

struct Scene {
    engine: Engine,
    held: Held,
    id: RecordId,
    ends: JoinHandle<Result<(), LedgerError>>,
}

impl Scene {
    /// A program that has an attempt under way, and was asked to end.
    async fn ending(grace: Duration) -> Self {
        let engine = Engine::of_records().await;
        let held = Held::default();
        let set_up = |builder: WorkerBuilder| builder.state(held.clone()).grace(grace);
        let serving = Serving::attempts(&engine.server.url(), registry![hold], set_up).await;
        let job = Numbered { id: 1 };
        let Enqueued::New { id } = hold::enqueue(&engine.ratchet, job).await.unwrap() else {
            panic!("a new record")
        };
        within(held.entered.notified()).await;
        let ends = serving.ends();
        within(held.told.notified()).await;
        Self { engine, held, id, ends }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_ends_when_its_attempts_have() {
    let Scene { engine, held, id, ends } = Scene::ending(Duration::from_secs(30)).await;
    assert_eq!(engine.record(&id).await.state, RecordState::Running);
    assert!(!ends.is_finished());
    held.go.notify_one();
    within(ends).await.unwrap().unwrap();
    let record = engine.settled(&id).await;
    assert_eq!((record.state, record.token.get()), (RecordState::Succeeded, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_end_in_time_is_left_to_another_program() {
    let Scene { engine, id, ends, .. } = Scene::ending(Duration::from_millis(100)).await;
    within(ends).await.unwrap().unwrap();
    let attempts = engine.ratchet.attempts(id.clone()).await.unwrap();
    let end = attempts[0].end.as_ref().unwrap();
    assert_eq!((end.outcome, end.late), (OutcomeKind::Unknown, false));
    let set_up = |builder: WorkerBuilder| builder.state(Held::default());
    let _next = Serving::attempts(&engine.server.url(), registry![hold], set_up).await;
    let record = engine.settled(&id).await;
    assert_eq!((record.state, record.attempts), (RecordState::Succeeded, 2));
}
