//! What an operation's function cannot be.
#![allow(unused)]

use std::borrow::Cow;

use ratchet::{Context, Failure, Input, State};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Input)]
struct Order {
    id: u64,
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
fn not_async(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async unsafe fn not_safe(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async extern "C" fn foreign(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
const fn constant(_input: Order) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async fn generic<T: Send>(_input: T) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async fn with_lifetime<'a>(_input: Cow<'a, str>) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async fn where_clause(_input: Order) -> Result<(), Failure>
where
    Order: Send,
{
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async fn impl_trait(_input: impl Into<Order>) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async fn by_reference(_input: &Order, _ctx: Context) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async fn text_by_reference(id: u64, text: &str) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async fn borrowing(id: u64, text: Cow<'_, str>) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>:<attempt>")]
async fn no_parameters() -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async fn injected_only(_ctx: Context, _: State<u64>) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async fn two_contexts(_a: Context, _input: Order, _b: Context) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async fn no_return_type(_input: Order) {}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
async fn unnamed(id: u64, _: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
struct NotAFunction;

struct Service;

impl Service {
    #[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
    async fn method(&self, _input: Order) -> Result<(), Failure> {
        Ok(())
    }
}

fn main() {}
