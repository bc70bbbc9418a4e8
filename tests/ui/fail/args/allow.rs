//! R015: permissions without a reason, without a need, for what cannot be permitted.
#![allow(unused)]

use ratchet::Failure;

#[ratchet::operation(
    name = "a",
    version = "1",
    key = "x:<a>",
    allow(R002 = "the slot is stored on the booking")
)]
async fn unused(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "b", version = "1", key = "x:<attempt>:<a>", allow(R001))]
async fn without_reason(a: u64, attempt: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "c", version = "1", key = "x:<attempt>:<a>", allow(R001 = "ok"))]
async fn short_reason(a: u64, attempt: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "d", version = "1", key = "x:<a>", allow(R007 = "it works all the same"))]
async fn not_allowable(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "e", version = "1", key = "x:<a>", allow(dead_code))]
async fn a_lint(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "f", version = "1", key = "x:<a>", allow())]
async fn empty(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "g", version = "1", key = "x:<a>", allow(R006 = "there is one such action"))]
async fn unused_by_type(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
