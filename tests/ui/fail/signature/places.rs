//! Items that are no functions, and functions that are not free.
#![allow(unused)]

use ratchet::{Failure, Input};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Input)]
struct Order {
    id: u64,
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
trait Trait {}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
mod module {}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
enum Choice {
    A,
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
impl Order {}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
use std::fmt;

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
macro_rules! declared {
    () => {};
}

#[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
declared!();

trait WithMethods {
    #[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
    async fn method(&self, input: Order) -> Result<(), Failure>;
}

fn main() {}
