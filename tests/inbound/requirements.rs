//! The seventeen requirements that the public faults of such layers add up to, one test for each.

use std::time::Duration;

use axum::extract::Extension;
use axum::http::{HeaderName, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use ratchet::http::inbound::NotExecuted;
use ratchet::{Clock as _, Fingerprint, OnUnknown, Ratchet, RecordState};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::faulty::{Call as LedgerCall, Fault, FaultyLedger};
use super::service::{Answer, Service, Stage, clock, plain, problem, within};

const HOUR: Duration = Duration::from_hours(1);
const SECOND: Duration = Duration::from_secs(1);

/// The key is known, and nobody knows how it ended.
fn outcome_unknown() -> (u16, String, String) {
    problem(409, "outcome-unknown", "unknown")
}

fn in_flight() -> (u16, String, String) {
    problem(409, "in-flight", "in_flight")
}

/// A service that answers `charge N` the Nth time.
async fn charges() -> Service {
    Service::new(|layer| layer, async |call| plain(201, format!("charge {}", call.number))).await
}

#[tokio::test]
async fn requirement_01_of_many_at_once_one_is_executed() {
    let (stage, mut entered) = Stage::new();
    let held = stage.clone();
    let service = Service::new(
        |layer| layer,
        move |call| {
            let stage = held.clone();
            async move {
                stage.wait(call.number).await;
                plain(201, "charged")
            }
        },
    )
    .await;
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
    let handler = move |call: super::service::Call| {
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
    let handler = move |call: super::service::Call| {
        let stage = held.clone();
        async move {
            if call.number == 1 {
                stage.wait(1).await;
            }
            plain(201, format!("charge {}", call.number))
        }
    };
    let repeatable =
        |layer: ratchet::http::inbound::IdempotencyLayer| layer.on_unknown(OnUnknown::MayDuplicate);
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
    let (stage, mut entered) = Stage::new();
    let held = stage.clone();
    let service = Service::new(
        |layer| layer.lease(Duration::from_millis(200)),
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
    let end = service.record("k").await.lease.unwrap().until;
    let beyond = end.after(Duration::from_millis(100));
    service.wait_until("k", |record| record.lease.as_ref().is_some_and(|lease| lease.until > beyond)).await;
    assert_eq!(service.charge("k").await.problem(), in_flight());
    stage.let_go();
    assert_eq!(first.await.unwrap().text(), "done");
    assert_eq!(service.executions(), 1);
}

#[tokio::test]
async fn requirement_05_what_a_client_has_left_is_executed_and_recorded() {
    let (stage, mut entered) = Stage::new();
    let held = stage.clone();
    let service = Service::new(
        |layer| layer,
        move |call| {
            let stage = held.clone();
            async move {
                stage.wait(call.number).await;
                plain(201, "charged")
            }
        },
    )
    .await;
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

#[tokio::test]
async fn requirement_07_another_request_under_a_key_is_told_that_the_first_arrived() {
    let service = charges().await;
    let json = |body: &'static str| {
        let request = service.request(Method::POST, "/charges").header("content-type", "application/json");
        Answer::to(request.header("idempotency-key", "k").body(body))
    };
    assert_eq!(json(r#"{"amount":7,"to":"a"}"#).await.text(), "charge 1");
    assert_eq!(json(r#"{"amount":8,"to":"a"}"#).await.problem(), problem(422, "key-reused", "not_executed"));
    // The same request, as another serializer writes it.
    assert!(json(r#"{ "to": "a", "amount": 7 }"#).await.is_replayed());
    let other_query = service.request(Method::POST, "/charges?dry=1").header("idempotency-key", "k");
    assert_eq!(Answer::to(other_query).await.problem(), problem(422, "key-reused", "not_executed"));
    assert_eq!(service.executions(), 1);
    // Two keys give one request two fingerprints, which nobody can compare with that of a guess.
    for key in ["one", "two"] {
        service.charge(key).await;
    }
    let (one, two) = (service.record("one").await.fingerprint, service.record("two").await.fingerprint);
    assert_ne!(one, two);
    assert_ne!(one, Fingerprint::of(b"amount=7"));
}

#[tokio::test]
async fn requirement_08_a_key_belongs_to_a_principal_a_method_and_a_path() {
    let service = charges().await;
    let send = |account: &'static str, method: Method, path: &'static str| {
        let request = service.request(method, path).header("x-account", account);
        Answer::to(request.header("idempotency-key", "k"))
    };
    let requests = [
        ("t1", Method::POST, "/charges/1/capture"),
        ("t2", Method::POST, "/charges/1/capture"),
        ("t1", Method::POST, "/charges/2/capture"),
        ("t1", Method::PUT, "/charges/1/capture"),
        // Parts that run into each other stay apart.
        ("t1POST", Method::POST, "/charges/1/capture"),
    ];
    for (number, (account, method, path)) in (1..).zip(requests.clone()) {
        assert_eq!(send(account, method, path).await.text(), format!("charge {number}"));
    }
    for (number, (account, method, path)) in (1..).zip(requests) {
        let again = send(account, method, path).await;
        assert_eq!((again.text(), again.is_replayed()), (format!("charge {number}").as_str(), true));
    }
}

#[tokio::test]
async fn requirement_09_a_key_is_checked_before_anything_is_done_with_it() {
    let service = charges().await;
    let missing = Answer::to(service.request(Method::POST, "/charges")).await;
    assert_eq!(missing.problem(), problem(400, "key-missing", "not_executed"));
    for refused in ["", "a b", "\"a", "\"a\", \"b\"", "a, b", "\"a\";v=1", "k\u{e9}", &"x".repeat(256)] {
        let answer = service.charge(refused).await;
        assert_eq!(answer.problem(), problem(400, "key-malformed", "not_executed"), "{refused}");
    }
    let twice = service.post("a").header("idempotency-key", "a");
    assert_eq!(Answer::to(twice).await.problem(), problem(400, "key-malformed", "not_executed"));
    assert_eq!(service.executions(), 0);
    // The longest one takes no more room in an index than any other.
    let longest = "x".repeat(255);
    assert_eq!(service.charge(&longest).await.text(), "charge 1");
    assert_eq!(service.record(&longest).await.id.key.as_str().len(), 64);
    assert!(service.charge(&format!("\"{longest}\"")).await.is_replayed());
}

#[tokio::test]
async fn requirement_10_an_answer_is_repeated_but_for_what_belongs_to_one_exchange() {
    let bytes: Vec<u8> = (0..=255).collect();
    let kept = bytes.clone();
    let service = Service::new(
        |layer| {
            layer
                .keep_header(HeaderName::from_static("request-id"))
                .keep_header(HeaderName::from_static("date"))
        },
        move |call| {
            let body = if call.path == "/large" { vec![b'x'; 200_000] } else { kept.clone() };
            async move {
                let answer =
                    Response::builder().status(201).header("location", "/charges/1").header("etag", "\"1\"");
                let answer =
                    answer.header("request-id", format!("req_{}", call.number)).header("x-other", "1");
                let answer =
                    answer.header("set-cookie", "s=1").header("date", "Sun, 29 Nov 2026 15:00:00 GMT");
                answer.body(body.into()).unwrap()
            }
        },
    )
    .await;
    let first = service.charge("k").await;
    assert_eq!((first.header("set-cookie"), first.header("x-other")), (Some("s=1"), Some("1")));
    assert!(!first.is_replayed());
    let again = service.charge("k").await;
    assert_eq!((again.status, &again.body[..]), (201, &bytes[..]));
    assert_eq!(again.header("location"), Some("/charges/1"));
    assert_eq!((again.header("etag"), again.header("request-id")), (Some("\"1\""), Some("req_1")));
    assert_eq!((again.header("set-cookie"), again.header("x-other")), (None, None));
    assert_ne!(again.header("date"), Some("Sun, 29 Nov 2026 15:00:00 GMT"));

    let large = || service.request(Method::POST, "/large").header("idempotency-key", "k");
    assert_eq!(Answer::to(large()).await.body.len(), 200_000);
    let again = Answer::to(large()).await;
    assert_eq!(again.problem(), problem(409, "answer-not-kept", "executed"));
    let answer = &again.document()["answer"];
    assert_eq!(answer["status"], 201);
    assert!(answer["headers"].as_array().unwrap().contains(&serde_json::json!(["location", "/charges/1"])));
    assert_eq!(service.executions(), 2);
}

#[tokio::test]
async fn requirement_11_a_failure_is_no_answer_and_only_the_handler_can_free_the_key() {
    let service = Service::new(
        |layer| layer,
        async |call| match (call.path.as_str(), call.number) {
            ("/charges", 1 | 2) => (Extension(NotExecuted), StatusCode::SERVICE_UNAVAILABLE).into_response(),
            ("/declined", _) => plain(402, "no money"),
            ("/fails", _) => plain(500, "who knows"),
            ("/limited", _) => plain(429, "slowly"),
            (_, number) => plain(201, format!("charge {number}")),
        },
    )
    .await;
    assert_eq!(service.charge("k").await.status, 503);
    assert_eq!(service.charge("k").await.status, 503);
    assert_eq!(service.charge("k").await.text(), "charge 3");
    assert!(service.charge("k").await.is_replayed());
    for (path, first) in [("/fails", 500), ("/limited", 429)] {
        let send = || Answer::to(service.request(Method::POST, path).header("idempotency-key", "k"));
        let answer = send().await;
        assert_eq!((answer.status, answer.is_replayed()), (first, false));
        assert_eq!(send().await.problem(), outcome_unknown(), "{path}");
    }
    let declined = || Answer::to(service.request(Method::POST, "/declined").header("idempotency-key", "k"));
    declined().await;
    let again = declined().await;
    assert_eq!((again.status, again.text(), again.is_replayed()), (402, "no money", true));
    assert_eq!(service.executions(), 6);
}

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
    let service = Service::start(
        async { ledger },
        |layer| layer.lease(Duration::from_millis(150)),
        async |_| plain(201, "charged"),
    )
    .await;
    for fault in [Fault::FailOnce, Fault::LoseAnswer, Fault::Hang] {
        for call in [LedgerCall::Submit, LedgerCall::Start] {
            faulty.set(Some((call, fault)));
            let answer = service.charge(&format!("{call:?}-{fault:?}")).await;
            assert_eq!(answer.problem(), problem(503, "store-unavailable", "unknown"), "{call:?} {fault:?}");
            assert_eq!(answer.header("retry-after"), Some("1"));
        }
    }
    assert_eq!(service.executions(), 0);
    // The effect happened, and the store has not heard of it: no answer is given that a repetition would not get.
    faulty.set(Some((LedgerCall::Settle, Fault::Hang)));
    assert_eq!(service.charge("k").await.problem(), problem(503, "answer-not-recorded", "unknown"));
    faulty.set(Some((LedgerCall::Settle, Fault::FailOnce)));
    assert_eq!(service.charge("other").await.text(), "charged");
    assert_eq!(service.executions(), 2);
}

#[tokio::test]
async fn requirement_14_lifetime_and_repetition_are_announced() {
    let page = "https://shop.example/docs/keys";
    let service =
        Service::new(|layer| layer.documentation(page).retention(72 * HOUR), async |_| plain(201, "done"))
            .await;
    let (first, again) = (service.charge("k").await, service.charge("k").await);
    assert_eq!(
        (first.header("idempotent-replayed"), again.header("idempotent-replayed")),
        (None, Some("true"))
    );
    let refused = service.charge("a b").await;
    for answer in [&first, &again, &refused] {
        assert_eq!(answer.header("idempotency-key-lifetime"), Some("PT72H"));
    }
    assert_eq!(refused.header("link"), Some("<https://shop.example/docs/keys>; rel=\"describedby\""));
    assert_eq!(refused.document()["type"], "https://shop.example/docs/keys#key-malformed");
}

#[tokio::test]
async fn requirement_15_who_comes_too_early_is_told_when_to_come_back() {
    let (stage, mut entered) = Stage::new();
    let held = stage.clone();
    let service = Service::new(
        |layer| layer.retry_after(7 * SECOND),
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
    let early = service.charge("k").await;
    assert_eq!((early.problem(), early.header("retry-after")), (in_flight(), Some("7")));
    assert_eq!(early.document()["title"], "Conflict");
    stage.let_go();
    assert_eq!(first.await.unwrap().status, 201);
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

// Requirement 17, claim and effect and result in one transaction, is in `crash.rs`.

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
