//! R007: other ways to write a placeholder, each refused with the way that there is.
#![allow(unused)]

use ratchet::{Failure, Input};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Input)]
struct Order {
    id: u64,
    r#type: u64,
}

// A name in scope is never taken for a field.
const LIMIT: u64 = 1;

#[ratchet::operation(name = "a", version = "1", key = "order:{}")]
async fn empty_braces(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "order:{0}")]
async fn position_in_braces(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "order:{{id}}")]
async fn doubled_braces(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "order:{id:>8}")]
async fn format_in_braces(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "order:{id")]
async fn open_brace(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "order:<id:?>")]
async fn format(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "order:< id >")]
async fn spaces(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "order:<>")]
async fn nothing(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "order:<0>")]
async fn position(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "order:<<id>>")]
async fn doubled(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "order:<Vec<u8>>")]
async fn a_type(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "order:<r#type>")]
async fn raw(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "order:<Self>:<crate.id>:<id.super>")]
async fn words_of_the_language(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "order:<id>:<LIMIT>")]
async fn a_constant(id: u64, line: u64) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
