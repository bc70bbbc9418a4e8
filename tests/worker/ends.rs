//! How attempts end early: shutdown, cancellation, a lost lease.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratchet::{
    Answer, CancelReason, CauseKind, Context, Contract, Failure, Input, Ratchet, RecordState, State,
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::support::{Stage, id_of, in_state, settled, start_with, within};

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Job {
    id: u64,
}

/// Ends when the test says so, whatever else happens.
#[ratchet::operation(name = "patient", version = "1", key = "patient:<id>", destination = Contract::header("Key"))]
async fn patient(ctx: Context, State(stage): State<Stage>, job: Job) -> Result<u64, Failure> {
    stage.entered.send(ctx).unwrap();
    stage.go.notified().await;
    Ok(job.id)
}

/// Stops as soon as it is told to, before it did anything.
#[ratchet::operation(name = "obedient", version = "1", key = "obedient:<id>")]
async fn obedient(ctx: Context, State(stage): State<Stage>, _job: Job) -> Result<String, Failure> {
    stage.entered.send(ctx.clone()).unwrap();
    let reason = ctx.cancellation().await;
    Err(Failure::not_applied(format_args!("stopped: {reason:?}")))
}

/// Keeps its thread until the test lets it go.
#[ratchet::operation(name = "blocking", version = "1", key = "blocking:<id>", timeout = "100ms")]
async fn blocking(ctx: Context, State(blocked): State<Blocked>, _job: Job) -> Result<(), Failure> {
    blocked.entered.send(ctx).unwrap();
    let _ = blocked.go.lock().unwrap().recv();
    Ok(())
}

#[derive(Clone)]
struct Blocked {
    entered: mpsc::UnboundedSender<Context>,
    go: Arc<Mutex<std::sync::mpsc::Receiver<()>>>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_its_thread_loses_its_lease_some_time_after_its_timeout() {
    let ratchet = Ratchet::in_memory();
    let (sender, mut entered) = mpsc::unbounded_channel();
    let (go, blocked) = std::sync::mpsc::channel();
    let blocked = Blocked { entered: sender, go: Arc::new(Mutex::new(blocked)) };
    let worker = start_with(
        ratchet.worker(ratchet::registry![blocking]).state(blocked).lease(Duration::from_millis(300)),
    );
    let id = id_of(blocking::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let ctx = within(entered.recv()).await.unwrap();
    assert_eq!(within(ctx.cancellation()).await, CancelReason::LeaseLost);
    drop(go);
    worker.stop().await;
    assert!(settled(&ratchet, &id).await.state.is_settled());
}

#[tokio::test]
async fn a_shutdown_waits_for_what_runs() {
    let ratchet = Ratchet::in_memory();
    let (stage, mut entered) = Stage::new();
    let worker = start_with(ratchet.worker(ratchet::registry![patient]).state(stage.clone()));
    let id = id_of(patient::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let ctx = within(entered.recv()).await.unwrap();
    let ended = worker.ask_to_stop();
    assert_eq!(within(ctx.cancellation()).await, CancelReason::Shutdown);
    stage.go.notify_one();
    within(ended).await.unwrap();
    assert_eq!(settled(&ratchet, &id).await.state, RecordState::Succeeded);
}

#[tokio::test]
async fn what_outlives_the_grace_is_unknown() {
    let ratchet = Ratchet::in_memory();
    let (stage, mut entered) = Stage::new();
    let worker =
        start_with(ratchet.worker(ratchet::registry![patient]).state(stage).grace(Duration::from_millis(10)));
    let id = id_of(patient::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    within(entered.recv()).await.unwrap();
    within(worker.ask_to_stop()).await.unwrap();
    let record = in_state(&ratchet, &id, RecordState::Pending).await;
    assert!(record.may_be_applied());
    assert_eq!(record.cause.unwrap().kind(), CauseKind::Shutdown);
}

#[tokio::test]
async fn nothing_is_started_after_a_shutdown_was_asked_for() {
    let ratchet = Ratchet::in_memory();
    let (stage, mut entered) = Stage::new();
    let worker = start_with(ratchet.worker(ratchet::registry![patient]).state(stage.clone()).concurrency(1));
    let first = id_of(patient::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    within(entered.recv()).await.unwrap();
    let second = id_of(patient::enqueue(&ratchet, Job { id: 2 }).await.unwrap());
    let ended = worker.ask_to_stop();
    stage.go.notify_one();
    within(ended).await.unwrap();
    assert_eq!(settled(&ratchet, &first).await.state, RecordState::Succeeded);
    let record = in_state(&ratchet, &second, RecordState::Pending).await;
    assert_eq!((record.attempts, record.token.get()), (0, 0));
}

#[tokio::test]
async fn a_running_handler_is_told_that_it_is_cancelled() {
    let ratchet = Ratchet::in_memory();
    let (stage, mut entered) = Stage::new();
    let worker = start_with(
        ratchet.worker(ratchet::registry![obedient]).state(stage).lease(Duration::from_millis(150)),
    );
    let id = id_of(obedient::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let ctx = within(entered.recv()).await.unwrap();
    let answer = ratchet.cancel(id.clone(), "operator", "the customer called").await.unwrap();
    assert_eq!(answer, Answer::CancelRequested);
    assert_eq!(within(ctx.cancellation()).await, CancelReason::Cancelled);
    let record = settled(&ratchet, &id).await;
    assert_eq!(record.state, RecordState::Cancelled);
    assert_eq!(record.cause.unwrap().detail(), "stopped: Cancelled");
    worker.stop().await;
}

#[tokio::test]
async fn a_lease_is_extended_while_the_handler_runs() {
    let ratchet = Ratchet::in_memory();
    let (stage, mut entered) = Stage::new();
    let worker = start_with(
        ratchet.worker(ratchet::registry![patient]).state(stage.clone()).lease(Duration::from_millis(150)),
    );
    let id = id_of(patient::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    within(entered.recv()).await.unwrap();
    let first = in_state(&ratchet, &id, RecordState::Running).await.lease.unwrap().until;
    let extended = |record: &ratchet::Record| record.lease.as_ref().is_some_and(|lease| lease.until > first);
    let record = crate::support::wait_until(&ratchet, &id, extended).await;
    assert_eq!(record.token.get(), 1);
    stage.go.notify_one();
    assert_eq!(settled(&ratchet, &id).await.attempts, 1);
    worker.stop().await;
}

#[tokio::test]
async fn a_handler_whose_lease_is_taken_is_told_and_has_no_say() {
    let ratchet = Ratchet::in_memory();
    let (stage, mut entered) = Stage::new();
    let worker = start_with(
        ratchet.worker(ratchet::registry![patient]).state(stage.clone()).lease(Duration::from_secs(3)),
    );
    let id = id_of(patient::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let ctx = within(entered.recv()).await.unwrap();
    // What another program's maintenance does after a lease has passed: here it simply settles it.
    let settle = ratchet::decide::Command::Settle {
        token: ctx.token(),
        outcome: ratchet::Outcome::Rejected {
            cause: ratchet::Cause::new(CauseKind::Handler, "decided elsewhere"),
            after_lookup: false,
        },
    };
    let order = ratchet::ledger::Order { id: id.clone(), command: settle };
    ratchet.ledger().apply(vec![order]).await.unwrap();
    assert_eq!(within(ctx.cancellation()).await, CancelReason::LeaseLost);
    // Its time is not over, and still it does not stand: the ledger has said so.
    assert!(ctx.check_lease().is_err());
    stage.go.notify_one();
    worker.stop().await;
    assert_eq!(settled(&ratchet, &id).await.state, RecordState::Failed);
}
