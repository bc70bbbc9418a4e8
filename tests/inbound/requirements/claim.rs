//! Who executes a request, and for how long it is theirs.

use std::time::Duration;

use axum::http::Method;
use ratchet::http::inbound::IdempotencyLayer;
use ratchet::{Clock as _, OnUnknown, Record, RecordState};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::super::service::{Answer, Call, Service, Stage, clock, plain, problem, within};
use super::{in_flight, outcome_unknown};

const HOUR: Duration = Duration::from_hours(1);
const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn requirement_01_of_many_at_once_one_is_executed() {
    let (stage, mut entered) = Stage::new();
    let service = Service::held(&stage, |layer| layer, "charged").await;
    let mut requests: JoinSet<Answer> = (0..32).map(|_| Answer::to(service.post("k"))).collect();
    // The one that is executed waits until all the others have their answers.
    for _ in 0..31 {
        assert_eq!(within(requests.join_next()).await.unwrap().unwrap().problem(), in_flight());
    }
    stage.let_go();
    let first = within(requests.join_next()).await.unwrap().unwrap();
    assert_eq!((first.status, first.text()), (201, "charged"));
    assert_eq!(entered.recv().await, Some(1));
    assert_eq!(service.executions(), 1);
}

#[tokio::test]
async fn requirement_02_a_claim_ends_soon_and_an_answer_is_kept_for_long() {
    let clock = clock();
    let (stage, mut entered) = Stage::new();
    let held = stage.clone();
    let handler = move |call: Call| {
        let stage = held.clone();
        async move {
            if call.path == "/charges" {
                stage.wait(call.number).await;
            }
            plain(201, "done")
        }
    };
    let mut service = Service::with_clock(&clock, |layer| layer, handler.clone()).await;
    let quick = async |service: &Service| {
        let request = service.request(Method::POST, "/quick").header("idempotency-key", "k");
        Answer::to(request).await
    };
    assert_eq!(quick(&service).await.status, 201);
    let lost = tokio::spawn(service.post("k").send());
    entered.recv().await.unwrap();
    service.kill();
    let _ = lost.await.unwrap();

    let ledger = service.ledger.clone();
    let shared = clock.clone();
    let service = Service::start(async { ledger }, |layer| layer.clock(shared), handler).await;
    clock.advance(29 * SECOND);
    assert_eq!(service.charge("k").await.problem(), in_flight());
    clock.advance(2 * SECOND);
    assert_eq!(service.charge("k").await.problem(), outcome_unknown());
    clock.advance(23 * HOUR);
    assert_eq!(service.ledger.purge(10).await.unwrap(), 0);
    assert!(quick(&service).await.is_replayed());
    assert_eq!(service.executions(), 0);
}

#[tokio::test]
async fn requirement_03_a_late_owner_changes_nothing_and_is_told() {
    let clock = clock();
    let (stage, mut entered) = Stage::new();
    let held = stage.clone();
    let handler = move |call: Call| {
        let stage = held.clone();
        async move {
            if call.number == 1 {
                stage.wait(1).await;
            }
            plain(201, format!("charge {}", call.number))
        }
    };
    let repeatable = |layer: IdempotencyLayer| layer.on_unknown(OnUnknown::MayDuplicate);
    let service = Service::with_clock(&clock, repeatable, handler).await;
    let late = tokio::spawn(Answer::to(service.post("k")));
    entered.recv().await.unwrap();
    clock.advance(31 * SECOND);
    assert_eq!(service.charge("k").await.text(), "charge 2");
    stage.let_go();
    let late = late.await.unwrap();
    assert_eq!(late.problem(), in_flight());
    assert_eq!(late.header("retry-after"), Some("1"));
    let again = service.charge("k").await;
    assert_eq!((again.text(), again.is_replayed()), ("charge 2", true));
    // What it reported is on its own attempt.
    let attempts = service.ledger.attempts(service.id("k")).await.unwrap();
    let ends: Vec<_> = attempts.iter().map(|attempt| attempt.end.as_ref().unwrap().late).collect();
    assert_eq!(ends, [true, false]);
}

#[tokio::test]
async fn requirement_04_a_lease_is_renewed_while_the_handler_runs() {
    const BEAT: Duration = Duration::from_millis(100);
    let clock = clock();
    let (stage, mut entered) = Stage::new();
    let held = stage.clone();
    let service = Service::with_clock(
        &clock,
        |layer| layer.lease(3 * BEAT),
        move |call| {
            let stage = held.clone();
            async move {
                stage.wait(call.number).await;
                plain(201, "done")
            }
        },
    )
    .await;
    let first = tokio::spawn(Answer::to(service.post("k")));
    entered.recv().await.unwrap();
    clock.advance(2 * BEAT);
    let renewed = clock.now().after(3 * BEAT);
    let until = |record: &Record| record.lease.as_ref().map(|lease| lease.until);
    service.wait_until("k", |record| until(record) == Some(renewed)).await;
    // The first lease would be over by now.
    clock.advance(2 * BEAT);
    assert_eq!(service.charge("k").await.problem(), in_flight());
    stage.let_go();
    assert_eq!(first.await.unwrap().text(), "done");
    assert_eq!(service.executions(), 1);
}

#[tokio::test]
async fn requirement_05_what_a_client_has_left_is_executed_and_recorded() {
    let (stage, mut entered) = Stage::new();
    let service = Service::held(&stage, |layer| layer, "charged").await;
    let address = service.url.strip_prefix("http://").unwrap();
    let mut client = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST /charges HTTP/1.1\r\nhost: {address}\r\nidempotency-key: k\r\ncontent-length: 8\r\n\r\namount=7"
    );
    client.write_all(request.as_bytes()).await.unwrap();
    entered.recv().await.unwrap();
    drop(client);
    stage.let_go();
    service.wait_until("k", |record| record.state == RecordState::Succeeded).await;
    let again = service.charge("k").await;
    assert_eq!((again.status, again.text(), again.is_replayed()), (201, "charged", true));
    assert_eq!(service.executions(), 1);
}

#[tokio::test]
async fn requirement_06_a_handler_that_panics_or_takes_too_long_is_not_run_again() {
    let service = Service::new(
        |layer| layer.timeout(Duration::from_millis(20)),
        async |call| {
            assert_ne!(call.path, "/charges", "with a secret");
            std::future::pending().await
        },
    )
    .await;
    let hangs = || service.request(Method::POST, "/hangs").header("idempotency-key", "k");
    for (first, request) in [(500, service.post("k")), (500, hangs())] {
        let again = request.try_clone().unwrap();
        assert_eq!(Answer::to(request).await.problem(), problem(first, "outcome-unknown", "unknown"));
        assert_eq!(Answer::to(again).await.problem(), outcome_unknown());
    }
    assert_eq!(service.executions(), 2);
}
