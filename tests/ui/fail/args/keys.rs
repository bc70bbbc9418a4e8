//! R015: arguments that are unknown, repeated, reserved or missing.
#![allow(unused)]

use ratchet::Failure;

#[ratchet::operation]
async fn nothing(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", key = "x:<a>")]
async fn missing(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", versoin = "1", key = "x:<a>")]
async fn misspelt(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<a>", queue = "fast", namespace = "x")]
async fn unknown_and_reserved(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<a>", name = "b")]
async fn repeated(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a" version = "1", key = "x:<a>")]
async fn comma(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation("collect", name = "a", version = "1", key = "x:<a>")]
async fn no_argument(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = , version, key = "x:<a>")]
async fn no_value(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

// The types are right all the same.
async fn caller(ratchet: ratchet::Ratchet) {
    let _ = nothing::enqueue(&ratchet, 1, 2).await;
    let _: Result<ratchet::Key, ratchet::KeyError> = misspelt::key(&1, &2);
    let _ = comma::test_context(&1, &2);
}

fn main() {}
