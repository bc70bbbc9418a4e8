//! What Rust programs declare holds what comes over the wire, whichever came first.

use std::num::NonZeroU32;
use std::time::Duration;

use ratchet::http::reqwest::Method;
use ratchet::ledger::Declaration;
use ratchet::{Contract, OnUnknown, OperationName, Policy, Queue, Ratchet, Stored, Version};
use serde_json::{Value, json};

use crate::support::{Server, Store, answer};
use crate::working::{ByHand, enqueue};

fn charge(version: &'static str) -> Declaration {
    Declaration::new(OperationName::from_static("charge"), Version::from_static(version), "order:<id>")
}

async fn declare(server: &Server, declaration: Declaration) -> Ratchet {
    let ratchet = Ratchet::open(&server.store.url()).await.unwrap();
    ratchet.ledger().declare(vec![declaration]).await.unwrap();
    ratchet
}

/// Tries again after three seconds: longer than declarations are kept in mind.
async fn try_again_soon(server: &Server) {
    let policy = json!({
        "preset": "CUSTOM", "maxAttempts": 5, "initialDelayMs": 3000, "multiplier": 1.0, "maxDelayMs": 3000,
        "jitterPercent": 0.0
    });
    let set = server.request(Method::PUT, &server.operator(), "/endpoints/charge/policy");
    let set = set.header("content-type", "application/json").body(policy.to_string());
    assert_eq!(answer(set).await.0, 200);
}

async fn state(server: &Server, producer: &str, step: &Value) -> Value {
    let path = format!("/steps/{}", step["stepId"].as_str().unwrap());
    server.get(producer, &path).await.1["state"].clone()
}

fn reset() -> Value {
    json!({"status": "FAILED", "error": "connection reset", "retryable": true})
}

async fn what_was_enqueued_before_its_declaration_is_held_to_it(store: Store) {
    let server = Server::start(store);
    let (producer, key) = (server.producer(), server.worker());
    try_again_soon(&server).await;
    let step = enqueue(&server, &producer, "order:1", json!({})).await;
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    let job = worker.job().await;
    // Nobody has said anything else, so it is tried again.
    assert_eq!(worker.report(&job, reset()).await.1["state"], "PENDING");
    let _ratchet = declare(&server, charge("1")).await;
    while state(&server, &producer, &step).await == "PENDING" {
        let (status, claimed) = worker.claim().await;
        assert_eq!(status, 204, "{claimed}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(state(&server, &producer, &step).await, "UNCERTAIN");
}

#[tokio::test]
async fn what_was_enqueued_before_its_declaration_is_held_to_it_in_a_file() {
    what_was_enqueued_before_its_declaration_is_held_to_it(Store::file()).await;
}

#[tokio::test]
async fn what_was_enqueued_before_its_declaration_is_held_to_it_in_a_database() {
    what_was_enqueued_before_its_declaration_is_held_to_it(Store::database().await).await;
}

#[tokio::test]
async fn a_version_that_nobody_declared_is_held_to_what_another_one_declares() {
    let server = Server::start(Store::file());
    let (producer, key) = (server.producer(), server.worker());
    let _ratchet = declare(&server, charge("2")).await;
    let step = enqueue(&server, &producer, "order:1", json!({})).await;
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    let job = worker.job().await;
    assert_eq!(worker.report(&job, reset()).await.1["state"], "UNCERTAIN");
    assert_eq!(state(&server, &producer, &step).await, "UNCERTAIN");
}

#[tokio::test]
async fn no_more_attempts_run_at_once_than_the_operation_declares() {
    let server = Server::start(Store::file());
    let (producer, key) = (server.producer(), server.worker());
    let limited = Declaration { concurrency: NonZeroU32::new(1), ..charge("1") };
    let _ratchet = declare(&server, limited).await;
    for order in ["order:1", "order:2"] {
        enqueue(&server, &producer, order, json!({})).await;
    }
    let one = ByHand::registered(&server, &key, "one", "charge").await;
    let other = ByHand::registered(&server, &key, "other", "charge").await;
    let job = one.job().await;
    assert_eq!((one.claim().await.0, other.claim().await.0), (204, 204));
    one.report(&job, json!({"status": "SUCCEEDED", "output": null})).await;
    other.job().await;
}

#[tokio::test]
async fn what_waits_in_the_queue_of_before_the_declaration_is_still_served() {
    let server = Server::start(Store::file());
    let (producer, key) = (server.producer(), server.worker());
    let ratchet = Ratchet::open(&server.store.url()).await.unwrap();
    let step = enqueue(&server, &producer, "order:1", json!({})).await;
    let bulk = Declaration { queue: Queue::from_static("bulk"), ..charge("1") };
    ratchet.ledger().declare(vec![bulk]).await.unwrap();
    // The server knows of the declaration when what comes now waits in its queue.
    for number in 0.. {
        let asked = enqueue(&server, &producer, &format!("probe:{number}"), json!({})).await;
        let place = asked["stepId"].as_str().unwrap().trim_start_matches("step_").parse().unwrap();
        let Some(Stored::Record(probe)) = ratchet.ledger().at(ratchet::ledger::Cursor(place)).await.unwrap()
        else {
            panic!("a probe is on record");
        };
        if probe.queue.as_str() == "bulk" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    assert_eq!(worker.job().await["stepId"], step["stepId"]);
}

#[tokio::test]
async fn a_risk_is_accepted_only_where_the_decision_asks_about_it() {
    let server = Server::start(Store::file());
    let (producer, key, operator) = (server.producer(), server.worker(), server.operator());
    let policy = Policy { on_unknown: OnUnknown::Park, ..Policy::DEFAULT };
    let contract = Contract::header("Idempotency-Key").remembers_for(Duration::from_hours(24)).terms();
    let ratchet = declare(&server, Declaration { policy, contract, ..charge("1") }).await;
    let step = enqueue(&server, &producer, "order:1", json!({"maxAttempts": 1})).await;
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    let job = worker.job().await;
    assert_eq!(worker.report(&job, reset()).await.1["state"], "UNCERTAIN");
    let path = format!("/steps/{}/replay", step["stepId"].as_str().unwrap());
    assert_eq!(server.get(&operator, &path).await.1["duplicateRisk"], false);
    let replay = json!({"acknowledgeDuplicateRisk": true, "maxAttempts": 1, "reason": "the network is back"});
    assert_eq!(server.post(&operator, &path, &replay).await.0, 200);
    let place = step["stepId"].as_str().unwrap().trim_start_matches("step_").parse().unwrap();
    let found = ratchet.ledger().at(ratchet::ledger::Cursor(place)).await.unwrap();
    let Some(Stored::Record(record)) = found else { panic!("the step is on record") };
    assert!(
        !record.risk_accepted,
        "the destination recognises the repetition, so nobody has to accept anything"
    );
}
