//! Steps that go wrong: entered twice, left halfway, misused, or not written down.

use std::time::Duration;

use ratchet::{CauseKind, Context, Contract, Failure, Ratchet, Record, RecordState, State, Uncertainty};

use super::{AT_ONCE, Order, PAYMENTS, Script, dies_between, result, run, start};
use crate::faulty::{Call, Fault, FaultyLedger};
use crate::support::{id_of, settled, start_with};

/// Enters one step twice at the same time.
#[ratchet::operation(name = "twice", version = "1", key = "order:<id>:twice", destination = steps)]
async fn twice(ctx: Context, State(script): State<Script>, _order: Order) -> Result<String, Failure> {
    let send = async |step: Context| {
        script.send(&step);
        tokio::task::yield_now().await;
        Ok(())
    };
    let (one, other) = tokio::join!(ctx.step("charge").run(send), ctx.step("charge").run(send));
    one?;
    Ok(format!("{}", other.unwrap_err()))
}

#[tokio::test]
async fn one_step_is_not_entered_twice_at_the_same_time() {
    let (record, script) = run!(twice);
    assert_eq!(result(&record), "rejected (handler: the step `charge` is under way already in this attempt)");
    assert_eq!(script.received(), ["order:7:twice!charge"]);
}

/// Gives a step up halfway and tries again in the same attempt.
async fn gives_up(ctx: &Context, script: &Script, contract: Contract) -> Result<(), Failure> {
    let step = || ctx.step("charge").to(contract);
    let first = step().run(async |step: Context| {
        script.send(&step);
        std::future::pending::<Result<(), Failure>>().await
    });
    assert!(tokio::time::timeout(Duration::from_millis(20), first).await.is_err());
    let again = async |step: Context| {
        script.send(&step);
        Ok(())
    };
    step().run(again).await
}

#[ratchet::operation(name = "insists", version = "1", key = "order:<id>:insists", destination = steps, retry = AT_ONCE)]
async fn insists(ctx: Context, State(script): State<Script>, _order: Order) -> Result<(), Failure> {
    gives_up(&ctx, &script, Contract::NONE).await
}

#[ratchet::operation(name = "may_insist", version = "1", key = "order:<id>:may_insist", destination = steps,
    retry = AT_ONCE)]
async fn may_insist(ctx: Context, State(script): State<Script>, _order: Order) -> Result<(), Failure> {
    gives_up(&ctx, &script, PAYMENTS).await
}

#[tokio::test]
async fn a_step_that_was_left_halfway_is_decided_by_its_contract_in_the_same_attempt_too() {
    let (record, script) = run!(insists);
    assert_eq!((record.state, record.attempts), (RecordState::Uncertain, 1));
    assert_eq!(record.uncertainty, Some(Uncertainty::NoDeduplication));
    assert_eq!(script.received(), ["order:7:insists!charge"]);
    let (record, script) = run!(may_insist);
    assert_eq!((record.state, record.attempts), (RecordState::Succeeded, 1));
    assert_eq!(script.received(), ["order:7:may_insist!charge", "order:7:may_insist!charge"]);
}

#[ratchet::operation(name = "misnamed", version = "1", key = "order:<id>:misnamed", destination = steps)]
async fn misnamed(ctx: Context, State(_script): State<Script>, _order: Order) -> Result<(), Failure> {
    ctx.step("Charge the card").run(async |_| Ok(())).await
}

#[ratchet::operation(name = "nested", version = "1", key = "order:<id>:nested", destination = steps)]
async fn nested(ctx: Context, State(_script): State<Script>, _order: Order) -> Result<(), Failure> {
    let outer = ctx.step("outer");
    outer.run(async |step: Context| step.step("inner").run(async |_| Ok(())).await).await
}

#[tokio::test]
async fn a_step_that_cannot_work_fails_the_operation_and_says_why() {
    let why = |record: &Record| record.cause.as_ref().unwrap().detail().to_owned();
    let (record, _) = run!(misnamed);
    assert_eq!(record.state, RecordState::Failed);
    assert!(why(&record).starts_with("a step's name is refused"), "{}", why(&record));
    let (record, _) = run!(nested);
    assert_eq!(record.state, RecordState::Failed);
    assert!(why(&record).starts_with("steps have no steps of their own"), "{}", why(&record));
}

/// What its step leaves is too large to be kept.
#[ratchet::operation(name = "huge", version = "1", key = "order:<id>:huge", destination = steps, retry = AT_ONCE)]
async fn huge(ctx: Context, State(script): State<Script>, _order: Order) -> Result<usize, Failure> {
    let attempt = script.attempt();
    let text: String = ctx.step("charge").run(async |_| Ok("x".repeat(70_000))).await?;
    assert!(attempt > 1, "dies here");
    Ok(text.len())
}

#[tokio::test]
async fn a_result_that_cannot_be_kept_is_missed_by_a_later_attempt_alone() {
    let (record, _) = run!(huge);
    // Its step is done, so nothing is to be feared from another attempt, and none can go on.
    assert_eq!(record.cause.unwrap().kind(), CauseKind::UnstorableResult);
    assert_eq!((record.state, record.attempts), (RecordState::Exhausted, 3));
}

#[tokio::test]
async fn a_step_whose_entry_could_not_be_written_was_not_entered() {
    let (ratchet, ledger) = FaultyLedger::ratchet();
    let script = Script::default();
    ledger.set(Some((Call::BeginStep, Fault::LoseAnswer)));
    let worker = start(&ratchet, ratchet::registry![dies_between], script.clone());
    let id = id_of(dies_between::enqueue(&ratchet, Order { id: 7 }).await.unwrap());
    let record = settled(&ratchet, &id).await;
    worker.stop().await;
    // The entry is on record, and that it led to nothing too.
    assert_eq!((record.state, record.may_be_applied()), (RecordState::Exhausted, false));
    assert_eq!(script.received(), [""; 0]);
}

#[tokio::test]
async fn the_end_of_a_step_is_written_again_where_it_could_not_be_or_the_answer_was_lost() {
    for fault in [Fault::FailOnce, Fault::LoseAnswer] {
        let (ratchet, ledger) = FaultyLedger::ratchet();
        let script = Script::default();
        ledger.set(Some((Call::FinishStep, fault)));
        let worker = start(&ratchet, ratchet::registry![dies_between], script.clone());
        let id = id_of(dies_between::enqueue(&ratchet, Order { id: 7 }).await.unwrap());
        let record = settled(&ratchet, &id).await;
        worker.stop().await;
        assert_eq!((record.state, result(&record)), (RecordState::Succeeded, "ch_1".to_owned()), "{fault:?}");
        assert_eq!(script.received(), ["order:7:between!charge"]);
    }
}

/// Charges twice under one name, as a loop does whose rounds have no names of their own.
#[ratchet::operation(name = "loops", version = "1", key = "order:<id>:loops", destination = steps)]
async fn loops(ctx: Context, State(script): State<Script>, _order: Order) -> Result<(), Failure> {
    for _ in 0..2 {
        let send = async |step: Context| {
            script.send(&step);
            Ok(())
        };
        ctx.step("charge").run(send).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_second_effect_under_the_name_of_one_that_is_done_is_refused_and_not_swallowed() {
    let (record, script) = run!(loops);
    assert_eq!(record.state, RecordState::Failed);
    let cause = record.cause.unwrap();
    assert!(cause.detail().starts_with("the step `charge` is done already in this attempt"), "{cause}");
    assert_eq!(script.received(), ["order:7:loops!charge"]);
}

/// Is cancelled between its steps, and does not listen.
#[ratchet::operation(name = "deaf", version = "1", key = "order:<id>:deaf", destination = steps)]
async fn deaf(
    ctx: Context,
    State(script): State<Script>,
    State(ratchet): State<Ratchet>,
    _order: Order,
) -> Result<(), Failure> {
    let send = async |step: Context| {
        script.send(&step);
        Ok(())
    };
    ctx.step("charge").run(send).await?;
    ratchet.cancel(ctx.id().clone(), "ada", "ordered twice").await?;
    ctx.step("ship").run(send).await
}

#[tokio::test]
async fn a_step_of_a_cancelled_attempt_is_not_entered() {
    let (ratchet, script) = (Ratchet::in_memory(), Script::default());
    let builder = ratchet.worker(ratchet::registry![deaf]).state(script.clone()).state(ratchet.clone());
    let worker = start_with(builder);
    let id = id_of(deaf::enqueue(&ratchet, Order { id: 7 }).await.unwrap());
    let record = settled(&ratchet, &id).await;
    worker.stop().await;
    assert_eq!(record.state, RecordState::Cancelled);
    assert_eq!(script.received(), ["order:7:deaf!charge"]);
}
