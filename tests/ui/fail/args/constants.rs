//! Constants of the wrong type are the compiler's to judge.
#![allow(unused)]

use ratchet::Failure;

const SOON: u64 = 5;

#[ratchet::operation(name = "a", version = "1", key = "x:<a>", timeout = SOON)]
async fn timeout(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "b", version = "1", key = "x:<a>", destination = SOON)]
async fn destination(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "c", version = "1", key = "x:<a>", retry = ABSENT)]
async fn retry(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "d", version = "1", key = "x:<a>", priority = 70000)]
async fn priority(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "e", version = "1", key = "x:<a>", concurrency = SOON)]
async fn concurrency(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
