//! Which action a request is.

use axum::http::Method;
use ratchet::Fingerprint;

use super::super::service::{Answer, problem};
use super::charges;

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
