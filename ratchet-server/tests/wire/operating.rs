//! What those who run the server see of it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use ratchet::http::reqwest::Method;
use serde_json::json;

use crate::support::{Server, Store, answer};
use crate::working::ByHand;

#[tokio::test]
async fn health_and_metrics_need_no_key() {
    let server = Server::start(Store::file());
    let (producer, key) = (server.producer(), server.worker());
    let run = server.run(&producer).await;
    let body = json!({"name": "charge", "version": "1", "input": 1, "idempotencyKey": "order:1"});
    let path = format!("/runs/{run}/enqueue");
    server.post(&producer, &path, &body).await;
    server.post(&producer, &path, &body).await;
    let other = json!({"name": "charge", "version": "1", "input": 2, "idempotencyKey": "order:1"});
    server.post(&producer, &path, &other).await;
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    let job = worker.job().await;
    worker.report(&job, json!({"status": "FAILED", "error": "no", "retryable": false})).await;
    let page = |path: &str| answer(server.http.get(format!("{}{path}", server.url)));
    assert_eq!(page("/healthz").await, (200, json!("ok\n")));
    assert_eq!(page("/readyz").await, (200, json!("ok\n")));
    let (status, metrics) = page("/metrics").await;
    assert_eq!(status, 200);
    let metrics = metrics.as_str().unwrap();
    for line in [
        r#"ratchet_submitted_total{operation="charge",answer="new"} 1"#,
        r#"ratchet_submitted_total{operation="charge",answer="existing"} 1"#,
        r#"ratchet_submitted_total{operation="charge",answer="conflict"} 1"#,
        r#"ratchet_attempts_total{operation="charge",outcome="unknown",state="uncertain"} 1"#,
        r#"ratchet_records{namespace="default",operation="charge",version="1",state="uncertain"} 1"#,
        r#"ratchet_http_requests_total{method="POST",route="/api/v1/runs/{run}/enqueue",status="422"} 1"#,
        r#"ratchet_claim_wait_seconds_count{operation="charge"} 1"#,
        r#"ratchet_oldest_uncertain_seconds{namespace="default"}"#,
        r#"ratchet_http_request_seconds_bucket{method="POST",route="/api/v1/runs",le="0.001"}"#,
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    assert!(!metrics.contains("order:1"));
}

#[tokio::test]
async fn a_request_keeps_its_id() {
    let server = Server::start(Store::file());
    let asked =
        |id: &str| server.http.get(format!("{}/healthz", server.url)).header("x-request-id", id).send();
    assert_eq!(asked("checkout-7").await.unwrap().headers()["x-request-id"], "checkout-7");
    let replaced = asked("two words").await.unwrap();
    assert_eq!(replaced.headers()["x-request-id"].len(), 32);
}

#[tokio::test]
async fn a_report_that_is_under_way_is_taken_before_the_server_stops() {
    let mut server = Server::start(Store::file());
    let (producer, key) = (server.producer(), server.worker());
    let run = server.run(&producer).await;
    let body = json!({"name": "charge", "version": "1", "input": 1, "idempotencyKey": "order:1"});
    let (_, step) = server.post(&producer, &format!("/runs/{run}/enqueue"), &body).await;
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    let job = worker.job().await;
    let report = json!({
        "workerId": "w", "leaseToken": job["leaseToken"], "status": "SUCCEEDED", "output": "charged"
    })
    .to_string();
    let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    let head = format!(
        "POST /api/v1/workers/jobs/{}/report HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        job["jobId"].as_str().unwrap(),
        report.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The server reads the body: the request is under way.
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    server.tell_to_stop();
    // Nothing more is accepted when it has heard that.
    let address = server.url.strip_prefix("http://").unwrap();
    while TcpStream::connect(address).is_ok() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    stream.write_all(report.as_bytes()).unwrap();
    let mut answered = String::new();
    stream.read_to_string(&mut answered).unwrap();
    assert!(
        answered.starts_with("HTTP/1.1 200") && answered.contains(r#""state":"SUCCEEDED""#),
        "{answered}"
    );
    assert_eq!(server.stop(), Some(0));

    let again = Server::start(std::mem::replace(&mut server.store, Store::file()));
    let (_, found) = again.get(&producer, &format!("/steps/{}", step["stepId"].as_str().unwrap())).await;
    assert_eq!((&found["state"], &found["output"]), (&json!("SUCCEEDED"), &json!("charged")));
    let (status, _) = answer(again.request(Method::GET, &producer, &format!("/runs/{run}"))).await;
    assert_eq!(status, 200);
}
