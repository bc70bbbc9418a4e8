//! The operation, and what has to hold of it after a move.

use std::collections::BTreeSet;
use std::time::Duration;

use ratchet::contract::KeyFormat;
use ratchet::{
    Context, Contract, EnqueueError, Enqueued, Failure, Input, LedgerError, Ratchet, RecordState,
    RetryPolicy, State, Stored,
};
use serde::{Deserialize, Serialize};

use crate::till::Till;

/// Its answer comes when the till is released.
pub(crate) const SLOW: u64 = 1;

/// Its handler waits for the same before it sends.
pub(crate) const HELD: u64 = 2;

/// Every third order, as its charge happens at first and is answered with an error.
pub(crate) const fn is_doubtful(order: u64) -> bool {
    order.is_multiple_of(3)
}

const BANK: Contract =
    Contract::header("Idempotency-Key").key(KeyFormat::UUID).remembers_for(Duration::from_hours(24 * 7));
const STUBBORN: RetryPolicy =
    RetryPolicy::doubling(2_000, Duration::from_millis(50), Duration::from_millis(50));

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Input)]
pub(crate) struct Charge {
    pub(crate) order: u64,
    pub(crate) cents: u64,
}

/// What the handlers of one group of workers need.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) workers: &'static str,
    pub(crate) url: String,
    pub(crate) till: Till,
    pub(crate) arrived: tokio::sync::mpsc::UnboundedSender<()>,
}

#[ratchet::operation(name = "charge", version = "1", key = "order:<order>:charge:v1", destination = BANK,
    retry = STUBBORN)]
pub(crate) async fn charge(
    ctx: Context,
    State(http): State<ratchet::http::Client>,
    State(desk): State<Desk>,
    input: Charge,
) -> Result<u64, Failure> {
    if input.order == HELD {
        let _ = desk.arrived.send(());
        desk.till.released().await;
    }
    let request = http.post(&desk.url).header("x-worker", desk.workers).json(&input);
    request.idempotent(&ctx).deliver().await?.json()
}

pub(crate) async fn submit(ratchet: &Ratchet, order: u64) -> Result<Enqueued<u64>, EnqueueError> {
    charge::enqueue(ratchet, Charge { order, cents: 100 + order }).await
}

pub(crate) async fn submit_new(ratchet: &Ratchet, orders: impl IntoIterator<Item = u64>) {
    for order in orders {
        assert!(matches!(submit(ratchet, order).await.unwrap(), Enqueued::New { .. }));
    }
}

/// Where the store says that its records are, if it does.
pub(crate) fn moved_to<T>(answer: Result<T, EnqueueError>) -> Option<String> {
    match answer {
        Err(EnqueueError::Ledger(LedgerError::Moved { to })) => Some(to),
        Err(other) => panic!("{other}"),
        Ok(_) => None,
    }
}

/// Until no record waits for a worker or has one.
pub(crate) async fn all_settled(ratchet: &Ratchet) {
    let settled = async {
        while ratchet.census().await.unwrap().iter().any(|count| !count.state.is_settled()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), settled).await.expect("everything ends");
}

/// All that a move promises, of exactly these orders.
pub(crate) async fn each_was_charged_once(ratchet: &Ratchet, till: &Till, orders: &BTreeSet<u64>) {
    assert_eq!(till.orders(), *orders);
    assert_eq!(till.effects(), orders.len());
    for &order in orders {
        let again = submit(ratchet, order).await.unwrap();
        let Enqueued::Existing { id, state: RecordState::Succeeded, result: Some(result), .. } = again else {
            panic!("{order}: {again:?}")
        };
        assert_eq!(result, order);
        let otherwise = charge::enqueue(ratchet, Charge { order, cents: 1 }).await.unwrap();
        assert!(matches!(otherwise, Enqueued::Conflict(_)), "{order}: {otherwise:?}");
        let Some(Stored::Record(record)) = ratchet.find(id).await.unwrap() else { panic!("{order}") };
        let pinned = record.effect.pin.as_ref().map(|pin| pin.wire_key.clone());
        assert_eq!(till.keys_of(order), Vec::from_iter(pinned), "{order}");
    }
}
