//! R012 as a warning: the fresh value comes through a variable.
#![allow(unused)]

use ratchet::{Context, Failure, Input};
use serde::{Deserialize, Serialize};

struct Uuid;

impl Uuid {
    fn new_v4() -> String {
        String::new()
    }
}

fn idempotency_key(_: (&str, String)) {}

#[derive(Serialize, Deserialize, Input)]
struct Charge {
    invoice_id: String,
}

#[ratchet::operation(name = "a", version = "1", key = "invoice:<invoice_id>:charge:v1")]
async fn by_name(ctx: Context, input: Charge) -> Result<(), Failure> {
    let fresh = Uuid::new_v4();
    idempotency_key(("Idempotency-Key", fresh));
    Ok(())
}

#[ratchet::operation(name = "b", version = "1", key = "invoice:<invoice_id>:charge:v1")]
async fn in_a_text(ctx: Context, input: Charge) -> Result<(), Failure> {
    let attempt = ctx.attempt();
    idempotency_key(("Idempotency-Key", format!("{}-{attempt}", ctx.key())));
    Ok(())
}

mod strict {
    #![forbid(nonstandard_style, unused_must_use, non_snake_case)]

    #[ratchet::operation(name = "c", version = "1", key = "c:<a>:<b>:v1")]
    async fn in_a_strict_module(a: u64, b: u64) -> Result<(), ratchet::Failure> {
        let fresh = super::Uuid::new_v4();
        super::idempotency_key(("Idempotency-Key", fresh));
        Ok(())
    }
}

fn main() {
    // Without an error there would be no text to compare.
    let () = "the warnings stand above";
}
