//! A caller that goes away while its claim is answered.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use ratchet::Ratchet;
use ratchet_server::testing::Protocol;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::support::Store;

async fn ask(protocol: &Protocol, method: &str, path: &str, body: Value) -> (u16, Value) {
    let (status, answer) = protocol.ask(method, path, body.to_string().as_bytes()).await;
    (status, serde_json::from_slice(&answer).unwrap_or_default())
}

async fn enqueued(protocol: &Protocol, key: &str) -> Value {
    let (_, started) = ask(protocol, "POST", "/runs", json!({"name": "test"})).await;
    let path = format!("/runs/{}/enqueue", started["run"]["id"].as_str().unwrap());
    let body = json!({"name": "charge", "version": "1", "input": null, "idempotencyKey": key});
    let (status, step) = ask(protocol, "POST", &path, body).await;
    assert_eq!(status, 201, "{step}");
    step
}

/// What comes of the work, unless it has to wait more often than so many times.
async fn given_up_after<T>(waits: usize, work: impl Future<Output = T>) -> Option<T> {
    let (mut work, mut left) = (pin!(work), waits);
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

#[tokio::test]
async fn a_job_is_given_back_wherever_its_caller_goes_away_before_it_is_told() {
    let store = Store::file();
    let opened = Ratchet::open(&store.url()).await.unwrap();
    let protocol = Protocol::over(opened.ledger().clone()).await;
    let worker = json!({"workerId": "w", "capacity": 8, "handlers": [{"name": "charge", "version": "1"}]});
    assert_eq!(ask(&protocol, "POST", "/workers/register", worker).await.0, 200);
    let mut waits = 0;
    loop {
        let step = enqueued(&protocol, &format!("order:{waits}")).await;
        let claim = ask(&protocol, "POST", "/workers/claim", json!({"workerId": "w"}));
        if let Some((status, claimed)) = given_up_after(waits, claim).await {
            assert_eq!(status, 200, "{claimed}");
            break;
        }
        let path = format!("/steps/{}", step["stepId"].as_str().unwrap());
        let pending = async {
            while ask(&protocol, "GET", &path, Value::Null).await.1["state"] != "PENDING" {
                sleep(Duration::from_millis(10)).await;
            }
        };
        // Its lease would end after half a minute.
        assert!(timeout(Duration::from_secs(10), pending).await.is_ok(), "given up after {waits} waits");
        let cancel = format!("/jobs/{}/cancel", step["jobId"].as_str().unwrap());
        ask(&protocol, "POST", &cancel, json!({})).await;
        waits += 1;
    }
    // For the lease, for what is known of the record, and for the start.
    assert!(waits >= 3, "{waits}");
}
