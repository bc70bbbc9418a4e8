//! Types of a signature that only the compiler can judge: one error for each, at the type.
#![allow(unused)]

use std::rc::Rc;

use ratchet::{Failure, Input};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Input)]
struct Order {
    id: u64,
}

struct Plain {
    id: u64,
}

struct Context;

struct State<T>(T);

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async fn not_an_input(_input: Plain) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "b", version = "1", key = "x:<id>")]
async fn other_context(_ctx: Context, _input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "c", version = "1", key = "x:<id>")]
async fn other_state(_state: State<u64>, _input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "e", version = "1", key = "x:<id>")]
async fn no_result(_input: Order) -> u8 {
    0
}

#[ratchet::operation(name = "f", version = "1", key = "x:<id>")]
async fn other_error(_input: Order) -> Result<u8, String> {
    Ok(0)
}

#[ratchet::operation(name = "g", version = "1", key = "x:<id>")]
async fn output_that_is_not_json(_input: Order) -> Result<Plain, Failure> {
    Ok(Plain { id: 1 })
}

#[ratchet::operation(name = "h", version = "1", key = "x:<id>")]
async fn not_send(_input: Order) -> Result<(), Failure> {
    let counter = Rc::new(1);
    std::future::ready(()).await;
    drop(counter);
    Ok(())
}

fn main() {}
