//! R012: fresh values that are sent as an idempotency key.
#![allow(unused)]

use std::time::{Instant, SystemTime};

use ratchet::{Context, Failure, Input};
use serde::{Deserialize, Serialize};

struct Uuid;

impl Uuid {
    fn new_v4() -> String {
        String::new()
    }
}

struct Http;

impl Http {
    fn header(self, name: &str, value: impl ToString) -> Self {
        self
    }
    fn idempotency_key(self, value: impl ToString) -> Self {
        self
    }
}

#[derive(Serialize, Deserialize, Input)]
struct Charge {
    invoice_id: String,
}

#[ratchet::operation(name = "a", version = "1", key = "invoice:<invoice_id>:charge:v1")]
async fn random(ctx: Context, input: Charge) -> Result<(), Failure> {
    Http.header("Accept", "json").header("Idempotency-Key", Uuid::new_v4());
    Ok(())
}

#[ratchet::operation(name = "b", version = "1", key = "invoice:<invoice_id>:charge:v1")]
async fn counter(context: Context, input: Charge) -> Result<(), Failure> {
    Http.idempotency_key(format!("{}:{}", context.key(), context.attempt()));
    Ok(())
}

#[ratchet::operation(name = "c", version = "1", key = "invoice:<invoice_id>:charge:v1")]
async fn clock_without_context(input: Charge) -> Result<(), Failure> {
    if !input.invoice_id.is_empty() {
        Http.header("idempotency-key", format!("{:?}", SystemTime::now()));
    }
    Ok(())
}

// The key has its own finding, and neither hides the other.
#[ratchet::operation(name = "d", version = "1", key = "invoice:<attempt>")]
async fn both(ctx: Context, input: Charge) -> Result<(), Failure> {
    Http.idempotency_key(&Uuid::new_v4());
    Ok(())
}

fn main() {}
