//! R002, R006 and R008 in the form with several parameters: the error stands at the type.
#![allow(unused)]

use std::time::SystemTime;

use ratchet::Failure;
use serde::{Deserialize, Serialize};

#[ratchet::operation(name = "a", version = "1", key = "order:<id>:<opened>")]
async fn clock(id: u64, opened: SystemTime) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "b", version = "1", key = "order:<id>:<weight>:<lines>")]
async fn float_and_collection(id: u64, weight: f64, lines: Vec<u8>) -> Result<(), Failure> {
    Ok(())
}

#[derive(Serialize, Deserialize)]
struct Owner {
    id: u64,
}

type Maybe = Option<u64>;

#[ratchet::operation(name = "c", version = "1", key = "order:<owner>:<maybe>")]
async fn by_trait(owner: Owner, maybe: Maybe) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "d", version = "1", key = "order:<paid>:<open>")]
async fn tells_nothing_apart(paid: bool, open: bool) -> Result<(), Failure> {
    Ok(())
}

struct NotStored;

#[ratchet::operation(name = "e", version = "1", key = "order:<id>")]
async fn not_json(id: u64, other: NotStored) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "f", version = "1", key = "refund:<id>:<refund_amount>")]
async fn amount_as_text(id: u64, refund_amount: std::borrow::Cow<'static, str>) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
