//! Claims wait for a short time, so that a job does not have to wait for the next poll of a worker.

use std::time::Instant;

use serde_json::json;

use crate::support::{Server, Store, program};
use crate::working::{ByHand, enqueue};

/// As long as may be.
const LONG: [&str; 2] = ["--claim-wait", "10"];

/// Takes a while, in which a claim that was made before begins to wait.
async fn others_are_served(server: &Server, key: &str) {
    for _ in 0..50 {
        assert_eq!(server.get(key, "/nothing").await.0, 404);
    }
}

async fn what_is_enqueued_while_workers_wait_goes_to_them(store: Store) {
    let server = Server::start_with(store, &LONG);
    let (producer, key) = (server.producer(), server.worker());
    let one = ByHand::registered(&server, &key, "one", "charge").await;
    let other = ByHand::registered(&server, &key, "other", "charge").await;
    let enqueued = async {
        for order in ["order:1", "order:2"] {
            enqueue(&server, &producer, order, json!({})).await;
        }
    };
    let (first, second, ()) = tokio::join!(one.job(), other.job(), enqueued);
    let mut keys = [first, second].map(|job| job["idempotencyKey"].as_str().unwrap().to_owned());
    keys.sort();
    assert_eq!(keys, ["order:1", "order:2"]);
}

#[tokio::test]
async fn what_is_enqueued_while_workers_wait_goes_to_them_in_a_file() {
    what_is_enqueued_while_workers_wait_goes_to_them(Store::file()).await;
}

#[tokio::test]
async fn what_is_enqueued_while_workers_wait_goes_to_them_in_a_database() {
    what_is_enqueued_while_workers_wait_goes_to_them(Store::database().await).await;
}

#[tokio::test]
async fn a_wait_for_a_job_has_an_end() {
    let server = Server::start_with(Store::file(), &["--claim-wait", "1"]);
    let key = server.worker();
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    let begun = Instant::now();
    assert_eq!(worker.claim().await.0, 204);
    assert!((1..20).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_server_that_is_about_to_stop_lets_no_claim_wait() {
    let mut server = Server::start_with(Store::file(), &LONG);
    let key = server.worker();
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    let begun = Instant::now();
    let stops = async {
        others_are_served(&server, &key).await;
        server.tell_to_stop();
    };
    let ((status, told), ()) = tokio::join!(worker.claim(), stops);
    assert_eq!((status, &told["code"]), (503, &json!("STOPPING")));
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    assert_eq!(server.stopped(), Some(0));
}

#[tokio::test]
async fn a_key_that_is_revoked_while_its_worker_waits_gets_no_job() {
    let server = Server::start_with(Store::file(), &LONG);
    let (producer, key) = (server.producer(), server.worker());
    let worker = ByHand::registered(&server, &key, "w", "charge").await;
    let id = key.split('_').nth(1).unwrap();
    let revoked = async {
        others_are_served(&server, &key).await;
        let revoke = ["keys", "revoke", "--store", &server.store.url(), id];
        assert!(program().args(revoke).output().unwrap().status.success());
        let other = json!({"workerId": "w", "capacity": 1, "handlers": [{"name": "charge", "version": "1"}]});
        while server.post(&key, "/workers/register", &other).await.0 != 401 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        enqueue(&server, &producer, "order:1", json!({})).await
    };
    let ((status, told), step) = tokio::join!(worker.claim(), revoked);
    assert_eq!((status, &told["code"]), (401, &json!("UNAUTHORIZED")));
    let (_, step) = server.get(&producer, &format!("/steps/{}", step["stepId"].as_str().unwrap())).await;
    assert_eq!(step["state"], "PENDING");
}
