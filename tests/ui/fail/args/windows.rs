//! What is retried, remembered, kept and replayed, and for how long.

use std::time::Duration;

use ratchet::{Contract, Failure, Input, RetryPolicy, contracts};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Input)]
struct Order {
    order_id: u64,
}

const FORGETFUL: Contract = Contract::header("Idempotency-Key").remembers_for(Duration::from_mins(10));
const NOTHING: Contract = Contract::NONE;
const LONG: RetryPolicy = RetryPolicy::doubling(100, Duration::from_secs(30), Duration::from_mins(30));

#[ratchet::operation(name = "a", version = "1", key = "a:<order_id>", destination = FORGETFUL)]
async fn standard(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "b", version = "1", key = "b:<order_id>", destination = FORGETFUL, retry = LONG)]
async fn long(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "c", version = "1", key = "c:<order_id>", retention = "1m")]
async fn kept_too_short(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(
    name = "d", version = "1", key = "d:<order_id>", retention = "20d", replay_within = "30d"
)]
async fn replayed_too_long(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "e", version = "1", key = "e:<order_id>", destination = none)]
async fn nothing_said(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "f", version = "1", key = "f:<order_id>", destination = NOTHING)]
async fn nothing_said_of_a_constant(_input: Order) -> Result<(), Failure> {
    Ok(())
}

// Five minutes in which duplicates are dropped are less than the usual retries take.
#[ratchet::operation(name = "g", version = "1", key = "g:<order_id>", destination = contracts::aws::SQS_FIFO)]
async fn queued_and_forgotten(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "h", version = "1", key = "h:<order_id>", destination = contracts::postmark::EMAIL)]
async fn nothing_said_of_a_provider(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "i", version = "1", key = "i:<order_id>", destination = contracts::gocardless::CREATE)]
async fn for_how_long_is_not_said(_input: Order) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
