//! Marks on parameters.

use ratchet::{Context, Failure, Input};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Input)]
struct Order {
    order_id: u64,
}

// A warning.
#[ratchet::operation(name = "a", version = "1", key = "a:<order_id>:v1")]
async fn warned(order_id: u64, email: String, #[pii] phone: String) -> Result<(), Failure> {
    let _ = (order_id, email, phone);
    Ok(())
}

// None: the reason is given.
#[ratchet::operation(
    name = "d", version = "1", key = "d:<order_id>:v1", allow(R013 = "the address of our own mailbox")
)]
async fn allowed(order_id: u64, email: String) -> Result<(), Failure> {
    let _ = (order_id, email);
    Ok(())
}

#[ratchet::operation(name = "b", version = "1", key = "b:<order_id>:<contact>:<round>:v1")]
async fn contradictory(
    order_id: u64,
    #[pii] contact: String,
    #[volatile] round: u64,
    #[key] tenant: u64,
) -> Result<(), Failure> {
    let _ = (order_id, contact, round, tenant);
    Ok(())
}

#[ratchet::operation(name = "c", version = "1", key = "c:<order_id>:v1")]
async fn misplaced(#[pii] _ctx: Context, #[key] input: Order) -> Result<(), Failure> {
    let _ = input;
    Ok(())
}

fn main() {}
