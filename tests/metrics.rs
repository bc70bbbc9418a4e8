//! What the `metrics` facade is told.
#![cfg(all(feature = "metrics", feature = "testing"))]
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

#[path = "worker/support.rs"]
#[allow(dead_code, reason = "shared with the worker's tests")]
mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use ratchet::admission::{Breaker, Health};
use ratchet::{Context, Destination, DestinationName, Enqueued, Failure, Input, Ratchet};
use serde::{Deserialize, Serialize};
use support::{id_of, settled, start};

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Transfer {
    id: String,
    fails: bool,
}

#[ratchet::operation(name = "transfer", version = "1", key = "transfer:<id>")]
async fn transfer(input: Transfer) -> Result<(), Failure> {
    if input.fails { Err(Failure::rejected("no")) } else { Ok(()) }
}

#[derive(Default)]
struct Counters(Mutex<BTreeMap<String, Arc<AtomicU64>>>);

impl Counters {
    fn all(&self) -> Vec<(String, u64)> {
        let counters = self.0.lock().unwrap();
        counters.iter().map(|(name, count)| (name.clone(), count.load(Ordering::SeqCst))).collect()
    }
}

impl Recorder for Counters {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let labels: Vec<String> =
            key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let name = format!("{}{{{}}}", key.name(), labels.join(","));
        Counter::from_arc(self.0.lock().unwrap().entry(name).or_default().clone())
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

#[tokio::test]
async fn submissions_attempts_and_decisions_of_people_are_counted() {
    let counters = Counters::default();
    let _guard = metrics::set_default_local_recorder(&counters);
    let ratchet = Ratchet::in_memory();
    let worker = start(&ratchet, ratchet::registry![transfer]);
    let input = |id: &str, fails| Transfer { id: id.to_owned(), fails };
    let done = id_of(transfer::enqueue(&ratchet, input("a", false)).await.unwrap());
    settled(&ratchet, &done).await;
    let again = transfer::enqueue(&ratchet, input("a", false)).await.unwrap();
    assert!(matches!(again, Enqueued::Existing { .. }));
    let other = transfer::enqueue(&ratchet, input("a", true)).await.unwrap();
    assert!(matches!(other, Enqueued::Conflict(_)));
    let failed = id_of(transfer::enqueue(&ratchet, input("b", true)).await.unwrap());
    settled(&ratchet, &failed).await;
    assert!(ratchet.cancel(failed, "ops", "too late").await.is_err());
    worker.stop().await;
    let expected = [
        ("ratchet_attempts_total{operation=transfer,outcome=done,state=succeeded}", 1),
        ("ratchet_attempts_total{operation=transfer,outcome=rejected,state=failed}", 1),
        ("ratchet_managed_total{operation=transfer,action=cancel}", 1),
        ("ratchet_submitted_total{operation=transfer,answer=conflict}", 1),
        ("ratchet_submitted_total{operation=transfer,answer=existing}", 1),
        ("ratchet_submitted_total{operation=transfer,answer=new}", 2),
    ];
    assert_eq!(counters.all(), expected.map(|(name, count)| (name.to_owned(), count)));
}

const RELAY: Destination = Destination::new("relay").at_most(1).breaker(1, Duration::from_hours(1));

#[ratchet::operation(name = "send", version = "1", key = "mail:<id>")]
async fn send(ctx: Context, input: Transfer) -> Result<(), Failure> {
    let admitted = ctx.admit(&RELAY).await?;
    assert!(ctx.admit(&RELAY).await.is_err(), "{} takes both places", input.id);
    admitted.report(Health::Failed, None);
    Ok(())
}

#[tokio::test]
async fn what_gates_let_through_and_hold_back_is_counted() {
    let counters = Counters::default();
    let _guard = metrics::set_default_local_recorder(&counters);
    let ratchet = Ratchet::in_memory();
    let worker = start(&ratchet, ratchet::registry![send]);
    let sent = id_of(send::enqueue(&ratchet, Transfer { id: "a".to_owned(), fails: false }).await.unwrap());
    settled(&ratchet, &sent).await;
    while !matches!(ratchet.gates().await.unwrap()[0].gate.breaker, Breaker::Open { .. }) {
        tokio::task::yield_now().await;
    }
    assert!(ratchet.reopen(RELAY.name().clone(), "ada", "it works").await.unwrap());
    assert!(!ratchet.reopen(DestinationName::new("nobody").unwrap(), "ada", "it works").await.unwrap());
    worker.stop().await;
    let of_gates: Vec<_> =
        counters.all().into_iter().filter(|(name, _)| name.contains("destination=")).collect();
    let expected = [
        ("ratchet_breakers_opened_total{destination=relay}", 1),
        ("ratchet_gates_reopened_total{destination=relay}", 1),
        ("ratchet_sends_admitted_total{destination=relay}", 1),
        ("ratchet_sends_postponed_total{destination=relay,why=full}", 1),
    ];
    assert_eq!(of_gates, expected.map(|(name, count)| (name.to_owned(), count)));
}
