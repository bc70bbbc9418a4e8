//! R015: arguments in a form of another place, and values that mean nothing.
#![allow(unused)]

use std::time::Duration;

use ratchet::{Contract, Failure};

#[ratchet::operation(name = "a", version = "1", key = "x:<a>", allow = "R001")]
async fn allow_with_equals(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<a>", allow("R001"))]
async fn allow_a_text(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(
    name = "a",
    version = "1",
    key = "x:<retry>:<nonce>",
    allow(R003 = "it is stored before" R001 = "it is a round of the game")
)]
async fn allow_without_comma(retry: u64, nonce: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "CollectInvoice", version = "..", key = concat!("x:", "<a>"))]
async fn names(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", timeout = -1, priority = 1; key = )]
async fn places(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<a>", max_attempts = 3, destination = queue)]
async fn reserved(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<a>", timeout = Duration::ZERO)]
async fn no_time(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

const BAD: Contract = Contract::header("bad header\n");

const NONE: u32 = 0;

#[ratchet::operation(name = "nobody", version = "1", key = "nobody:<a>", concurrency = NONE)]
async fn nobody(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<a>", schema = true)]
async fn a_word_with_a_value(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
