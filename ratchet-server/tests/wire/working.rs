//! What workers of the published client can rely on, and what becomes of those that vanish.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use ratchet::http::reqwest::Method;
use ratchet::ledger::Declaration;
use ratchet::{HiddenPath, HiddenPaths, OperationName, Ratchet, Version};
use serde_json::{Value, json};

use crate::support::{Server, Store, answer, printed, python};

async fn what_a_killed_worker_had_sent_is_sent_again_under_the_same_key(store: Store) {
    // As it is unless told otherwise: the client waits for its claims as for every answer.
    let server = Server::start_with(store, &["--claim-wait", "2"]);
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("effects").display().to_string();
    let (producer, worker) = (server.producer(), server.worker());
    let run = server.run(&producer).await;
    let charge = json!({
        "name": "charge", "version": "1", "input": null, "endpoint": "charge", "timeoutMs": 1000,
        "idempotencyKey": "order:7:charge", "maxAttempts": 2
    });
    // So that the second attempt does not wait for half a minute.
    let quick = json!({
        "preset": "CUSTOM", "maxAttempts": 2, "initialDelayMs": 100, "multiplier": 1.0, "maxDelayMs": 100,
        "jitterPercent": 0.0
    });
    let set =
        server.request(ratchet::http::reqwest::Method::PUT, &server.operator(), "/endpoints/charge/policy");
    let set = set.header("content-type", "application/json").body(quick.to_string());
    assert_eq!(crate::support::answer(set).await, (200, quick));
    let (status, step) = server.post(&producer, &format!("/runs/{run}/enqueue"), &charge).await;
    assert_eq!(status, 201, "{step}");

    let mut vanishing = python(&server, include_str!("python/vanishing.py"), &[&worker, &destination])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acted = String::new();
    BufReader::new(vanishing.stdout.take().unwrap()).read_line(&mut acted).unwrap();
    assert_eq!(acted, "acted\n");
    vanishing.kill().unwrap();
    vanishing.wait().unwrap();

    let step_id = step["stepId"].as_str().unwrap();
    let arguments = [&producer, &worker, step_id, &destination];
    let seen = printed(python(&server, include_str!("python/taking_over.py"), &arguments)).await;
    assert_eq!(seen, json!(["SUCCEEDED", 2, "charged"]));
    let effects = fs::read_to_string(&destination).unwrap();
    assert_eq!(effects, "order:7:charge 1\norder:7:charge 2\n");
}

#[tokio::test]
async fn a_worker_is_killed_between_effect_and_report_in_a_file() {
    what_a_killed_worker_had_sent_is_sent_again_under_the_same_key(Store::file()).await;
}

#[tokio::test]
async fn a_worker_is_killed_between_effect_and_report_in_a_database() {
    what_a_killed_worker_had_sent_is_sent_again_under_the_same_key(Store::database().await).await;
}

/// A worker over plain HTTP, for what the published client does not show.
pub(crate) struct ByHand<'a> {
    server: &'a Server,
    key: String,
    id: &'static str,
}

impl<'a> ByHand<'a> {
    pub(crate) async fn registered(server: &'a Server, key: &str, id: &'static str, operation: &str) -> Self {
        Self::with_capacity(server, key, id, operation, 8).await
    }

    pub(crate) async fn with_capacity(
        server: &'a Server,
        key: &str,
        id: &'static str,
        operation: &str,
        capacity: u32,
    ) -> Self {
        let handlers = json!([{"name": operation, "version": "1"}]);
        let body = json!({"workerId": id, "capacity": capacity, "handlers": handlers});
        let (status, answer) = server.post(key, "/workers/register", &body).await;
        assert_eq!((status, answer), (200, json!({"workerId": id, "handlers": 1})));
        Self::known(server, key, id)
    }

    /// One that registered before.
    pub(crate) fn known(server: &'a Server, key: &str, id: &'static str) -> Self {
        Self { server, key: key.to_owned(), id }
    }

    pub(crate) async fn claim(&self) -> (u16, Value) {
        self.server.post(&self.key, "/workers/claim", &json!({"workerId": self.id})).await
    }

    pub(crate) async fn job(&self) -> Value {
        let (status, claimed) = self.claim().await;
        assert_eq!(status, 200, "{claimed}");
        claimed["job"].clone()
    }

    async fn send(&self, job: &Value, call: &str, more: Value) -> (u16, Value) {
        let mut body = json!({"workerId": self.id, "leaseToken": job["leaseToken"]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let path = format!("/workers/jobs/{}/{call}", job["jobId"].as_str().unwrap());
        self.server.post(&self.key, &path, &body).await
    }

    pub(crate) async fn report(&self, job: &Value, more: Value) -> (u16, Value) {
        self.send(job, "report", more).await
    }

    pub(crate) async fn heartbeat(&self, job: &Value) -> (u16, Value) {
        self.send(job, "heartbeat", json!({})).await
    }
}

pub(crate) async fn enqueue(server: &Server, producer: &str, key: &str, more: Value) -> Value {
    let run = server.run(producer).await;
    let mut body = json!({"name": "charge", "version": "1", "input": null, "idempotencyKey": key});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let (status, step) = server.post(producer, &format!("/runs/{run}/enqueue"), &body).await;
    assert_eq!(status, 201, "{step}");
    step
}

#[tokio::test]
async fn a_report_after_the_lease_went_on_is_refused_and_kept_on_its_own_attempt() {
    let server = Server::start(Store::file());
    let (producer, worker) = (server.producer(), server.worker());
    let step = enqueue(&server, &producer, "order:1:charge", json!({"timeoutMs": 1000})).await;
    let first = ByHand::registered(&server, &worker, "first", "charge").await;
    let second = ByHand::registered(&server, &worker, "second", "charge").await;
    let late = first.job().await;
    assert_eq!(second.claim().await.0, 204);
    let failed = json!({"status": "FAILED", "error": "reset", "retryable": true});
    // Another worker may not speak for the first one, and nobody can make a token up.
    let denied = json!({"error": "this worker has no such lease of the job", "code": "FORBIDDEN"});
    assert_eq!(second.report(&late, failed.clone()).await, (403, denied.clone()));
    let mut forged = late.clone();
    forged["leaseToken"] = json!("2.AAAA");
    assert_eq!(first.report(&forged, failed.clone()).await, (403, denied));

    assert_eq!(first.heartbeat(&late).await, (200, json!({"accepted": true, "cancelRequested": false})));
    assert_eq!(
        first.report(&late, failed.clone()).await,
        (200, json!({"accepted": true, "state": "PENDING"}))
    );
    // Its answer may have been lost.
    assert_eq!(first.report(&late, failed.clone()).await.0, 200);
    assert_eq!(first.heartbeat(&late).await, (200, json!({"accepted": false, "cancelRequested": false})));

    let operator = server.operator();
    let step_id = step["stepId"].as_str().unwrap();
    let cancel = format!("/jobs/{}/cancel", late["jobId"].as_str().unwrap());
    let (_, cancelled) = server.post(&producer, &cancel, &json!({})).await;
    assert_eq!(cancelled["state"], "UNCERTAIN");
    let replay = json!({"acknowledgeDuplicateRisk": true, "maxAttempts": 1, "reason": "test"});
    assert_eq!(server.post(&operator, &format!("/steps/{step_id}/replay"), &replay).await.0, 200);
    let current = second.job().await;
    assert_eq!((&current["attempt"], &current["idempotencyKey"]), (&json!(2), &json!("order:1:charge")));
    let (status, refused) = first.report(&late, failed).await;
    assert_eq!((status, &refused["code"]), (422, &json!("LEASE_SUPERSEDED")));
    let succeeded = json!({"status": "SUCCEEDED", "output": {"receipt": 1}});
    let settled = json!({"accepted": true, "state": "SUCCEEDED"});
    assert_eq!(second.report(&current, succeeded).await, (200, settled));
}

#[tokio::test]
async fn a_version_is_never_substituted_and_a_key_is_for_its_operations() {
    let server = Server::start(Store::file());
    let producer = server.producer();
    let step = enqueue(&server, &producer, "order:1:charge", json!({"version": "2"})).await;
    let worker = server.key(&["--scope", "worker", "--operation", "charge"]);
    let one = ByHand::registered(&server, &worker, "one", "charge").await;
    assert_eq!(one.claim().await.0, 204);
    let (_, found) = server.get(&producer, &format!("/steps/{}", step["stepId"].as_str().unwrap())).await;
    assert_eq!(found["state"], "PENDING");
    let refund = json!({"workerId": "one", "capacity": 1, "handlers": [{"name": "refund", "version": "1"}]});
    assert_eq!(server.post(&worker, "/workers/register", &refund).await.0, 403);
    // The id belongs to the key that registered it.
    let other = server.worker();
    let taken = json!({"workerId": "one", "capacity": 1, "handlers": [{"name": "charge", "version": "1"}]});
    assert_eq!(server.post(&other, "/workers/register", &taken).await.0, 403);
    assert_eq!(server.post(&other, "/workers/claim", &json!({"workerId": "one"})).await.0, 404);
}

#[tokio::test]
async fn a_worker_is_given_no_more_jobs_than_it_can_hold() {
    let server = Server::start(Store::file());
    let (producer, key) = (server.producer(), server.worker());
    for order in ["order:1:charge", "order:2:charge"] {
        enqueue(&server, &producer, order, json!({})).await;
    }
    let worker = ByHand::with_capacity(&server, &key, "w", "charge", 1).await;
    let job = worker.job().await;
    assert_eq!(worker.claim().await.0, 204);
    assert_eq!(worker.heartbeat(&job).await.1["accepted"], true);
    assert_eq!(worker.claim().await.0, 204);
    worker.report(&job, json!({"status": "SUCCEEDED", "output": null})).await;
    let next = worker.job().await;
    assert_eq!(next["idempotencyKey"], "order:2:charge");
}

#[tokio::test]
async fn a_success_is_taken_whatever_else_is_odd_about_its_report() {
    let server = Server::start(Store::file());
    let (producer, key) = (server.producer(), server.worker());
    let step = enqueue(&server, &producer, "order:1:charge", json!({})).await;
    let job = ByHand::registered(&server, &key, "w", "charge").await.job().await;
    let told = format!(
        r#"{{"workerId": "w", "leaseToken": {}, "status": "SUCCEEDED", "output": "charged", "retryAfterMs": -1,
            "retryable": "no", "error": 7, "took": {{"ms": 3}}, "ratio": NaN}}"#,
        job["leaseToken"]
    );
    let path = format!("/workers/jobs/{}/report", job["jobId"].as_str().unwrap());
    // Without a type of content, too.
    let report = server.request(Method::POST, &key, &path).body(told);
    assert_eq!(answer(report).await, (200, json!({"accepted": true, "state": "SUCCEEDED"})));
    let (_, found) = server.get(&producer, &format!("/steps/{}", step["stepId"].as_str().unwrap())).await;
    assert_eq!(found["output"], "charged");
}

#[tokio::test]
async fn a_decision_about_what_was_seen_is_refused_when_it_has_gone_on() {
    let server = Server::start(Store::file());
    let (producer, key, operator) = (server.producer(), server.worker(), server.operator());
    let step = enqueue(&server, &producer, "order:1:charge", json!({"maxAttempts": 1})).await;
    let path = format!("/steps/{}", step["stepId"].as_str().unwrap());
    let cancel = format!("/jobs/{}/cancel", step["jobId"].as_str().unwrap());
    let (_, seen) = server.get(&producer, &path).await;
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    let job = worker.job().await;
    let (status, told) = server.post(&producer, &cancel, &json!({"seen": seen["seen"]})).await;
    assert_eq!((status, &told["code"]), (422, &json!("CHANGED")));
    let (_, seen) = server.get(&producer, &path).await;
    let (_, told) = server.post(&producer, &cancel, &json!({"seen": seen["seen"]})).await;
    assert_eq!(told["cancelRequested"], true);
    worker.report(&job, json!({"status": "FAILED", "error": "reset"})).await;
    let replay = |seen: &Value| json!({"acknowledgeDuplicateRisk": true, "maxAttempts": 1, "reason": "test", "seen": seen});
    let (_, preview) = server.get(&operator, &format!("{path}/replay")).await;
    let (status, told) = server.post(&operator, &format!("{path}/replay"), &replay(&json!(0))).await;
    assert_eq!((status, &told["code"]), (422, &json!("CHANGED")));
    let (status, told) = server.post(&operator, &format!("{path}/replay"), &replay(&preview["seen"])).await;
    assert_eq!((status, &told["state"]), (200, &json!("PENDING")));
}

#[tokio::test]
async fn a_result_that_cannot_be_stored_is_a_success_without_one() {
    let server = Server::start(Store::file());
    let (producer, key) = (server.producer(), server.worker());
    let step = enqueue(&server, &producer, "order:1:charge", json!({})).await;
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    let job = worker.job().await;
    let large = json!({"status": "SUCCEEDED", "output": "x".repeat(65 * 1024)});
    assert_eq!(worker.report(&job, large).await.1["state"], "SUCCEEDED");
    let (_, found) = server.get(&producer, &format!("/steps/{}", step["stepId"].as_str().unwrap())).await;
    assert_eq!((&found["state"], found.get("output")), (&json!("SUCCEEDED"), None));
    assert!(found["error"].as_str().unwrap().starts_with("unstorable_result"), "{found}");
}

#[tokio::test]
async fn a_success_that_is_reported_after_the_lease_went_on_counts() {
    let server = Server::start(Store::file());
    let (producer, key) = (server.producer(), server.worker());
    let quick = json!({
        "preset": "CUSTOM", "maxAttempts": 5, "initialDelayMs": 100, "multiplier": 1.0, "maxDelayMs": 100,
        "jitterPercent": 0.0
    });
    let set = server.request(Method::PUT, &server.operator(), "/endpoints/charge/policy");
    let set = set.header("content-type", "application/json").body(quick.to_string());
    assert_eq!(answer(set).await.0, 200);
    let step = enqueue(&server, &producer, "order:1:charge", json!({"timeoutMs": 1000})).await;
    let first = ByHand::registered(&server, &key, "first", "charge").await;
    let second = ByHand::registered(&server, &key, "second", "charge").await;
    let late = first.job().await;
    let current = loop {
        match second.claim().await {
            (200, claimed) => break claimed["job"].clone(),
            _ => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
        }
    };
    let (status, told) = first.report(&late, json!({"status": "SUCCEEDED", "output": "charged"})).await;
    assert_eq!((status, &told["code"]), (422, &json!("LEASE_SUPERSEDED")));
    let failed = json!({"status": "FAILED", "error": "reset", "retryable": true});
    assert_eq!(second.report(&current, failed).await.1["state"], "SUCCEEDED");
    let (_, found) = server.get(&producer, &format!("/steps/{}", step["stepId"].as_str().unwrap())).await;
    assert_eq!((&found["state"], &found["output"]), (&json!("SUCCEEDED"), &json!("charged")));
}

#[tokio::test]
async fn what_a_worker_said_is_whole_for_the_producer_and_redacted_for_others() {
    let server = Server::start(Store::file());
    let (producer, key, operator) = (server.producer(), server.worker(), server.operator());
    let input = json!({"email": "ada@example.com"});
    let step = enqueue(&server, &producer, "order:1:charge", json!({"input": input})).await;
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    let job = worker.job().await;
    let failed = json!({"status": "FAILED", "error": "402 for ada@example.com", "retryable": false});
    assert_eq!(worker.report(&job, failed).await.1["state"], "UNCERTAIN");
    let of_step = format!("/steps/{}", step["stepId"].as_str().unwrap());
    let of_run = format!("/runs/{}/steps", step["runId"].as_str().unwrap());
    let errors = async |key: &str| {
        let (_, one) = server.get(key, &of_step).await;
        let (_, all) = server.get(key, &of_run).await;
        [one["error"].clone(), all["steps"][0]["error"].clone()]
    };
    assert_eq!(errors(&producer).await, ["not_retryable: 402 for ada@example.com"; 2]);
    assert_eq!(errors(&operator).await, ["not_retryable", "not_retryable"]);
    let ratchet = Ratchet::open(&server.store.url()).await.unwrap();
    let (operation, version) = (OperationName::from_static("charge"), Version::from_static("1"));
    let email = HiddenPath::default().field("email");
    let declared = Declaration {
        hidden: HiddenPaths::new([email]),
        ..Declaration::new(operation, version, "order:<id>")
    };
    ratchet.ledger().declare(vec![declared]).await.unwrap();
    assert_eq!(errors(&operator).await, ["not_retryable: 402 for [redacted]"; 2]);
}
