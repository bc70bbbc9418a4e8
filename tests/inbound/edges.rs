//! What passes, what is refused, and what people decide.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use axum::http::{HeaderName, Method};
use axum::response::Response;
use ratchet::http::inbound::IdempotencyLayer;
use ratchet::ledger::SharedLedger;
use ratchet::{Contract, Fingerprint, OnUnknown, Ratchet, RecordState, Verdict, WireSecrets};
use ratchet_core::MemoryLedger;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::service::{Answer, Service, Stage, plain, problem, within};

#[tokio::test]
async fn what_is_safe_or_repeatable_by_its_meaning_needs_no_key() {
    let service =
        Service::new(|layer| layer, async |call| plain(200, format!("{}", call.ctx.is_some()))).await;
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let answer = Answer::to(service.request(method.clone(), "/a")).await;
        assert_eq!((answer.status, answer.text()), (200, "false"), "{method}");
        assert_eq!(answer.header("idempotency-key-lifetime"), None);
    }
    let keyed = |method| Answer::to(service.request(method, "/a").header("idempotency-key", "k"));
    assert_eq!(
        (keyed(Method::DELETE).await.text(), keyed(Method::DELETE).await.is_replayed()),
        ("true", true)
    );
    // A key on a safe request means nothing.
    assert_eq!((keyed(Method::GET).await.text(), keyed(Method::GET).await.is_replayed()), ("false", false));
    let patch = Answer::to(service.request(Method::PATCH, "/a")).await;
    assert_eq!(patch.problem(), problem(400, "key-missing", "not_executed"));
}

#[tokio::test]
async fn a_key_may_be_left_out_where_the_service_says_so() {
    let service =
        Service::new(IdempotencyLayer::optional, async |call| plain(201, format!("{}", call.number))).await;
    let unprotected = || Answer::to(service.request(Method::POST, "/charges"));
    assert_eq!((unprotected().await.text(), unprotected().await.text()), ("1", "2"));
    assert_eq!((service.charge("k").await.text(), service.charge("k").await.text()), ("3", "3"));
    assert_eq!(service.charge("a b").await.problem().0, 400);
}

#[tokio::test]
async fn a_request_that_cannot_be_compared_is_refused() {
    let service = Service::new(
        |layer| layer.largest_request(1000),
        async |call| plain(201, format!("{}", call.body.len())),
    )
    .await;
    let sized = |bytes: usize| Answer::to(service.post(&format!("k{bytes}")).body("x".repeat(bytes)));
    assert_eq!(sized(1000).await.text(), "1000");
    assert_eq!(sized(1001).await.problem(), problem(413, "request-too-large", "not_executed"));
    // A stream says nothing about its length before it ends.
    let address = service.url.strip_prefix("http://").unwrap();
    let mut client = TcpStream::connect(address).await.unwrap();
    let head = "POST /charges HTTP/1.1\r\nhost: a\r\nconnection: close\r\nidempotency-key: s\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("258\r\n{}\r\n", "x".repeat(600));
    client.write_all(format!("{head}{chunk}{chunk}0\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert_eq!(service.executions(), 1);
}

#[tokio::test]
async fn a_request_of_nobody_is_refused() {
    let ledger = MemoryLedger::new();
    let nobody = IdempotencyLayer::new(ledger, |_| None);
    let service = Service::new(|_| nobody, async |_| plain(201, "done")).await;
    assert_eq!(service.charge("k").await.problem(), problem(403, "no-principal", "not_executed"));
    assert_eq!(service.executions(), 0);
}

#[tokio::test]
async fn what_is_run_again_has_the_identity_of_the_first_time() {
    let service = Service::new(
        |layer| layer.on_unknown(OnUnknown::MayDuplicate),
        async |call| {
            let ctx = call.ctx.unwrap();
            plain(if call.number == 1 { 500 } else { 200 }, format!("{} {}", ctx.key(), ctx.attempt()))
        },
    )
    .await;
    let (first, second) = (service.charge("k").await, service.charge("k").await);
    let (first, second) = (first.text().split_once(' ').unwrap(), second.text().split_once(' ').unwrap());
    assert_eq!(first.0, second.0);
    assert_eq!((first.1, second.1), ("1", "2"));
    assert!(first.0.ends_with("@inbound"), "{}", first.0);
}

#[tokio::test]
async fn a_server_that_stops_waits_for_what_clients_have_left() {
    let (stage, mut entered) = Stage::new();
    let service = Service::held(&stage, |layer| layer, "charged").await;
    let client = tokio::spawn(service.post("k").send());
    entered.recv().await.unwrap();
    client.abort();
    let mut finished = pin!(service.layer.finished());
    let at_once = poll_fn(|cx| Poll::Ready(finished.as_mut().poll(cx).is_ready()));
    assert!(!at_once.await);
    stage.let_go();
    within(finished).await;
    assert_eq!(service.record("k").await.state, RecordState::Succeeded);
}

#[tokio::test]
async fn people_settle_what_is_unknown() {
    let service = Service::new(|layer| layer, async |_| plain(500, "who knows")).await;
    service.charge("k").await;
    let record = service.record("k").await;
    assert_eq!(record.state, RecordState::Uncertain);
    let ratchet = Ratchet::with_ledger(service.ledger.clone());
    let verdict = Verdict::NotAppliedAndClosed;
    ratchet.resolve(record.id, "ops", "the card was not charged", record.token, verdict).await.unwrap();
    assert_eq!(service.charge("k").await.problem(), problem(409, "key-closed", "not_executed"));
}

/// A handler that asks a destination of its own, with a key that only a secret makes.
async fn asking(secrets: Option<WireSecrets>) -> Service {
    const BANK: Contract = Contract::header("Idempotency-Key");
    let adjust = |layer: IdempotencyLayer| {
        let layer = layer.destination(BANK);
        secrets.into_iter().fold(layer, IdempotencyLayer::wire_secrets)
    };
    Service::new(adjust, async |call| {
        match call.ctx.unwrap().pin("https://bank.example", Fingerprint::of(b"transfer")).await {
            Ok(pin) => plain(if call.number == 1 { 500 } else { 201 }, pin.wire_key),
            Err(failure) => plain(422, failure.to_string()),
        }
    })
    .await
}

#[tokio::test]
async fn a_handler_that_calls_a_provider_sends_a_key_made_with_the_secret_of_the_layer() {
    let service = asking(Some(WireSecrets::new([("2026", [7; 32])]).unwrap())).await;
    let (first, again) = (service.charge("k").await, service.charge("k").await);
    assert_eq!((first.status, again.status), (500, 201));
    assert_eq!(first.text(), again.text(), "what is run again sends the same key");
    assert_eq!((first.text().len(), first.text().as_bytes()[14]), (36, b'8'), "{}", first.text());
    assert_ne!(service.charge("other").await.text(), again.text());

    let without = asking(None).await;
    assert!(without.charge("k").await.text().contains("the worker has no secret"));
}

#[tokio::test]
async fn what_belongs_to_one_connection_or_client_is_never_repeated() {
    const NAMES: [&str; 5] = ["x-hop", "keep-alive", "set-cookie", "idempotency-key-lifetime", "x-kept"];
    let keeping =
        |layer| NAMES.into_iter().map(HeaderName::from_static).fold(layer, IdempotencyLayer::keep_header);
    let service = Service::new(keeping, async |_| {
        let response = Response::builder().status(201).header("connection", "X-Hop, close");
        NAMES
            .into_iter()
            .fold(response, |response, name| response.header(name, "mine"))
            .body("done".into())
            .unwrap()
    })
    .await;
    let (first, again) = (service.charge("k").await, service.charge("k").await);
    assert_eq!((first.header("x-hop"), first.header("set-cookie")), (Some("mine"), Some("mine")));
    assert!(again.is_replayed());
    let repeated: Vec<_> = NAMES.into_iter().filter(|name| again.header(name) == Some("mine")).collect();
    assert_eq!(repeated, ["x-kept"]);
}

#[tokio::test]
async fn another_choice_of_compared_headers_refuses_no_repetition_from_before() {
    let ledger = MemoryLedger::new() as SharedLedger;
    let handler = async |call: super::service::Call| plain(201, format!("charge {}", call.number));
    let (one, other) = (ledger.clone(), ledger);
    let before = Service::start(async { one }, |layer| layer, handler).await;
    let compares = |layer: IdempotencyLayer| layer.compare_header(HeaderName::from_static("api-version"));
    let after = Service::start(async { other }, compares, handler).await;
    let send = |service: &Service, key, version| Answer::to(service.post(key).header("api-version", version));
    assert_eq!(send(&before, "k", "1").await.text(), "charge 1");
    let again = send(&after, "k", "1").await;
    assert_eq!((again.text(), again.is_replayed()), ("charge 1", true));
    // The other way round while both are in use, and as it is asked for among those that compare it.
    assert_eq!(send(&after, "new", "1").await.status, 201);
    assert!(send(&before, "new", "1").await.is_replayed());
    assert_eq!(send(&after, "new", "2").await.problem(), problem(422, "key-reused", "not_executed"));
}
