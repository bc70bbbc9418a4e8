//! Attempts that somebody else asks for, as an engine does that pushes.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ratchet::decide::Command;
use ratchet::ledger::Order;
use ratchet::{
    Cause, CauseKind, Context, Contract, Failure, Found, Generation, Input, Inquiry, LedgerError, Namespace,
    OnUnknown, OperationName, Outcome, Payload, Policy, Priority, Queue, Ratchet, RecordId, RecordState,
    RetryPolicy, State, Submission, Submitted, Token, Uncertainty, Version, Worker, WorkerBuilder, WorkerId,
};
use ratchet_core::Attempted;
use ratchet_core::decide::Refusal;
use serde::{Deserialize, Serialize};

use crate::faulty::{Call, Fault, FaultyLedger};
use crate::support::{Stage, id_of, record, within};

const AT_ONCE: RetryPolicy = RetryPolicy::doubling(3, Duration::ZERO, Duration::ZERO);

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Job {
    id: u64,
}

/// How often a destination was called.
#[derive(Debug, Clone, Default)]
struct Calls(Arc<AtomicU32>);

impl Calls {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

#[ratchet::operation(name = "letter", version = "1", key = "letter:<id>")]
async fn letter(_ctx: Context, State(calls): State<Calls>, _job: Job) -> Result<(), Failure> {
    calls.add();
    Err(Failure::unknown("the line was cut"))
}

#[ratchet::operation(name = "wire", version = "1", key = "wire:<id>", destination = none, reconcile = look_up)]
async fn wire(_ctx: Context, State(_calls): State<Calls>, _job: Job) -> Result<(), Failure> {
    Err(Failure::unknown("the line was cut"))
}

async fn look_up(about: Inquiry, _job: Job) -> Result<Found<()>, Failure> {
    about.state::<Calls>()?.add();
    Ok(Found::Applied(()))
}

#[ratchet::operation(name = "waits_for_go", version = "1", key = "go:<id>")]
async fn waits_for_go(ctx: Context, State(stage): State<Stage>, _job: Job) -> Result<(), Failure> {
    stage.entered.send(ctx).unwrap();
    stage.go.notified().await;
    Ok(())
}

/// A letter as a producer submits it that knows nothing of the operation.
async fn undeclared_letter(ratchet: &Ratchet) -> RecordId {
    let submission = Submission {
        id: RecordId {
            namespace: Namespace::DEFAULT,
            operation: OperationName::from_static("letter"),
            key: letter::key(&Job { id: 1 }).unwrap(),
            generation: Generation::FIRST,
        },
        version: Version::from_static("1"),
        input: Payload::from_stored(r#"{"id":1}"#),
        compared: None,
        policy: Policy { on_unknown: OnUnknown::MayDuplicate, retry: AT_ONCE, ..Policy::DEFAULT },
        contract: Contract::NONE.terms(),
        not_before: None,
        queue: Queue::DEFAULT,
        priority: Priority::default(),
        group: None,
        after: None,
        renewal: None,
        trace: None,
    };
    match &ratchet.ledger().submit(vec![submission]).await.unwrap()[..] {
        [Submitted::New { id }] => id.clone(),
        other => panic!("expected a new record, got {other:?}"),
    }
}

fn letter_worker(ratchet: &Ratchet) -> (Worker, Calls) {
    let calls = Calls::default();
    let worker = ratchet.worker(ratchet::registry![letter]).state(calls.clone()).build().unwrap();
    (worker, calls)
}

#[tokio::test]
async fn what_was_submitted_under_a_laxer_policy_is_held_to_the_declared_one() {
    let ratchet = Ratchet::in_memory();
    let (worker, calls) = letter_worker(&ratchet);
    let id = undeclared_letter(&ratchet).await;
    assert!(matches!(worker.attempt(id.clone()).await, Ok(Attempted::Ended(Outcome::Unknown { .. }))));
    let record = record(&ratchet, &id).await;
    assert_eq!(
        (record.state, record.uncertainty, calls.count()),
        (RecordState::Uncertain, Some(Uncertainty::NoDeduplication), 1)
    );
}

#[tokio::test]
async fn what_may_have_happened_under_a_laxer_policy_is_not_repeated() {
    let ratchet = Ratchet::in_memory();
    let (worker, calls) = letter_worker(&ratchet);
    let id = undeclared_letter(&ratchet).await;
    let token = Token::new(1);
    let lease = Command::Lease {
        worker: WorkerId::from_static("earlier"),
        duration: Duration::from_secs(30),
        start_if_safe: false,
    };
    let outcome = Outcome::unknown(Cause::new(CauseKind::Handler, "the line was cut"));
    for command in [lease, Command::Start { token }, Command::Settle { token, outcome }] {
        let order = Order { id: id.clone(), command };
        ratchet.ledger().apply(vec![order]).await.unwrap().remove(0).unwrap();
    }
    let refused = Refusal::NotRepeatable(Uncertainty::NoDeduplication);
    assert_eq!(worker.attempt(id.clone()).await.unwrap(), Attempted::Refused(refused));
    assert_eq!((record(&ratchet, &id).await.state, calls.count()), (RecordState::Uncertain, 0));
}

#[tokio::test]
async fn a_record_that_could_not_be_held_to_the_declared_policy_is_given_back() {
    let (ratchet, ledger) = FaultyLedger::ratchet();
    let (worker, calls) = letter_worker(&ratchet);
    let id = undeclared_letter(&ratchet).await;
    ledger.set(Some((Call::Adopt, Fault::FailOnce)));
    assert!(matches!(worker.attempt(id.clone()).await, Err(LedgerError::Store { .. })));
    let given_back = record(&ratchet, &id).await;
    assert_eq!(
        (given_back.state, given_back.attempts, given_back.lease, calls.count()),
        (RecordState::Pending, 0, None, 0)
    );
}

/// A worker with one place, and an attempt that takes it.
struct OnePlace {
    ratchet: Ratchet,
    worker: Arc<Worker>,
    stage: Stage,
}

impl OnePlace {
    async fn taken(registry: ratchet::Registry, set_up: impl FnOnce(WorkerBuilder) -> WorkerBuilder) -> Self {
        let ratchet = Ratchet::in_memory();
        let (stage, mut entered) = Stage::new();
        let builder = ratchet.worker(registry).state(stage.clone()).concurrency(1);
        let scene = Self { worker: Arc::new(set_up(builder).build().unwrap()), ratchet, stage };
        let (id, worker) = (scene.staged(0).await, scene.worker.clone());
        tokio::spawn(async move { worker.attempt(id).await });
        within(entered.recv()).await.unwrap();
        scene
    }

    async fn staged(&self, id: u64) -> RecordId {
        id_of(waits_for_go::enqueue(&self.ratchet, Job { id }).await.unwrap())
    }
}

/// What it answers if it need not wait.
async fn at_once<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        answer = work => Some(answer),
        () = std::future::ready(()) => None,
    }
}

/// A record to ask about, where the only place is taken.
async fn a_question_and_no_place() -> (OnePlace, Calls, RecordId) {
    let calls = Calls::default();
    let state = calls.clone();
    let scene = OnePlace::taken(ratchet::registry![waits_for_go, wire], |builder| builder.state(state)).await;
    let id = id_of(wire::enqueue(&scene.ratchet, Job { id: 1 }).await.unwrap());
    let other = scene.ratchet.worker(ratchet::registry![wire]).state(calls.clone()).build().unwrap();
    other.attempt(id.clone()).await.unwrap();
    (scene, calls, id)
}

#[tokio::test]
async fn a_question_waits_for_its_turn_as_an_attempt_does() {
    let (scene, calls, id) = a_question_and_no_place().await;
    assert_eq!(record(&scene.ratchet, &id).await.state, RecordState::Uncertain);

    let mut asks = Box::pin(scene.worker.attempt(id.clone()));
    assert!(at_once(&mut asks).await.is_none());
    assert_eq!(calls.count(), 0);
    scene.stage.go.notify_one();
    assert_eq!(within(asks).await.unwrap(), Attempted::Asked);
    assert_eq!((record(&scene.ratchet, &id).await.state, calls.count()), (RecordState::Succeeded, 1));
}

#[tokio::test]
async fn a_worker_that_stops_asks_no_more_questions() {
    let (scene, calls, id) = a_question_and_no_place().await;

    let mut asks = Box::pin(scene.worker.attempt(id));
    assert!(at_once(&mut asks).await.is_none());
    let mut stops = Box::pin(scene.worker.stop());
    assert!(at_once(&mut stops).await.is_none());
    assert_eq!(within(asks).await.unwrap(), Attempted::Stopping);
    scene.stage.go.notify_one();
    within(stops).await;
    assert_eq!(calls.count(), 0);
}

#[tokio::test]
async fn of_many_attempts_that_are_asked_for_at_once_some_are_turned_away_until_few_wait() {
    let scene = OnePlace::taken(ratchet::registry![waits_for_go], |builder| builder).await;
    let mut waiting: Vec<Pin<Box<dyn Future<Output = _>>>> = Vec::new();
    for id in 1..=101 {
        let mut attempt = Box::pin(scene.worker.attempt(scene.staged(id).await));
        assert!(at_once(&mut attempt).await.is_none(), "{id}");
        waiting.push(attempt);
    }
    let more = scene.staged(102).await;
    assert_eq!(within(scene.worker.attempt(more.clone())).await.unwrap(), Attempted::Full);
    assert_eq!(record(&scene.ratchet, &more).await.state, RecordState::Pending);
    assert!(at_once(scene.worker.room()).await.is_none());
    waiting.truncate(50);
    assert_eq!(at_once(scene.worker.room()).await, Some(51));
    assert!(at_once(scene.worker.attempt(more)).await.is_none(), "it waits");
}
