//! Nothing tells the macro that a function without `self` stands in an `impl`: the compiler says so, at the attribute.
#![allow(unused)]

use ratchet::{Failure, Input};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Input)]
struct Order {
    id: u64,
}

struct Service;

impl Service {
    #[ratchet::operation(name = "a", version = "1", key = "x:<id>")]
    async fn associated(input: Order) -> Result<(), Failure> {
        Ok(())
    }
}

fn main() {}
