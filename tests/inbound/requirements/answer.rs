//! What is answered, and what is remembered.

use std::time::Duration;

use axum::extract::Extension;
use axum::http::{HeaderName, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use ratchet::http::inbound::NotExecuted;

use super::super::service::{Answer, Service, Stage, plain, problem};
use super::{in_flight, outcome_unknown};

const HOUR: Duration = Duration::from_hours(1);
const SECOND: Duration = Duration::from_secs(1);

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
    let service = Service::held(&stage, |layer| layer.retry_after(7 * SECOND), "done").await;
    let first = tokio::spawn(Answer::to(service.post("k")));
    entered.recv().await.unwrap();
    let early = service.charge("k").await;
    assert_eq!((early.problem(), early.header("retry-after")), (in_flight(), Some("7")));
    assert_eq!(early.document()["title"], "Conflict");
    stage.let_go();
    assert_eq!(first.await.unwrap().status, 201);
}
