//! R012: fresh values in what a handler enqueues.
#![allow(unused)]

use std::time::SystemTime;

use ratchet::{Context, Failure, Input, Ratchet, State};
use serde::{Deserialize, Serialize};

struct Uuid;

impl Uuid {
    fn new_v4() -> String {
        String::new()
    }
}

#[derive(Serialize, Deserialize, Input)]
struct Receipt {
    id: String,
    sent_at: SystemTime,
}

#[ratchet::operation(name = "send_receipt", version = "1", key = "receipt:<id>:v1")]
async fn send_receipt(input: Receipt) -> Result<(), Failure> {
    Ok(())
}

#[derive(Serialize, Deserialize, Input)]
struct Charge {
    invoice_id: String,
}

#[ratchet::operation(name = "charge", version = "1", key = "invoice:<invoice_id>:charge:v1")]
async fn charge(ratchet: State<Ratchet>, ctx: Context, input: Charge) -> Result<(), Failure> {
    send_receipt::enqueue(&ratchet, Receipt { id: Uuid::new_v4(), sent_at: SystemTime::now() }).await?;
    Ok(())
}

fn main() {}
