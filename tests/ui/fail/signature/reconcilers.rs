//! Functions that cannot reconcile the operation that names them.
#![allow(unused)]

use ratchet::{Failure, Found, Input, Inquiry};

#[derive(serde::Serialize, serde::Deserialize, Input)]
struct Order {
    id: u64,
}

async fn of_a_number(about: Inquiry, input: u64) -> Result<Found<String>, Failure> {
    Ok(Found::StillUnknown)
}

#[ratchet::operation(name = "another_input", version = "1", key = "a:<id>", reconcile = of_a_number)]
async fn another_input(input: Order) -> Result<String, Failure> {
    Ok(String::new())
}

async fn leaves_a_number(about: Inquiry, input: Order) -> Result<Found<u64>, Failure> {
    Ok(Found::StillUnknown)
}

#[ratchet::operation(name = "another_result", version = "1", key = "b:<id>", reconcile = leaves_a_number)]
async fn another_result(input: Order) -> Result<String, Failure> {
    Ok(String::new())
}

fn blocking(about: Inquiry, input: Order) -> Result<Found<String>, Failure> {
    Ok(Found::StillUnknown)
}

#[ratchet::operation(name = "not_async", version = "1", key = "c:<id>", reconcile = blocking)]
async fn not_async(input: Order) -> Result<String, Failure> {
    Ok(String::new())
}

fn main() {}
