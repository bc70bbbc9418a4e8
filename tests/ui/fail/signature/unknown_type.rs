//! A type that does not exist is one error.
#![allow(unused)]

use ratchet::Failure;

#[ratchet::operation(name = "a", version = "1", key = "x:<id>:<other>")]
async fn several(id: u64, other: Absent) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "b", version = "1", key = "x:<id>")]
async fn one(_input: Missing) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
