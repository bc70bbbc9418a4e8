//! What becomes of the records, and of requests while there is no store.

use std::time::Duration;

use axum::http::Method;
use ratchet::{Clock as _, OnUnknown, Ratchet, RecordState};

use super::super::faulty::{Call as LedgerCall, Fault, FaultyLedger};
use super::super::service::{Answer, Service, Stage, clock, plain, problem, within};
use super::outcome_unknown;

const HOUR: Duration = Duration::from_hours(1);
const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn requirement_12_a_key_whose_answer_is_gone_is_not_executed_again() {
    let clock = clock();
    let service = Service::with_clock(&clock, |layer| layer, async |_| plain(201, "done")).await;
    service.charge("k").await;
    clock.advance(25 * HOUR);
    assert_eq!(service.ledger.purge(10).await.unwrap(), 1);
    let expired = service.charge("k").await;
    assert_eq!(expired.problem(), problem(409, "key-expired", "executed"));
    assert!(expired.text().contains("2026-11-29T16:00:00Z"), "{}", expired.text());
    let other = Answer::to(service.post("k").body("amount=8")).await;
    assert_eq!(other.problem(), problem(422, "key-reused", "not_executed"));
    assert_eq!(service.executions(), 1);
}

#[tokio::test]
async fn requirement_13_nothing_is_executed_while_the_store_is_down() {
    let (ratchet, faulty) = FaultyLedger::ratchet();
    let ledger = ratchet.ledger().clone();
    let service =
        Service::start(async { ledger }, |layer| layer.lease(SECOND), async |_| plain(201, "charged")).await;
    for fault in [Fault::FailOnce, Fault::LoseAnswer, Fault::Hang] {
        for call in [LedgerCall::Submit, LedgerCall::Start] {
            faulty.set(Some((call, fault)));
            let answer = service.charge(&format!("{call:?}-{fault:?}")).await;
            assert_eq!(answer.problem(), problem(503, "store-unavailable", "unknown"), "{call:?} {fault:?}");
            assert_eq!(answer.header("retry-after"), Some("1"));
        }
    }
    assert_eq!(service.executions(), 0);
    // Nobody was let in, whatever was written down, so the same request is executed when the store is back.
    faulty.set(None);
    for (number, key) in
        (1..).zip(["Submit-FailOnce", "Submit-LoseAnswer", "Start-FailOnce", "Start-LoseAnswer"])
    {
        assert_eq!(service.charge(key).await.text(), "charged", "{key}");
        assert_eq!(service.executions(), number);
    }
    // The effect happened, and the store has not heard of it: no answer is given that a repetition would not get.
    faulty.set(Some((LedgerCall::Settle, Fault::Hang)));
    assert_eq!(service.charge("k").await.problem(), problem(503, "answer-not-recorded", "unknown"));
    faulty.set(Some((LedgerCall::Settle, Fault::FailOnce)));
    assert_eq!(service.charge("other").await.text(), "charged");
    assert_eq!(service.executions(), 6);
}

#[tokio::test]
async fn requirement_16_no_purge_takes_what_is_in_flight_or_unknown() {
    let clock = clock();
    let (stage, mut entered) = Stage::new();
    let held = stage.clone();
    let service = Service::with_clock(
        &clock,
        |layer| layer,
        move |call| {
            let stage = held.clone();
            async move {
                match call.path.as_str() {
                    "/charges" => plain(500, "who knows"),
                    "/done" => plain(201, "done"),
                    _ => {
                        stage.wait(call.number).await;
                        plain(201, "done")
                    }
                }
            }
        },
    )
    .await;
    let send = |path: &str| Answer::to(service.request(Method::POST, path).header("idempotency-key", "k"));
    service.charge("k").await;
    send("/done").await;
    let running = tokio::spawn(send("/runs"));
    entered.recv().await.unwrap();
    clock.advance(10 * 365 * 24 * HOUR);
    assert_eq!(service.ledger.purge(10).await.unwrap(), 1);
    assert_eq!(send("/done").await.problem().1, "key-expired");
    assert_eq!(service.charge("k").await.problem(), outcome_unknown());
    // It reports although its lease was over for years, since nobody has taken it over.
    stage.let_go();
    assert_eq!(running.await.unwrap().text(), "done");
    assert_eq!(service.executions(), 3);
}

/// No worker may take what belongs to the layer, whatever has become of its lease.
#[tokio::test]
async fn no_worker_executes_a_request() {
    #[ratchet::operation(name = "tidy", version = "1", key = "shop:<shop>:shelf:<shelf>:tidy")]
    #[allow(clippy::unused_async, reason = "handlers are async, whatever they do")]
    async fn tidy(shop: u32, shelf: u32) -> Result<u32, ratchet::Failure> {
        Ok(shop + shelf)
    }

    let clock = clock();
    let (stage, mut entered) = Stage::new();
    let service = Service::with_clock(
        &clock,
        |layer| layer.on_unknown(OnUnknown::MayDuplicate),
        move |call| {
            let stage = stage.clone();
            async move {
                stage.wait(call.number).await;
                plain(201, "done")
            }
        },
    )
    .await;
    let lost = tokio::spawn(service.post("k").send());
    entered.recv().await.unwrap();
    lost.abort();
    clock.advance(31 * SECOND);
    assert_eq!(service.ledger.expire(10).await.unwrap(), 1);
    assert_eq!(service.record("k").await.state, RecordState::Pending);

    // The worker looks for work in the very namespace, and has looked once it has found some.
    let ratchet = Ratchet::with_ledger(service.ledger.clone()).in_namespace(service.id("k").namespace);
    let ratchet::Enqueued::New { id } = tidy::enqueue(&ratchet, 1, 2).await.unwrap() else {
        panic!("it is new")
    };
    let worker = ratchet.worker(ratchet::registry![tidy]).clock(clock.clone()).build().unwrap();
    let mut changes = service.ledger.wakeups();
    let done = async {
        while ratchet.state(id.clone()).await.unwrap() != Some(RecordState::Succeeded) {
            changes.changed().await.unwrap();
        }
    };
    within(worker.run(done)).await.unwrap();
    let record = service.record("k").await;
    assert_eq!((record.state, record.attempts), (RecordState::Pending, 1));
    assert!(clock.now() > record.created_at);
}
