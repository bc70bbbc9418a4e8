//! What one caller may take of the server, and what it is told.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use ratchet::http::reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Server, Store, answer};
use crate::working::{self, ByHand};

fn enqueue() -> Value {
    json!({"name": "charge", "version": "1", "input": null, "idempotencyKey": "order:1"})
}

#[tokio::test]
async fn what_is_malformed_is_told_without_repeating_it() {
    let server = Server::start(Store::file());
    let key = server.producer();
    let run = server.run(&key).await;
    let path = format!("/runs/{run}/enqueue");
    let changed = |name: &str, value: Value| {
        let mut body = enqueue();
        body[name] = value;
        body
    };
    let cases = [
        (changed("extra", json!("secret")), "unknown field"),
        (json!({"name": "charge"}), "missing field `version`"),
        (changed("name", json!("Sécret")), "an operation's name is refused"),
        (changed("version", json!("secret 1")), "a version is refused"),
        (changed("idempotencyKey", json!("secret key")), "this is no idempotency key"),
        (changed("idempotencyKey", json!("k".repeat(256))), "this is no idempotency key"),
        (changed("input", json!(9_007_199_254_740_993_u64)), "send it as a string"),
        (changed("input", json!("x".repeat(300 * 1024))), "the limit is 262144"),
        (changed("timeoutMs", json!("secret")), "a value of another type than expected"),
        (changed("endpoint", json!("Secret")), "this is no endpoint"),
        (changed("maxAttempts", json!(0)), "maxAttempts is a number from 1 to 100"),
    ];
    for (body, told) in cases {
        let (status, answer) = server.post(&key, &path, &body).await;
        let text = answer["error"].as_str().unwrap_or_default();
        assert_eq!((status, &answer["code"]), (400, &json!("INVALID_REQUEST")), "{answer}");
        assert!(text.contains(told), "{told} is not in {text}");
        assert!(!text.to_lowercase().contains("secret"), "{text}");
    }
    let raw = |content: &'static str, body: &'static str| {
        answer(server.request(Method::POST, &key, &path).header("content-type", content).body(body))
    };
    assert_eq!(raw("application/json", "{").await.0, 400);
    assert_eq!(
        raw("text/plain", "{}").await,
        (
            415,
            json!({
                "error": "the body must be JSON, with `Content-Type: application/json`", "code": "NOT_JSON"
            })
        )
    );
    assert_eq!(server.get(&key, "/nothing").await.1["code"], "NOT_FOUND");
    let (status, wrong) = answer(server.request(Method::DELETE, &key, &format!("/runs/{run}"))).await;
    assert_eq!((status, &wrong["code"]), (405, &json!("METHOD_NOT_ALLOWED")));
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let server = Server::start_with(Store::file(), &["--body", "2000"]);
    let key = server.producer();
    let body = json!({"name": "x".repeat(2000)});
    let (status, told) = server.post(&key, "/runs", &body).await;
    assert_eq!((status, &told["code"]), (413, &json!("BODY_TOO_LARGE")));
    server.run(&key).await;
}

#[tokio::test]
async fn a_success_is_taken_however_large_its_report_is_and_kept_without_its_result() {
    let server = Server::start_with(Store::file(), &["--body", "2000"]);
    let (producer, key) = (server.producer(), server.worker());
    let step = working::enqueue(&server, &producer, "order:1", json!({})).await;
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    let job = worker.job().await;
    // The result stands before the status.
    let output = |bytes| json!({"status": "SUCCEEDED", "output": "x".repeat(bytes)});
    assert_eq!(
        worker.report(&job, output(250_000)).await,
        (200, json!({"accepted": true, "state": "SUCCEEDED"}))
    );
    let (_, step) = server.get(&producer, &format!("/steps/{}", step["stepId"].as_str().unwrap())).await;
    assert_eq!(step["output"], Value::Null);
    assert_eq!(step["error"], "unstorable_result: the report was too large for it");
}

#[tokio::test]
async fn what_a_report_says_beside_takes_no_result_with_it_however_large_it_is() {
    let server = Server::start_with(Store::file(), &["--body", "2000"]);
    let (producer, key) = (server.producer(), server.worker());
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    for (order, output, beside) in [
        ("order:1", json!("x".repeat(1500)), 1500),
        ("order:2", Value::Null, 2500),
        ("order:3", json!(7), 2500),
    ] {
        let step = working::enqueue(&server, &producer, order, json!({})).await;
        let job = worker.job().await;
        let done = json!({"status": "SUCCEEDED", "log": "y".repeat(beside), "output": output});
        assert_eq!(worker.report(&job, done).await, (200, json!({"accepted": true, "state": "SUCCEEDED"})));
        let (_, step) = server.get(&producer, &format!("/steps/{}", step["stepId"].as_str().unwrap())).await;
        assert_eq!((&step["output"], &step["error"]), (&output, &Value::Null), "{order}");
    }
}

/// What the server sends before it closes the connection.
fn until_closed(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).expect("the server closes the connection");
    String::from_utf8_lossy(&received).into_owned()
}

fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap()
}

#[tokio::test]
async fn a_slow_client_does_not_hold_the_server() {
    let server = Server::start_with(Store::file(), &["--patience", "1"]);
    let key = server.producer();
    let mut slow_head = connect(&server);
    slow_head.write_all(b"POST /api/v1/runs HTTP/1.1\r\nHost: x\r\n").unwrap();
    let mut slow_body = connect(&server);
    let head = format!(
        "POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    );
    slow_body.write_all(head.as_bytes()).unwrap();
    let mut idle = connect(&server);
    let (head, body, nothing) = tokio::task::spawn_blocking(move || {
        (until_closed(&mut slow_head), until_closed(&mut slow_body), until_closed(&mut idle))
    })
    .await
    .unwrap();
    assert!(head.is_empty() || head.starts_with("HTTP/1.1 408"), "{head}");
    assert!(body.starts_with("HTTP/1.1 408") && body.contains("BODY_TOO_SLOW"), "{body}");
    assert_eq!(nothing, "");
    server.run(&key).await;
}

#[tokio::test]
async fn more_requests_than_the_server_takes_are_told_to_come_again() {
    let server = Server::start_with(Store::file(), &["--requests", "1"]);
    let key = server.producer();
    let mut holding = connect(&server);
    let head = format!(
        "POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    );
    holding.write_all(head.as_bytes()).unwrap();
    let mut go_on = [0; 25];
    holding.read_exact(&mut go_on).unwrap();
    let (status, told) = server.get(&key, "/runs/run_1").await;
    assert_eq!((status, &told["code"]), (503, &json!("SERVER_FULL")));
    drop(holding);
    while server.get(&key, "/runs/run_1").await.0 == 503 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A request that is under way until the connection is dropped.
fn hold_a_request(server: &Server, key: &str) -> TcpStream {
    let mut holding = connect(server);
    let head = format!(
        "POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    );
    holding.write_all(head.as_bytes()).unwrap();
    let mut go_on = [0; 25];
    holding.read_exact(&mut go_on).unwrap();
    holding
}

#[tokio::test]
async fn what_a_worker_says_about_its_job_is_heard_however_many_others_ask() {
    let server = Server::start_with(Store::file(), &["--requests", "1"]);
    let (producer, key) = (server.producer(), server.worker());
    working::enqueue(&server, &producer, "order:1", json!({})).await;
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    let job = worker.job().await;
    let _holding = hold_a_request(&server, &producer);
    assert_eq!(worker.claim().await.0, 503);
    assert_eq!(worker.heartbeat(&job).await, (200, json!({"accepted": true, "cancelRequested": false})));
    let done = json!({"status": "SUCCEEDED", "output": null});
    assert_eq!(worker.report(&job, done).await.0, 200);
}

#[tokio::test]
async fn what_a_worker_says_about_its_job_counts_towards_no_rate() {
    let server = Server::start_with(Store::file(), &["--rate", "2"]);
    let (producer, key) = (server.producer(), server.worker());
    working::enqueue(&server, &producer, "order:1", json!({})).await;
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    let job = worker.job().await;
    while worker.claim().await.0 != 429 {}
    for _ in 0..10 {
        assert_eq!(worker.heartbeat(&job).await.0, 200);
    }
    let done = json!({"status": "SUCCEEDED", "output": null});
    assert_eq!(worker.report(&job, done).await.0, 200);
    let (status, told) = worker.claim().await;
    assert!(status == 204 || told["code"] == "QUOTA_EXCEEDED", "{status} {told}");
}

#[tokio::test]
async fn one_peer_takes_no_more_connections_than_it_may() {
    let server = Server::start_with(Store::file(), &["--connections-of-peer", "1", "--patience", "60"]);
    let key = server.producer();
    let holding = connect(&server);
    let mut beyond = connect(&server);
    let told = tokio::task::spawn_blocking(move || until_closed(&mut beyond)).await.unwrap();
    assert_eq!(told, "");
    drop(holding);
    while server.request(Method::GET, &key, "/runs/run_1").send().await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_those_before_them() {
    let server = Server::start_with(Store::file(), &["--connections", "1", "--patience", "2"]);
    let key = server.producer();
    let holding = connect(&server);
    // The place is free when the idle connection is closed.
    server.run(&key).await;
    drop(holding);
}
