//! From what a handler returns to the state of the record.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ratchet::{
    CauseKind, Context, Contract, Enqueued, Failure, Input, OutcomeKind, Ratchet, RecordState, RetryPolicy,
    State, Uncertainty,
};
use serde::{Deserialize, Serialize};

use crate::support::{id_of, settled};

const DESTINATION: Contract = Contract::header("Idempotency-Key");
const AT_ONCE: RetryPolicy = RetryPolicy::doubling(3, Duration::ZERO, Duration::ZERO);

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Job {
    id: u64,
    #[serde(default)]
    kind: Kind,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
enum Kind {
    #[default]
    Done,
    Panic,
    NotAppliedOnce,
    NeverApplied,
    Rejected,
    ForeignError,
    HugeResult,
    Slow,
}

#[derive(Debug, Clone, Default)]
struct Calls(Arc<AtomicU32>);

async fn act(ctx: &Context, calls: &Calls, job: &Job) -> Result<String, Failure> {
    let call = calls.0.fetch_add(1, Ordering::SeqCst);
    match job.kind {
        Kind::Done => Ok(format!("{} by attempt {}", ctx.key(), ctx.attempt())),
        Kind::Panic => panic!("a secret in a panic"),
        Kind::NotAppliedOnce if call == 0 => Err(Failure::not_applied("not yet")),
        Kind::NotAppliedOnce => Ok("second".to_owned()),
        Kind::NeverApplied => Err(Failure::not_applied("not today")),
        Kind::Rejected => Err(Failure::rejected("the account is closed")),
        Kind::ForeignError => Ok("x".parse::<u8>().map(|_| String::new())?),
        Kind::HugeResult => Ok("x".repeat(70_000)),
        Kind::Slow => std::future::pending().await,
    }
}

#[ratchet::operation(name = "safe", version = "1", key = "safe:<id>", destination = DESTINATION, retry = AT_ONCE,
    timeout = "50ms")]
async fn safe(ctx: Context, State(calls): State<Calls>, job: Job) -> Result<String, Failure> {
    act(&ctx, &calls, &job).await
}

#[ratchet::operation(name = "unsafe_to_repeat", version = "1", key = "unsafe:<id>", retry = AT_ONCE, timeout = "50ms")]
async fn unsafe_to_repeat(ctx: Context, State(calls): State<Calls>, job: Job) -> Result<String, Failure> {
    act(&ctx, &calls, &job).await
}

#[ratchet::operation(name = "lossy", version = "1", key = "lossy:<id>", on_unknown = may_lose, retry = AT_ONCE)]
async fn lossy(ctx: Context, State(calls): State<Calls>, job: Job) -> Result<String, Failure> {
    act(&ctx, &calls, &job).await
}

#[ratchet::operation(name = "doubled", version = "1", key = "doubled:<id>", on_unknown = may_duplicate,
    retry = AT_ONCE)]
async fn doubled(ctx: Context, State(calls): State<Calls>, job: Job) -> Result<String, Failure> {
    act(&ctx, &calls, &job).await
}

/// Runs one job through one operation, and gives its record and how often the handler was called.
macro_rules! outcome_of {
    ($operation:ident, $kind:expr) => {{
        let ratchet = Ratchet::in_memory();
        let calls = Calls::default();
        let worker = ratchet.worker(ratchet::registry![$operation]).state(calls.clone());
        let worker = crate::support::start_with(worker.poll_interval(Duration::from_millis(5)));
        let id = id_of($operation::enqueue(&ratchet, Job { id: 7, kind: $kind }).await.unwrap());
        let record = settled(&ratchet, &id).await;
        worker.stop().await;
        (record, calls.0.load(Ordering::SeqCst), ratchet)
    }};
}

#[tokio::test]
async fn a_result_is_kept_for_duplicates() {
    let (record, calls, ratchet) = outcome_of!(safe, Kind::Done);
    assert_eq!((record.state, calls), (RecordState::Succeeded, 1));
    let again = safe::enqueue(&ratchet, Job { id: 7, kind: Kind::Done }).await.unwrap();
    let Enqueued::Existing { state: RecordState::Succeeded, result: Some(result), .. } = again else {
        panic!("expected the stored result, got {again:?}")
    };
    assert_eq!(result, "safe:7 by attempt 1");
}

#[tokio::test]
async fn what_was_not_applied_is_tried_again() {
    let (record, calls, ratchet) = outcome_of!(unsafe_to_repeat, Kind::NotAppliedOnce);
    assert_eq!((record.state, record.attempts, calls), (RecordState::Succeeded, 2, 2));
    let attempts = ratchet.attempts(record.id).await.unwrap();
    let ends: Vec<_> = attempts.iter().map(|attempt| attempt.end.as_ref().unwrap().outcome).collect();
    assert_eq!(ends, [OutcomeKind::NotApplied, OutcomeKind::Done]);
}

#[tokio::test]
async fn attempts_that_certainly_did_nothing_are_exhausted() {
    let (record, calls, _) = outcome_of!(unsafe_to_repeat, Kind::NeverApplied);
    assert_eq!((record.state, calls), (RecordState::Exhausted, 3));
}

#[tokio::test]
async fn a_rejection_fails_and_keeps_the_key() {
    let (record, calls, ratchet) = outcome_of!(safe, Kind::Rejected);
    assert_eq!((record.state, calls), (RecordState::Failed, 1));
    assert_eq!(record.cause.unwrap().detail(), "the account is closed");
    let again = safe::enqueue(&ratchet, Job { id: 7, kind: Kind::Rejected }).await.unwrap();
    assert!(matches!(again, Enqueued::Ended { state: RecordState::Failed, .. }), "{again:?}");
}

#[tokio::test]
async fn a_panic_is_unknown_and_its_text_is_not_kept() {
    let (record, calls, _) = outcome_of!(unsafe_to_repeat, Kind::Panic);
    assert_eq!((record.state, calls), (RecordState::Uncertain, 1));
    assert_eq!(record.uncertainty, Some(Uncertainty::NoDeduplication));
    let cause = record.cause.unwrap();
    assert_eq!((cause.kind(), cause.detail()), (CauseKind::Panic, "the handler panicked"));
}

#[tokio::test]
async fn where_the_destination_deduplicates_an_unknown_outcome_is_tried_again() {
    let (record, calls, _) = outcome_of!(safe, Kind::ForeignError);
    assert_eq!((record.state, calls), (RecordState::Uncertain, 3));
    assert_eq!(record.uncertainty, Some(Uncertainty::AttemptsSpent));
    assert_eq!(record.cause.unwrap().to_string(), "error: invalid digit found in string");
}

#[tokio::test]
async fn a_timeout_is_unknown() {
    let (record, calls, _) = outcome_of!(unsafe_to_repeat, Kind::Slow);
    assert_eq!((record.state, calls), (RecordState::Uncertain, 1));
    assert_eq!(record.cause.unwrap().kind(), CauseKind::Timeout);
}

#[tokio::test]
async fn the_tradeoff_says_what_follows_an_unknown_outcome() {
    let (record, calls, _) = outcome_of!(lossy, Kind::ForeignError);
    assert_eq!((record.state, calls), (RecordState::Abandoned, 1));
    let (record, calls, _) = outcome_of!(doubled, Kind::ForeignError);
    assert_eq!((record.state, calls), (RecordState::Uncertain, 3));
}

#[tokio::test]
async fn a_result_that_cannot_be_kept_is_a_success_without_one() {
    let (record, calls, ratchet) = outcome_of!(unsafe_to_repeat, Kind::HugeResult);
    assert_eq!((record.state, calls, record.result.is_none()), (RecordState::Succeeded, 1, true));
    assert_eq!(record.cause.unwrap().kind(), CauseKind::UnstorableResult);
    let again = unsafe_to_repeat::enqueue(&ratchet, Job { id: 7, kind: Kind::HugeResult }).await.unwrap();
    assert!(matches!(again, Enqueued::Existing { result: None, .. }), "{again:?}");
}

#[tokio::test]
async fn a_new_record_wakes_a_sleeping_worker() {
    let ratchet = Ratchet::in_memory();
    let calls = Calls::default();
    let worker = crate::support::start_with(
        ratchet.worker(ratchet::registry![safe]).state(calls).poll_interval(Duration::from_hours(1)),
    );
    for id in 0..3 {
        let id = id_of(safe::enqueue(&ratchet, Job { id, kind: Kind::Done }).await.unwrap());
        assert_eq!(settled(&ratchet, &id).await.state, RecordState::Succeeded);
    }
    worker.stop().await;
}
