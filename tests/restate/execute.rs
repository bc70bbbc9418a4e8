//! From the submission to the settled record, through the engine.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratchet::{
    Conflict, Context, Contract, Enqueued, Failure, Input, OutcomeKind, RecordState, RetryPolicy, State,
    Uncertainty,
};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::support::{Engine, within};

const DESTINATION: Contract = Contract::header("Idempotency-Key");
const SOON: RetryPolicy = RetryPolicy::doubling(3, Duration::from_millis(300), Duration::from_secs(1));

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Job {
    id: String,
    cents: u64,
}

/// A destination that counts what it is sent under each key, and lets the test hold a call.
#[derive(Debug, Clone, Default)]
struct Destination {
    calls: Arc<Mutex<BTreeMap<String, u32>>>,
    entered: Arc<Notify>,
    go: Arc<Notify>,
}

impl Destination {
    fn call(&self, key: &str) -> u32 {
        let mut calls = self.calls.lock().unwrap();
        let count = calls.entry(key.to_owned()).or_default();
        *count += 1;
        *count
    }

    fn calls(&self) -> BTreeMap<String, u32> {
        self.calls.lock().unwrap().clone()
    }
}

#[ratchet::operation(name = "collect", version = "1", key = "collect:<id>", destination = DESTINATION, retry = SOON)]
async fn collect(ctx: Context, State(to): State<Destination>, job: Job) -> Result<String, Failure> {
    match (job.id.as_str(), to.call(ctx.key())) {
        ("flaky", 1) => Err(Failure::not_applied("not yet")),
        ("held", _) => {
            to.entered.notify_one();
            to.go.notified().await;
            Ok("held".to_owned())
        }
        (_, call) => Ok(format!("{} cents by call {call}", job.cents)),
    }
}

/// Its destination recognises nothing, so what is not known is never sent again.
#[ratchet::operation(name = "letter", version = "1", key = "letter:<id>", on_unknown = park)]
async fn letter(ctx: Context, State(to): State<Destination>, job: Job) -> Result<String, Failure> {
    match (job.id.as_str(), to.call(ctx.key())) {
        ("lost", 1) => Err(Failure::unknown("the line was cut")),
        ("held", 1) => {
            to.entered.notify_one();
            ctx.cancellation().await;
            Err(Failure::unknown("told to stop"))
        }
        _ => Ok("sent".to_owned()),
    }
}

fn job(id: &str) -> Job {
    Job { id: id.to_owned(), cents: 1200 }
}

async fn start() -> (Engine, Destination) {
    let destination = Destination::default();
    let state = destination.clone();
    let engine = Engine::start(ratchet::registry![collect, letter], |builder| builder.state(state)).await;
    (engine, destination)
}

fn id_of<T: std::fmt::Debug>(answer: Enqueued<T>) -> ratchet::RecordId {
    match answer {
        Enqueued::New { id } => id,
        other => panic!("expected a new record, got {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_is_executed_once_however_often_it_is_submitted() {
    let (engine, destination) = start().await;
    let id = id_of(collect::enqueue(&engine.ratchet, job("one")).await.unwrap());
    let record = engine.settled(&id).await;
    assert_eq!(record.state, RecordState::Succeeded);
    assert_eq!(record.result.unwrap().as_str(), r#""1200 cents by call 1""#);

    let again = collect::enqueue(&engine.ratchet, job("one")).await.unwrap();
    assert!(matches!(again, Enqueued::Existing { result: Some(_), .. }), "{again:?}");
    let other = collect::enqueue(&engine.ratchet, Job { cents: 99, ..job("one") }).await;
    assert_eq!(other.unwrap(), Enqueued::Conflict(Conflict::OtherInput));
    assert_eq!(destination.calls(), BTreeMap::from([("collect:one".to_owned(), 1)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_callers_one_makes_the_record() {
    let (engine, destination) = start().await;
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..30 {
        let ratchet = engine.ratchet.clone();
        callers.spawn(async move { collect::enqueue(&ratchet, job("one")).await.unwrap() });
    }
    let answers = callers.join_all().await;
    let new: Vec<_> = answers.iter().filter(|answer| matches!(answer, Enqueued::New { .. })).collect();
    assert_eq!(new.len(), 1);
    let Enqueued::New { id } = new[0] else { unreachable!() };
    engine.settled(id).await;
    assert_eq!(destination.calls(), BTreeMap::from([("collect:one".to_owned(), 1)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_applied_is_tried_again_when_it_is_time() {
    let (engine, destination) = start().await;
    let id = id_of(collect::enqueue(&engine.ratchet, job("flaky")).await.unwrap());
    let record = engine.settled(&id).await;
    assert_eq!((record.state, record.token.get()), (RecordState::Succeeded, 2));
    let attempts = engine.ratchet.attempts(id).await.unwrap();
    let ends: Vec<_> = attempts.iter().map(|attempt| attempt.end.as_ref().unwrap().outcome).collect();
    assert_eq!(ends, [OutcomeKind::NotApplied, OutcomeKind::Done]);
    let waited = attempts[1].leased_at.since(attempts[0].end.as_ref().unwrap().at);
    assert!(waited >= Duration::from_millis(200), "{waited:?}");
    assert_eq!(destination.calls(), BTreeMap::from([("collect:flaky".to_owned(), 2)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_known_is_parked_until_somebody_settles_it() {
    let (engine, destination) = start().await;
    let id = id_of(letter::enqueue(&engine.ratchet, job("lost")).await.unwrap());
    let record = engine.settled(&id).await;
    assert_eq!(
        (record.state, record.uncertainty),
        (RecordState::Uncertain, Some(Uncertainty::NoDeduplication))
    );
    engine.ratchet.replay(id.clone(), "ada", "nothing has arrived", true).await.unwrap();
    let record = engine.wait_until(&id, |record| record.state == RecordState::Succeeded).await;
    assert_eq!(record.token.get(), 2);
    assert_eq!(destination.calls(), BTreeMap::from([("letter:lost".to_owned(), 2)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_cancelled_during_its_effect_is_uncertain() {
    let (engine, destination) = start().await;
    let id = id_of(letter::enqueue(&engine.ratchet, job("held")).await.unwrap());
    within(destination.entered.notified()).await;
    engine.ratchet.cancel(id.clone(), "ada", "not any more").await.unwrap();
    let record = engine.settled(&id).await;
    assert_eq!((record.state, record.uncertainty), (RecordState::Uncertain, Some(Uncertainty::Cancelled)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_killed_loses_nothing_and_stops_no_attempt() {
    let (mut engine, destination) = start().await;
    let held = id_of(collect::enqueue(&engine.ratchet, job("held")).await.unwrap());
    within(destination.entered.notified()).await;
    tokio::task::block_in_place(|| engine.server.kill_and_restart());
    destination.go.notify_one();
    let record = engine.settled(&held).await;
    assert_eq!((record.state, record.token.get()), (RecordState::Succeeded, 1));
    let after = id_of(collect::enqueue(&engine.ratchet, job("after")).await.unwrap());
    assert_eq!(engine.settled(&after).await.state, RecordState::Succeeded);
    let calls = BTreeMap::from([("collect:after".to_owned(), 1), ("collect:held".to_owned(), 1)]);
    assert_eq!(destination.calls(), calls);
}
