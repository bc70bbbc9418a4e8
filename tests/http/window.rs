//! One long attempt that sends twice, with the end of the destination's window between its sends.

use std::sync::Arc;
use std::time::Duration;

use ratchet::contract::Contract;
use ratchet::http::Client;
use ratchet::{
    Context, Enqueued, Failure, Input, Ratchet, RecordState, RetryPolicy, State, Stored, Timestamp,
    Uncertainty,
};
use ratchet_core::MemoryLedger;
use ratchet_core::random::SystemRandom;
use ratchet_core::time::ManualClock;
use serde::{Deserialize, Serialize};

use crate::scripted::{Destination, answer};

const MINUTES: Duration = Duration::from_mins(5);
const QUICK: RetryPolicy = RetryPolicy::doubling(2, Duration::from_millis(1), Duration::from_millis(1));

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Order {
    id: u64,
    /// How long the handler rests between its sends.
    rests_seconds: u64,
}

#[derive(Clone)]
struct Shop {
    http: Client,
    url: String,
    clock: Arc<ManualClock>,
}

#[ratchet::operation(name = "send_twice", version = "1", key = "order:<id>:send",
    destination = Contract::header("Idempotency-Key").remembers_for(MINUTES), retry = QUICK, timeout = "1m")]
async fn send_twice(ctx: Context, State(shop): State<Shop>, input: Order) -> Result<(), Failure> {
    let send = || shop.http.post(&shop.url).json(&input.id).idempotent(&ctx).deliver();
    if send().await.is_err() {
        shop.clock.advance(Duration::from_secs(input.rests_seconds));
        send().await?;
    }
    Ok(())
}

/// The state of the record after one attempt whose first send was cut off, and how many requests arrived.
async fn after_a_rest_of(rests_seconds: u64) -> (RecordState, Option<Uncertainty>, usize) {
    let destination = Destination::answering(&["", &answer("200 OK", "", "{}")]).await;
    let clock = ManualClock::at(Timestamp::from_millis(1_768_464_000_000));
    let ratchet = Ratchet::with_ledger(MemoryLedger::with(clock.clone(), SystemRandom::shared()));
    let shop = Shop { http: Client::new().unwrap(), url: destination.url.clone(), clock: clock.clone() };
    let worker = ratchet.worker(ratchet::registry![send_twice]).state(shop).clock(clock);
    // The lease outlasts the rest.
    let worker = worker.lease(3 * MINUTES).build().unwrap();
    let Enqueued::New { id } = send_twice::enqueue(&ratchet, Order { id: 1, rests_seconds }).await.unwrap()
    else {
        panic!("it is new")
    };
    let mut changes = ratchet.ledger().wakeups();
    let ended = async {
        loop {
            changes.mark_unchanged();
            match ratchet.find(id.clone()).await.unwrap() {
                Some(Stored::Record(record)) if record.state.is_settled() || record.uncertainty.is_some() => {
                    return;
                }
                _ => changes.changed().await.unwrap(),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), worker.run(ended)).await.expect("it ends").unwrap();
    let Some(Stored::Record(record)) = ratchet.find(id).await.unwrap() else { panic!("a record") };
    (record.state, record.uncertainty, destination.received().len())
}

#[tokio::test]
async fn a_second_send_that_the_destination_would_not_recognise_is_not_sent() {
    assert_eq!(after_a_rest_of(200).await, (RecordState::Succeeded, None, 2));
    assert_eq!(after_a_rest_of(280).await, (RecordState::Uncertain, Some(Uncertainty::WindowOver), 1));
}
