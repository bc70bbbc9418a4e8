//! R006 and R007: templates outside the grammar.
#![allow(unused)]

use ratchet::{Failure, Input};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Input)]
struct Order {
    id: u64,
    line: u64,
}

#[ratchet::operation(name = "a", version = "1", key = "order:{id}")]
async fn braces(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "b", version = "1", key = "Order:<id>-<line>")]
async fn two_at_once(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "c", version = "1", key = "order:collect")]
async fn constant(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "d", version = "1", key = "order:<id")]
async fn unclosed(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "e", version = "1", key = "order:<self.id>")]
async fn language_word(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "f", version = "1", key = "order:<ordr>:<id>")]
async fn unknown_parameter(order: u64, line: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "g", version = "1", key = r"order\x3a<id>")]
async fn raw_string(_input: Order) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
