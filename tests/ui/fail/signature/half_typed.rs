//! Bodies that are being typed: the compiler's own error for each, and the operations are there.
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

#[ratchet::operation(name = "b", version = "1", key = "y:<id>")]
async fn half_a_let(input: Order) -> Result<(), Failure> {
    let id = ;
    Ok(())
}

#[ratchet::operation(name = "c", version = "1", key = "z:<id>")]
async fn half_a_match(input: Order) -> Result<(), Failure> {
    match input.id { 1 => }
    Ok(())
}

#[ratchet::operation(name = "d", version = "1", key = "v:<id>")]
async fn half_a_path(input: Order) -> Result<(), Failure> {
    std::;
    Ok(())
}

#[ratchet::operation(name = "e", versoin = "1", key = "w:<id>")]
async fn half_and_half(input: Order) -> Result<(), Failure> {
    input.;
    Ok(())
}

async fn caller(ratchet: ratchet::Ratchet) {
    let _ = half::enqueue(&ratchet, Order { id: 1 }).await;
    let _ = half_a_let::request(Order { id: 1 });
    let _ = half_a_match::key(&Order { id: 1 });
    let _ = half_a_path::test_context(&Order { id: 1 });
    let _ = half_and_half::enqueue(&ratchet, Order { id: 1 }).await;
    let _ = ratchet::registry![half, half_a_let, half_a_match, half_a_path, half_and_half];
}

fn main() {}
