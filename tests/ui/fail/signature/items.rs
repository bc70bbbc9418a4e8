//! Items that are no functions, and parameters that cannot be stored as they are.
#![allow(unused)]

use ratchet::{Context, Failure, Input};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Input)]
struct Order {
    id: u64,
    invoice_id: String,
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
const CONSTANT: fn() = main;

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
type Alias = fn();

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
static STATIC: fn() = main;

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async fn references(id: u64, bytes: &[u8], ctx: &Context) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async fn one_plain(id: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a6", version = "1", key = "x:<input.invoice_id>")]
async fn from_the_parameter(input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a7", version = "1", key = "x:<invoice>")]
async fn nearly_a_field(input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a8", version = "1", key = "x:<invoice_id.len>")]
async fn a_method(input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a9", version = "1", key = "x:<id>")]
async fn credential(id: u64, password: String) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a10", version = "1", key = "x:<id>:<waited>:<opened>")]
async fn types(id: u64, waited: std::time::Duration, opened: std::time::SystemTime) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
