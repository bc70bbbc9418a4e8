//! What those who run the server see of it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use ratchet::http::reqwest::Method;
use ratchet::ledger::{Document, DocumentId, DocumentWrite, MarkChange};
use ratchet::{DocumentKind, DocumentName, Namespace, Ratchet};
use serde_json::{Value, json};

use crate::support::{Server, Store, answer, program};
use crate::working::ByHand;

#[tokio::test]
async fn health_needs_no_key_and_metrics_one_of_their_own() {
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
    assert_eq!(page("/metrics").await.0, 401);
    let metrics = |key: &str| answer(server.http.get(format!("{}/metrics", server.url)).bearer_auth(key));
    assert_eq!(metrics(&server.operator()).await.0, 403);
    let monitor = server.key(&["--scope", "monitor"]);
    assert_eq!(server.get(&monitor, "/runs/run_1").await.0, 403);
    let (status, metrics) = metrics(&monitor).await;
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
    until_it_stops(&worker).await;
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

/// Until the server has heard that it is to stop.
async fn until_it_stops(worker: &ByHand<'_>) {
    loop {
        match worker.claim().await {
            (204, _) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            (503, told) if told["code"] == "STOPPING" => return,
            (status, told) => panic!("{status} {told}"),
        }
    }
}

#[tokio::test]
async fn a_worker_may_report_after_the_server_was_asked_to_stop() {
    let mut server = Server::start(Store::file());
    let (producer, key) = (server.producer(), server.worker());
    let run = server.run(&producer).await;
    let path = format!("/runs/{run}/enqueue");
    let body = |key: &str| json!({"name": "charge", "version": "1", "input": 1, "idempotencyKey": key});
    let (_, step) = server.post(&producer, &path, &body("order:1")).await;
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    let job = worker.job().await;
    server.tell_to_stop();
    until_it_stops(&worker).await;
    // Nothing new begins, and whoever asks is told when to come again.
    let late = server.request(Method::POST, &producer, &path).header("content-type", "application/json");
    let late = late.body(body("order:2").to_string()).send().await.unwrap();
    assert_eq!((late.status().as_u16(), &late.headers()["retry-after"]), (503, &"1".parse().unwrap()));
    assert_eq!(answer(server.http.get(format!("{}/readyz", server.url))).await.0, 503);
    assert_eq!(server.get(&producer, &format!("/runs/{run}")).await.0, 200);
    assert_eq!(worker.heartbeat(&job).await, (200, json!({"accepted": true, "cancelRequested": false})));
    let done = json!({"status": "SUCCEEDED", "output": "charged"});
    assert_eq!(worker.report(&job, done).await, (200, json!({"accepted": true, "state": "SUCCEEDED"})));
    assert_eq!(server.stopped(), Some(0));
    let again = Server::start(std::mem::replace(&mut server.store, Store::file()));
    let (_, found) = again.get(&producer, &format!("/steps/{}", step["stepId"].as_str().unwrap())).await;
    assert_eq!((&found["state"], &found["output"]), (&json!("SUCCEEDED"), &json!("charged")));
}

#[tokio::test]
async fn a_lease_outlives_the_server_that_granted_it() {
    let mut server = Server::start_with(Store::file(), &["--grace", "1"]);
    let (producer, key) = (server.producer(), server.worker());
    let run = server.run(&producer).await;
    let body = json!({"name": "charge", "version": "1", "input": 1, "idempotencyKey": "order:1"});
    server.post(&producer, &format!("/runs/{run}/enqueue"), &body).await;
    let job = ByHand::registered(&server, &key, "w", "charge").await.job().await;
    assert_eq!(server.stop(), Some(0));
    let again = Server::start(std::mem::replace(&mut server.store, Store::file()));
    let worker = ByHand::known(&again, &key, "w");
    assert_eq!(worker.heartbeat(&job).await, (200, json!({"accepted": true, "cancelRequested": false})));
    let done = json!({"status": "SUCCEEDED", "output": null});
    assert_eq!(worker.report(&job, done).await, (200, json!({"accepted": true, "state": "SUCCEEDED"})));
}

#[tokio::test]
async fn a_trace_goes_on_from_the_producer_to_the_worker() {
    let server = Server::start(Store::file());
    let producer = server.producer();
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let worker = ByHand::registered(&server, &server.worker(), "w", "charge").await;
    for (header, handed_on) in [(trace, Some(&json!(trace))), ("made up", None)] {
        let start = server.request(Method::POST, &producer, "/runs").header("traceparent", header);
        let start = start.header("content-type", "application/json").body(r#"{"name": "checkout"}"#);
        let (_, started) = answer(start).await;
        let path = format!("/runs/{}/enqueue", started["run"]["id"].as_str().unwrap());
        let body = json!({"name": "charge", "version": "1", "input": 1, "idempotencyKey": format!("order:{}", header.len())});
        assert_eq!(server.post(&producer, &path, &body).await.0, 201);
        assert_eq!(worker.job().await.get("traceparent"), handed_on);
    }
}

#[tokio::test]
async fn a_restored_backup_hands_out_no_jobs() {
    let server = Server::start(Store::file());
    let worker = ByHand::registered(&server, &server.worker(), "w", "charge").await;
    assert_eq!(worker.claim().await.0, 204);
    let ratchet = Ratchet::open(&server.store.url()).await.unwrap();
    ratchet.ledger().change_mark(MarkChange::Hold).await.unwrap();
    let told = loop {
        match worker.claim().await {
            (204, _) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            told => break told,
        }
    };
    assert_eq!((told.0, &told.1["code"]), (503, &json!("HELD_BACK")));
    ratchet.acknowledge_restore("ada", "looked").await.unwrap();
    while worker.claim().await.0 != 204 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// What the server keeps, written as an earlier one would have.
async fn write(ratchet: &Ratchet, kind: &'static str, name: &str, body: &Value) -> DocumentId {
    let id = DocumentId {
        kind: DocumentKind::from_static(kind),
        namespace: Namespace::DEFAULT,
        name: DocumentName::new(name).unwrap(),
    };
    let write = DocumentWrite::new(id.clone(), Document::body(body).unwrap());
    assert!(ratchet.ledger().write_document(write).await.unwrap().is_done());
    id
}

#[tokio::test]
async fn runs_and_workers_that_are_gone_for_long_are_forgotten() {
    let store = Store::file();
    let ratchet = Ratchet::open(&store.url()).await.unwrap();
    let run = |started_at: u64| {
        json!({
            "name": "checkout", "owner": "billing", "status": "RUNNING", "project": null, "environment": null,
            "started_at": started_at, "finished_at": null
        })
    };
    let worker = json!({"handlers": [], "capacity": 1, "owner": "billing", "seen_at": 1});
    let old_run = write(&ratchet, "run", "run_1", &run(1)).await;
    let new_run = write(&ratchet, "run", "run_2", &run(9_000_000_000_000)).await;
    let old_worker = write(&ratchet, "worker", "w", &worker).await;
    let mut made = program();
    made.args(["keys", "create", "--scope", "worker", "--store", &store.url()]);
    assert!(made.output().unwrap().status.success());
    let server = Server::start(store);
    for old in [old_run, old_worker] {
        while ratchet.ledger().document(old.clone()).await.unwrap().is_some() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
    assert!(ratchet.ledger().document(new_run).await.unwrap().is_some());
    drop(server);
}
