//! A worker whose ledger fails, and handlers that lose sight of what they sent.

use std::time::{Duration, Instant};

use ratchet::{
    CancelReason, Cause, CauseKind, Context, Contract, Failure, Fingerprint, Input, OutcomeKind, Ratchet,
    RecordState, State,
};
use serde::{Deserialize, Serialize};

use crate::faulty::{Call, Fault, FaultyLedger};
use crate::support::{Stage, id_of, in_state, record, settled, start_with, wait_until, within};

const LEASE: Duration = Duration::from_millis(150);

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Job {
    id: u64,
}

#[ratchet::operation(name = "staged", version = "1", key = "staged:<id>")]
async fn staged(ctx: Context, State(stage): State<Stage>, _job: Job) -> Result<(), Failure> {
    stage.entered.send(ctx).unwrap();
    stage.go.notified().await;
    Ok(())
}

/// Sends twice: the first answer is lost, and the second one is certain.
#[ratchet::operation(name = "sends_twice", version = "1", key = "twice:<id>")]
async fn sends_twice(ctx: Context, _job: Job) -> Result<(), Failure> {
    ctx.pin("scope", Fingerprint::of(b"body")).await?;
    drop(ctx.begin_send());
    Err(ctx.begin_send().failed(Failure::rejected("401")))
}

/// Acts, and then finds its lease gone.
#[ratchet::operation(name = "acts_and_checks", version = "1", key = "acts:<id>")]
async fn acts_and_checks(ctx: Context, State(stage): State<Stage>, _job: Job) -> Result<(), Failure> {
    ctx.begin_send().acted();
    stage.entered.send(ctx.clone()).unwrap();
    ctx.cancellation().await;
    ctx.check_lease()
}

/// Learns from the answer to its only send that it was refused.
#[ratchet::operation(name = "refused", version = "1", key = "refused:<id>", destination = Contract::header("Key"))]
async fn refused(ctx: Context, _job: Job) -> Result<(), Failure> {
    ctx.begin_send().acted();
    Err(Failure::rejected("the answer says: declined"))
}

#[tokio::test]
async fn a_certain_answer_does_not_hide_an_earlier_send_without_one() {
    let ratchet = Ratchet::in_memory();
    let worker = start_with(ratchet.worker(ratchet::registry![sends_twice]));
    let id = id_of(sends_twice::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let record = settled(&ratchet, &id).await;
    assert_eq!((record.state, record.may_be_applied()), (RecordState::Uncertain, true));
    assert_eq!(record.cause, Some(Cause::new(CauseKind::Handler, "401")));
    worker.stop().await;
}

#[tokio::test]
async fn what_an_answer_says_is_certain() {
    let ratchet = Ratchet::in_memory();
    let worker = start_with(ratchet.worker(ratchet::registry![refused]));
    let id = id_of(refused::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    assert_eq!(settled(&ratchet, &id).await.state, RecordState::Failed);
    worker.stop().await;
}

#[tokio::test]
async fn a_lost_lease_after_an_effect_is_unknown_and_never_not_applied() {
    let (ratchet, ledger) = FaultyLedger::ratchet();
    let (stage, mut entered) = Stage::new();
    let worker = start_with(ratchet.worker(ratchet::registry![acts_and_checks]).state(stage).lease(LEASE));
    let id = id_of(acts_and_checks::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let ctx = within(entered.recv()).await.unwrap();
    ledger.set(Some((Call::Renew, Fault::Hang)));
    assert_eq!(within(ctx.cancellation()).await, CancelReason::LeaseLost);
    ledger.set(None);
    let record = in_state(&ratchet, &id, RecordState::Uncertain).await;
    assert!(record.may_be_applied());
    worker.stop().await;
}

/// A transaction of somebody's own that cancels a record keeps it locked for as long as it likes.
#[tokio::test]
async fn a_record_that_somebody_keeps_locked_costs_no_lease_but_its_own() {
    let (ratchet, ledger) = FaultyLedger::ratchet();
    let (stage, mut entered) = Stage::new();
    let worker = start_with(ratchet.worker(ratchet::registry![staged]).state(stage.clone()).lease(LEASE));
    let locked = id_of(staged::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let lost = within(entered.recv()).await.unwrap();
    let _id = id_of(staged::enqueue(&ratchet, Job { id: 2 }).await.unwrap());
    let kept = within(entered.recv()).await.unwrap();
    ledger.hold(Some(locked));
    assert_eq!(within(lost.cancellation()).await, CancelReason::LeaseLost);
    assert_eq!((kept.cancelled(), kept.check_lease().is_ok()), (None, true));
    ledger.hold(None);
    stage.go.notify_waiters();
    worker.stop().await;
}

/// Outcomes go to the ledger together.
#[tokio::test]
async fn an_outcome_that_cannot_be_written_keeps_no_other() {
    let (ratchet, ledger) = FaultyLedger::ratchet();
    let (stage, mut entered) = Stage::new();
    let worker = start_with(ratchet.worker(ratchet::registry![staged]).state(stage.clone()));
    let locked = id_of(staged::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let free = id_of(staged::enqueue(&ratchet, Job { id: 2 }).await.unwrap());
    for _ in 0..2 {
        within(entered.recv()).await.unwrap();
    }
    ledger.hold(Some(locked.clone()));
    stage.go.notify_waiters();
    assert_eq!(settled(&ratchet, &free).await.state, RecordState::Succeeded);
    assert_eq!(record(&ratchet, &locked).await.state, RecordState::Running);
    ledger.hold(None);
    assert_eq!(settled(&ratchet, &locked).await.state, RecordState::Succeeded);
    worker.stop().await;
}

#[tokio::test]
async fn a_lease_that_is_lost_or_over_does_not_stand() {
    let (ratchet, ledger) = FaultyLedger::ratchet();
    let (stage, mut entered) = Stage::new();
    let worker = start_with(ratchet.worker(ratchet::registry![staged]).state(stage.clone()).lease(LEASE));
    let _id = id_of(staged::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let ctx = within(entered.recv()).await.unwrap();
    assert!(ctx.check_lease().is_ok());
    ledger.set(Some((Call::Renew, Fault::LoseAnswer)));
    assert_eq!(within(ctx.cancellation()).await, CancelReason::LeaseLost);
    assert!(ctx.check_lease().is_err());
    ledger.set(None);
    stage.go.notify_one();

    let second = id_of(staged::enqueue(&ratchet, Job { id: 2 }).await.unwrap());
    let ctx = within(entered.recv()).await.unwrap();
    stage.go.notify_one();
    settled(&ratchet, &second).await;
    worker.stop().await;
    let failure = ctx.check_lease().unwrap_err();
    assert_eq!(failure.outcome().kind(), OutcomeKind::NotApplied);
}

#[tokio::test]
async fn a_handler_that_was_not_entered_had_no_effect_although_the_start_may_be_on_record() {
    let (ratchet, ledger) = FaultyLedger::ratchet();
    let (stage, mut entered) = Stage::new();
    ledger.set(Some((Call::Start, Fault::LoseAnswer)));
    let worker = start_with(ratchet.worker(ratchet::registry![staged]).state(stage));
    let id = id_of(staged::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let tried = |record: &ratchet::Record| record.attempts == 1 && record.state == RecordState::Pending;
    let record = wait_until(&ratchet, &id, tried).await;
    assert!(!record.may_be_applied());
    assert!(entered.try_recv().is_err());
    worker.stop().await;
}

#[tokio::test]
async fn nothing_is_claimed_if_the_shutdown_is_there_first() {
    let ratchet = Ratchet::in_memory();
    let (stage, mut entered) = Stage::new();
    let id = id_of(staged::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let worker = ratchet.worker(ratchet::registry![staged]).state(stage).build().unwrap();
    within(worker.run(std::future::ready(()))).await.unwrap();
    assert!(entered.try_recv().is_err());
    assert_eq!(in_state(&ratchet, &id, RecordState::Pending).await.token.get(), 0);
}

#[tokio::test]
async fn what_is_claimed_and_not_started_at_a_shutdown_is_given_back() {
    let (ratchet, ledger) = FaultyLedger::ratchet();
    let (stage, mut entered) = Stage::new();
    ledger.set(Some((Call::Start, Fault::Hang)));
    let builder = ratchet.worker(ratchet::registry![staged]).state(stage);
    let worker = start_with(builder.grace(LEASE).lease(LEASE));
    let id = id_of(staged::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    in_state(&ratchet, &id, RecordState::Running).await;
    within(worker.ask_to_stop()).await.unwrap();
    assert!(entered.try_recv().is_err());
    let record = in_state(&ratchet, &id, RecordState::Running).await;
    assert_eq!(record.lease.unwrap().started_at, None, "its lease ends by itself and costs nothing");
}

#[tokio::test]
async fn a_ledger_that_does_not_answer_does_not_hold_up_a_shutdown_for_longer_than_the_grace() {
    let (ratchet, ledger) = FaultyLedger::ratchet();
    let (stage, _entered) = Stage::new();
    let worker = start_with(ratchet.worker(ratchet::registry![staged]).state(stage).grace(LEASE));
    ledger.set(Some((Call::Claim, Fault::Hang)));
    let id = id_of(staged::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let asked = Instant::now();
    within(worker.ask_to_stop()).await.unwrap();
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
    ledger.set(None);
    assert_eq!(in_state(&ratchet, &id, RecordState::Pending).await.attempts, 0);
}
