//! `impl Trait` within a type: one error for each, at the type.
#![allow(unused)]

use ratchet::{Failure, Ratchet};

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async fn input(id: u64, note: Option<impl Into<String>>) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "b", version = "1", key = "y:<id>")]
async fn output(id: u64, note: String) -> Result<impl Into<String>, Failure> {
    Ok(note)
}

async fn callers(ratchet: &Ratchet) {
    let _ = input::enqueue(ratchet, 1, Some("x")).await;
    let _ = output::enqueue(ratchet, 1, "x".to_owned()).await;
}

fn main() {}
