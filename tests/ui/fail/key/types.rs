//! R002, R006 and R008: types that cannot be part of a key, and fields that do not exist.
#![allow(unused)]

use std::time::SystemTime;

use ratchet::{Failure, Input};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Input)]
struct Order {
    id: u64,
    paid: bool,
    weight: f64,
    opened: SystemTime,
    tenant: Option<String>,
    lines: Vec<u64>,
    owner: Owner,
    waited: std::time::Duration,
}

#[derive(Serialize, Deserialize)]
struct Owner {
    id: u64,
}

#[ratchet::operation(name = "a", version = "1", key = "order:<weight>")]
async fn float(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "b", version = "1", key = "order:<opened>:<tenant>:<lines>:<owner>")]
async fn clock_option_collection_struct(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "f", version = "1", key = "order:<id>:<waited>")]
async fn duration(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "c", version = "1", key = "order:<paid>")]
async fn tells_nothing_apart(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "d", version = "1", key = "order:<invoice>")]
async fn unknown_field(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "e", version = "1", key = "order:<owner.name_of>")]
async fn unknown_nested_field(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[derive(Serialize, Deserialize, Input)]
struct Payout {
    id: u64,
    amount: String,
}

#[ratchet::operation(name = "g", version = "1", key = "payout:<id>:<amount>")]
async fn amount_as_text(_input: Payout) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
