//! R015: `reconcile` where it names no function, where nothing says whom to ask, and where the effects are in steps.
#![allow(unused)]

use ratchet::{Failure, Found, Inquiry};

#[ratchet::operation(name = "a", version = "1", key = "a:<a>", reconcile = "look_up")]
async fn a_text(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "b", version = "1", key = "b:<a>", reconcile = |about, input| async { todo!() })]
async fn a_closure(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "c", version = "1", key = "c:<a>", reconcile_after = "2m")]
async fn nobody_to_ask(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

async fn look_up(about: Inquiry, input: (u64, u64)) -> Result<Found<()>, Failure> {
    Ok(Found::StillUnknown)
}

#[ratchet::operation(name = "d", version = "1", key = "d:<a>", destination = steps, reconcile = look_up)]
async fn in_steps(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "e", version = "1", key = "e:<a>", reconcile = look_up, reconcile_after = 120)]
async fn after_a_number(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
