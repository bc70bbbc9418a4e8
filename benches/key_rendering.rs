//! Rendering a key against `format!`, which neither encodes nor checks.
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

mod ratio;

use std::hint::black_box;

use ratchet::{Failure, Input};
use serde::{Deserialize, Serialize};

const KEYS: u32 = 200_000;

#[derive(Serialize, Deserialize, Input)]
struct Invoice {
    invoice_id: String,
}

#[ratchet::operation(name = "invoice", version = "1", key = "invoice:<invoice_id>:collect:v1")]
async fn invoice(_input: Invoice) -> Result<(), Failure> {
    Ok(())
}

#[derive(Serialize, Deserialize, Input)]
struct Line {
    order_id: u64,
    line: u32,
}

#[ratchet::operation(name = "line", version = "1", key = "order:<order_id>:line:<line>:v1")]
async fn line(_input: Line) -> Result<(), Failure> {
    Ok(())
}

fn repeat<T>(work: impl Fn() -> T) -> std::time::Duration {
    ratio::time(|| {
        for _ in 0..KEYS {
            black_box(work());
        }
    })
}

fn main() {
    ratio::header("rendering a key, per key");
    for id in ["inv_2048", "01J9ZC3M4N5P6Q7R8S9TABCDEF", "b7c9f0de-3a52-4f6b-9a53-0d6f6f1f2a11"] {
        let input = Invoice { invoice_id: id.to_owned() };
        ratio::compare(
            &format!("a text of {} bytes", id.len()),
            KEYS,
            || repeat(|| invoice::key(black_box(&input)).expect("a key")),
            || repeat(|| format!("invoice:{}:collect:v1", black_box(&input.invoice_id))),
        );
    }
    let input = Line { order_id: 1_795_968_000, line: 12 };
    ratio::compare(
        "two numbers",
        KEYS,
        || repeat(|| line::key(black_box(&input)).expect("a key")),
        || repeat(|| format!("order:{}:line:{}:v1", black_box(input.order_id), black_box(input.line))),
    );
}
