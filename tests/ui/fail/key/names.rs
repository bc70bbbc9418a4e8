//! R001 to R005: names that give the value away.
#![allow(unused)]

use ratchet::{Context, Failure, Input};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Input)]
struct CollectInvoice {
    invoice_id: String,
    attempt: u32,
}

#[ratchet::operation(name = "a", version = "1", key = "invoice:<invoice_id>:<attempt>:v1")]
async fn counter(_ctx: Context, _input: CollectInvoice) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "b", version = "1", key = "x:<created_at>:<customer.email>:<nonce>/<api_key>")]
async fn several(_ctx: Context, _input: CollectInvoice) -> Result<(), Failure> {
    Ok(())
}

#[derive(Serialize, Deserialize, Input)]
struct CustomerInput {
    name: String,
}

#[ratchet::operation(name = "c", version = "1", key = "welcome:<name>")]
async fn in_the_light_of_the_input(_input: CustomerInput) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "d", version = "1", key = "x:<invoice_id>:<retry_count>")]
async fn parameters(invoice_id: String, retry_count: u32) -> Result<(), Failure> {
    Ok(())
}

// Callers of a broken operation see no error of their own.
async fn caller(ratchet: ratchet::Ratchet) {
    let _ = counter::enqueue(&ratchet, CollectInvoice { invoice_id: String::new(), attempt: 1 }).await;
    let _ = parameters::request(String::new(), 1);
    let _ = parameters::key(&String::new(), &1);
}

fn main() {}
