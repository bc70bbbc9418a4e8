//! From the submission to the settled record.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use ratchet::{
    Conflict, Context, Contract, Enqueued, Failure, Input, OutcomeKind, RecordState, RetryPolicy, State,
    Uncertainty,
};
use serde::{Deserialize, Serialize};

use crate::destination::{Destination, id_of};
use crate::running::{Running, Store, within};

const DESTINATION: Contract = Contract::header("Idempotency-Key");
const SOON: RetryPolicy = RetryPolicy::doubling(3, Duration::from_millis(300), Duration::from_secs(1));

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Job {
    id: String,
    cents: u64,
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

async fn start(store: Store) -> (Running, Destination) {
    let destination = Destination::default();
    let state = destination.clone();
    let running =
        Running::start(store, ratchet::registry![collect, letter], |builder| builder.state(state)).await;
    (running, destination)
}

pub(crate) async fn an_operation_is_executed_once_however_often_it_is_submitted(store: Store) {
    let (running, destination) = start(store).await;
    let id = id_of(collect::enqueue(&running.ratchet, job("one")).await.unwrap());
    let record = running.settled(&id).await;
    assert_eq!(record.state, RecordState::Succeeded);
    assert_eq!(record.result.unwrap().as_str(), r#""1200 cents by call 1""#);

    let again = collect::enqueue(&running.ratchet, job("one")).await.unwrap();
    assert!(matches!(again, Enqueued::Existing { result: Some(_), .. }), "{again:?}");
    let other = collect::enqueue(&running.ratchet, Job { cents: 99, ..job("one") }).await;
    assert_eq!(other.unwrap(), Enqueued::Conflict(Conflict::OtherInput));
    assert_eq!(destination.calls(), BTreeMap::from([("collect:one".to_owned(), 1)]));
}

pub(crate) async fn of_many_callers_one_makes_the_record(store: Store) {
    let (running, destination) = start(store).await;
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..30 {
        let ratchet = running.ratchet.clone();
        callers.spawn(async move { collect::enqueue(&ratchet, job("one")).await.unwrap() });
    }
    let answers = callers.join_all().await;
    let new: Vec<_> = answers.iter().filter(|answer| matches!(answer, Enqueued::New { .. })).collect();
    assert_eq!(new.len(), 1);
    let Enqueued::New { id } = new[0] else { unreachable!() };
    running.settled(id).await;
    assert_eq!(destination.calls(), BTreeMap::from([("collect:one".to_owned(), 1)]));
}

pub(crate) async fn what_was_not_applied_is_tried_again_when_it_is_time(store: Store) {
    let (running, destination) = start(store).await;
    let id = id_of(collect::enqueue(&running.ratchet, job("flaky")).await.unwrap());
    let record = running.settled(&id).await;
    assert_eq!((record.state, record.token.get()), (RecordState::Succeeded, 2));
    let attempts = running.ratchet.attempts(id).await.unwrap();
    let ends: Vec<_> = attempts.iter().map(|attempt| attempt.end.as_ref().unwrap().outcome).collect();
    assert_eq!(ends, [OutcomeKind::NotApplied, OutcomeKind::Done]);
    let waited = attempts[1].leased_at.since(attempts[0].end.as_ref().unwrap().at);
    assert!(waited >= Duration::from_millis(200), "{waited:?}");
    assert_eq!(destination.calls(), BTreeMap::from([("collect:flaky".to_owned(), 2)]));
}

pub(crate) async fn what_is_not_known_is_parked_until_somebody_settles_it(store: Store) {
    let (running, destination) = start(store).await;
    let id = id_of(letter::enqueue(&running.ratchet, job("lost")).await.unwrap());
    let record = running.settled(&id).await;
    assert_eq!(
        (record.state, record.uncertainty),
        (RecordState::Uncertain, Some(Uncertainty::NoDeduplication))
    );
    running.ratchet.replay(id.clone(), "ada", "nothing has arrived", true).await.unwrap();
    let record = running.until(&id, |record| record.state == RecordState::Succeeded).await;
    assert_eq!(record.token.get(), 2);
    assert_eq!(destination.calls(), BTreeMap::from([("letter:lost".to_owned(), 2)]));
}

pub(crate) async fn what_is_cancelled_during_its_effect_is_uncertain(store: Store) {
    let (running, destination) = start(store).await;
    let id = id_of(letter::enqueue(&running.ratchet, job("held")).await.unwrap());
    within(destination.entered.notified()).await;
    running.ratchet.cancel(id.clone(), "ada", "not any more").await.unwrap();
    let record = running.settled(&id).await;
    assert_eq!((record.state, record.uncertainty), (RecordState::Uncertain, Some(Uncertainty::Cancelled)));
}

pub(crate) async fn what_is_not_due_waits(store: Store) {
    let (running, destination) = start(store).await;
    let later = collect::enqueue(&running.ratchet, job("later"));
    let id = id_of(later.not_before(SystemTime::now() + Duration::from_millis(1_500)).await.unwrap());
    let now = id_of(collect::enqueue(&running.ratchet, job("now")).await.unwrap());
    running.settled(&now).await;
    assert_eq!(destination.calls(), BTreeMap::from([("collect:now".to_owned(), 1)]));
    let record = running.settled(&id).await;
    let attempts = running.ratchet.attempts(id).await.unwrap();
    let waited = attempts[0].leased_at.since(record.created_at);
    assert!(waited >= Duration::from_secs(1), "{waited:?}");
}
