//! A body that is being typed: the compiler's own error, and the operation is there.
#![allow(unused)]

use ratchet::{Failure, Input};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Input)]
struct Order {
    id: u64,
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async fn half(input: Order) -> Result<(), Failure> {
    input.;
    Ok(())
}

async fn caller(ratchet: ratchet::Ratchet) {
    let _ = half::enqueue(&ratchet, Order { id: 1 }).await;
}

fn main() {}
