//! Bodies without a finding, and findings that the author knows better about.
#![deny(warnings)]

use ratchet::{Context, Failure, Input, Ratchet, State};
use serde::{Deserialize, Serialize};

struct Uuid;

impl Uuid {
    fn new_v4() -> String {
        String::new()
    }
    fn new_v5(text: &str) -> String {
        text.to_owned()
    }
}

#[derive(Default)]
struct Http(Vec<(String, String)>);

impl Http {
    fn header(mut self, name: &str, value: impl ToString) -> Self {
        self.0.push((name.to_owned(), value.to_string()));
        self
    }
}

#[derive(Serialize, Deserialize, Input)]
struct Charge {
    invoice_id: String,
}

#[ratchet::operation(name = "sound", version = "1", key = "invoice:<invoice_id>:charge:v1")]
async fn sound(ctx: Context, ratchet: State<Ratchet>, input: Charge) -> Result<usize, Failure> {
    let trace = Uuid::new_v4();
    let fresh = Uuid::new_v4();
    let fresh = Uuid::new_v5(&format!("{}{fresh}", ctx.key()).replace(&fresh, ""));
    let request = Http::default().header("X-Trace-Id", trace).header("X-Attempt", ctx.attempt());
    let request = request.header("Idempotency-Key", ctx.key()).header("Idempotency-Key", fresh.len());
    let _known = allowed::enqueue(&ratchet, Charge { invoice_id: input.invoice_id }).await?;
    Ok(request.0.len())
}

#[ratchet::operation(
    name = "allowed",
    version = "1",
    key = "invoice:<invoice_id>:charge:v1:b",
    allow(R012 = "the destination wants another one for every attempt")
)]
async fn allowed(ctx: Context, input: Charge) -> Result<usize, Failure> {
    let fresh = Uuid::new_v4();
    let request = Http::default().header("Idempotency-Key", fresh).header("Idempotency-Key", ctx.attempt());
    Ok(request.0.len() + input.invoice_id.len())
}

mod strict {
    #![forbid(deprecated, nonstandard_style, unused)]

    #[ratchet::operation(name = "strict", version = "1", key = "a:<a>:<b>:v1")]
    pub(super) async fn strict(ctx: ratchet::Context, a: u64, b: u64) -> Result<u64, ratchet::Failure> {
        let request = super::Http::default().header("Idempotency-Key", ctx.key());
        Ok(a + b + request.0.len() as u64)
    }
}

fn main() {
    assert_eq!(ratchet::registry![sound, allowed, strict::strict].served().count(), 3);
}
