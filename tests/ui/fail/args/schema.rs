//! `schema` asks for types that have a JSON Schema.
#![allow(unused)]

use ratchet::{Failure, Input};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Input)]
struct Order {
    id: u64,
}

#[ratchet::operation(name = "a", version = "1", key = "a:<id>", schema)]
async fn without_schemas(input: Order) -> Result<Order, Failure> {
    Ok(input)
}

#[ratchet::operation(name = "b", version = "1", key = "b:<id>", schema)]
async fn one_parameter_without(id: u64, order: Order) -> Result<u64, Failure> {
    Ok(id + order.id)
}

fn main() {}
