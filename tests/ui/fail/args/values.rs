//! R015: values of the wrong form.
#![allow(unused)]

use ratchet::Failure;

#[ratchet::operation(name = "Collect Invoice", version = 1, key = KEY)]
async fn required(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(
    name = "a", version = "1", key = "x:<a>",
    on_unknown = may_duplicat, retry = agressive, destination = stpes,
    timeout = 30, retention = "90 days", new_identity = "new"
)]
async fn optional(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(
    name = "a",
    version = "1",
    key = "x:<a>",
    on_unknown = "park",
    retry = 3,
    destination = "stripe",
    timeout = "0s",
    retention = "1h30m"
)]
async fn of_another_kind(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<a>", queue = "Bulk Mail", concurrency = 0)]
async fn for_workers(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<a>", queue = BULK, concurrency = "4")]
async fn for_workers_of_another_kind(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<a>", queue = 7, concurrency = -1)]
async fn below_nothing(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<a>", queue = "", concurrency = 5_000_000_000)]
async fn out_of_range(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
