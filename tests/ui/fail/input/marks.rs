//! Marks on fields, and what they say about the key.
#![allow(unused)]

use ratchet::{Failure, Input};
use serde::{Deserialize, Serialize};

// These two are warnings.
#[derive(Serialize, Deserialize, Input)]
struct Customer {
    id: u64,
    email: String,
    card_number: String,
    #[pii]
    phone: String,
    #[ratchet(allow(R013 = "the name of a paper form"))]
    birthday: String,
    #[ratchet(allow(R013 = "there is nothing here"))]
    amount: u64,
}

#[derive(Serialize, Deserialize, Input)]
struct Mistakes {
    #[key]
    #[volatile]
    order_id: u64,
    #[pii(name)]
    note: String,
    #[pii]
    #[pii]
    remark: String,
    #[serde(flatten)]
    #[pii]
    customer: Customer,
}

#[derive(Serialize, Deserialize, Input)]
struct Order {
    #[key]
    order_id: u64,
    #[key]
    tenant_id: u64,
}

#[ratchet::operation(name = "ship", version = "1", key = "ship:<order_id>:v1")]
async fn ship(_input: Order) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
