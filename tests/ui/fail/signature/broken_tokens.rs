//! A signature that is being typed.
#![allow(unused)]

use ratchet::Failure;

#[ratchet::operation(name = "a", version = "1", key = "x:<a>")]
async fn half(a: u64, b: ) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
