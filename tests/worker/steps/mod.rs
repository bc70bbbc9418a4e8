//! Named steps: what is finished stays finished, and what is not is decided by its own contract.

mod faults;
mod reconcile;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratchet::{
    CauseKind, Context, Contract, Failure, Fingerprint, Input, Ratchet, Record, RecordState, RetryPolicy,
    State, StepName, Uncertainty,
};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::support::{Running, id_of, settled, start_with, within};

const PAYMENTS: Contract = Contract::header("Idempotency-Key");
const AT_ONCE: RetryPolicy = RetryPolicy::doubling(3, Duration::ZERO, Duration::ZERO);
const CHARGE: StepName = StepName::from_static("charge");

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Order {
    id: u64,
}

/// Tells what the destination of each step received, and what it does.
#[derive(Debug, Clone, Default)]
struct Script {
    received: Arc<Mutex<Vec<String>>>,
    attempts: Arc<AtomicU32>,
    met: Arc<Notify>,
}

impl Script {
    fn send(&self, ctx: &Context) {
        self.received.lock().unwrap().push(ctx.key().to_owned());
    }

    /// The keys that arrived, in order.
    fn received(&self) -> Vec<String> {
        self.received.lock().unwrap().clone()
    }

    fn attempt(&self) -> u32 {
        self.attempts.fetch_add(1, Ordering::SeqCst) + 1
    }
}

fn start<O>(ratchet: &Ratchet, registry: ratchet::Registry, state: O) -> Running
where
    O: Clone + Send + Sync + 'static,
{
    let builder = ratchet.worker(registry).state(state).poll_interval(Duration::from_millis(5));
    start_with(builder.grace(Duration::from_millis(10)))
}

/// Runs one order of an operation to its end.
macro_rules! run {
    ($operation:ident) => {{
        let (ratchet, script) = (Ratchet::in_memory(), Script::default());
        let worker = start(&ratchet, ratchet::registry![$operation], script.clone());
        let id = id_of($operation::enqueue(&ratchet, Order { id: 7 }).await.unwrap());
        let record = settled(&ratchet, &id).await;
        worker.stop().await;
        (record, script)
    }};
}
pub(crate) use run;

fn result(record: &Record) -> String {
    record.result.as_ref().unwrap().decode().unwrap()
}

/// Dies after its first step.
#[ratchet::operation(name = "dies_between", version = "1", key = "order:<id>:between", destination = steps,
    retry = AT_ONCE)]
async fn dies_between(ctx: Context, State(script): State<Script>, _order: Order) -> Result<String, Failure> {
    let attempt = script.attempt();
    let charge = ctx.step("charge").run(async |step: Context| {
        script.send(&step);
        Ok(format!("ch_{attempt}"))
    });
    let charge: String = charge.await?;
    assert!(attempt > 1, "dies here");
    Ok(charge)
}

#[tokio::test]
async fn a_finished_step_is_not_run_again_and_gives_its_stored_result() {
    let (record, script) = run!(dies_between);
    // It has no deduplication, and none is needed: it is finished.
    assert_eq!((record.state, record.attempts), (RecordState::Succeeded, 2));
    assert_eq!(result(&record), "ch_1");
    assert_eq!(script.received(), ["order:7:between!charge"]);
}

/// Dies inside its step, after the request left.
async fn dies_inside(ctx: Context, script: Script, contract: Contract) -> Result<String, Failure> {
    let attempt = script.attempt();
    let charge = ctx.step(CHARGE).to(contract).run(async |step: Context| {
        let pin = step.pin("account-7", Fingerprint::of(b"body")).await?;
        assert_eq!(pin.wire_key, step.key());
        script.send(&step);
        assert!(attempt > 1, "dies here");
        Ok(format!("ch_{attempt}"))
    });
    charge.await
}

#[ratchet::operation(name = "recognised", version = "1", key = "order:<id>:recognised", destination = steps,
    retry = AT_ONCE)]
async fn recognised(ctx: Context, State(script): State<Script>, _order: Order) -> Result<String, Failure> {
    dies_inside(ctx, script, PAYMENTS).await
}

#[ratchet::operation(name = "unrecognised", version = "1", key = "order:<id>:unrecognised", destination = steps,
    retry = AT_ONCE)]
async fn unrecognised(ctx: Context, State(script): State<Script>, _order: Order) -> Result<String, Failure> {
    dies_inside(ctx, script, Contract::NONE).await
}

#[tokio::test]
async fn an_unfinished_step_is_tried_again_with_the_same_key_where_its_destination_recognises_it() {
    let (record, script) = run!(recognised);
    assert_eq!((record.state, record.attempts), (RecordState::Succeeded, 2));
    assert_eq!(result(&record), "ch_2");
    assert_eq!(script.received(), ["order:7:recognised!charge", "order:7:recognised!charge"]);
}

#[tokio::test]
async fn an_unfinished_step_is_parked_with_a_reason_where_its_destination_recognises_nothing() {
    let (record, script) = run!(unrecognised);
    assert_eq!((record.state, record.attempts), (RecordState::Uncertain, 1));
    assert_eq!(record.uncertainty, Some(Uncertainty::NoDeduplication));
    assert_eq!(record.cause.as_ref().unwrap().kind(), CauseKind::Panic);
    assert!(record.steps[&CHARGE].effect.may_be_applied && !record.effect.may_be_applied);
    assert_eq!(script.received(), ["order:7:unrecognised!charge"]);
}

/// The second of two steps fails once, in a way that says what happened.
#[ratchet::operation(name = "fails_once", version = "1", key = "order:<id>:fails", destination = steps, retry = AT_ONCE)]
async fn fails_once(ctx: Context, State(script): State<Script>, _order: Order) -> Result<String, Failure> {
    let attempt = script.attempt();
    let send = async |step: Context| {
        script.send(&step);
        Ok(format!("ch_{attempt}"))
    };
    let charge: String = ctx.step("charge").run(send).await?;
    let notify = ctx.step("notify").run(async |step: Context| {
        script.send(&step);
        if attempt == 1 { Err(Failure::not_applied("the mail server is away")) } else { Ok(()) }
    });
    notify.await?;
    Ok(charge)
}

#[tokio::test]
async fn a_step_that_was_not_applied_is_tried_again_and_those_before_it_are_not() {
    let (record, script) = run!(fails_once);
    assert_eq!((record.state, record.attempts), (RecordState::Succeeded, 2));
    assert_eq!(result(&record), "ch_1");
    assert_eq!(script.received(), ["order:7:fails!charge", "order:7:fails!notify", "order:7:fails!notify"]);
}

#[ratchet::operation(name = "refused_step", version = "1", key = "order:<id>:refused", destination = steps)]
async fn refused_step(ctx: Context, State(_script): State<Script>, _order: Order) -> Result<(), Failure> {
    ctx.step("charge").run(async |_| Err(Failure::rejected("declined"))).await
}

/// Knows nothing about its step, and speaks with certainty about the whole.
#[ratchet::operation(name = "overconfident", version = "1", key = "order:<id>:over", destination = steps)]
async fn overconfident(ctx: Context, State(_script): State<Script>, _order: Order) -> Result<(), Failure> {
    let _ = ctx.step("charge").run(async |_| Err::<(), _>(Failure::unknown("no answer"))).await;
    Err(Failure::rejected("the mail has no address"))
}

/// Forgets a request that left inside its step.
#[ratchet::operation(name = "forgetful", version = "1", key = "order:<id>:forgetful", destination = steps)]
async fn forgetful(ctx: Context, State(_script): State<Script>, _order: Order) -> Result<(), Failure> {
    let charge = ctx.step("charge").run(async |step: Context| {
        drop(step.begin_send());
        Err(Failure::rejected("the second request was refused"))
    });
    charge.await
}

#[tokio::test]
async fn the_failure_of_a_step_is_that_of_the_attempt() {
    let (record, _) = run!(refused_step);
    assert_eq!((record.state, record.cause.unwrap().detail()), (RecordState::Failed, "declined"));
    for record in [run!(overconfident).0, run!(forgetful).0] {
        assert_eq!((record.state, record.may_be_applied()), (RecordState::Uncertain, true));
        assert_eq!(record.uncertainty, Some(Uncertainty::NoDeduplication));
    }
}

/// Two steps at the same time, each of which waits for the other.
#[ratchet::operation(name = "together", version = "1", key = "order:<id>:together", destination = steps)]
async fn together(ctx: Context, State(script): State<Script>, _order: Order) -> Result<String, Failure> {
    let charge = ctx.step("charge").to(PAYMENTS).run(async |step: Context| {
        step.pin("account-7", Fingerprint::of(b"charge")).await?;
        script.met.notified().await;
        Ok(step.key().to_owned())
    });
    let notify = ctx.step("notify").run(async |step: Context| {
        step.pin("mail", Fingerprint::of(b"notify")).await?;
        script.met.notify_one();
        Ok(step.key().to_owned())
    });
    let (charge, notify) = within(async { tokio::join!(charge, notify) }).await;
    Ok(format!("{} {}", charge?, notify?))
}

#[tokio::test]
async fn two_steps_run_at_the_same_time() {
    let (record, _) = run!(together);
    assert_eq!(result(&record), "order:7:together!charge order:7:together!notify");
    assert_eq!(record.steps.len(), 2);
}

#[tokio::test]
async fn a_handler_with_steps_runs_in_a_unit_test() {
    let script = Script { attempts: Arc::new(1.into()), ..Script::default() };
    let ctx = dies_between::test_context(&Order { id: 7 });
    assert_eq!(dies_between(ctx, State(script.clone()), Order { id: 7 }).await.unwrap(), "ch_2");
    assert_eq!(script.received(), ["order:7:between!charge"]);
}
