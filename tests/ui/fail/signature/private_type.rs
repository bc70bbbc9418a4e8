//! An operation that more of the program sees than its input.
#![allow(unused)]

use ratchet::{Failure, Input};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Input)]
struct Order {
    id: u64,
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
pub async fn collect(_input: Order) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
