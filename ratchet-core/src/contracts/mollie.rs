//! Mollie.

use super::page;
use crate::contract::{Contract, KeyFormat};

/// Requests that create something. How long a key is remembered, and which keys are taken, could not be read.
pub const PAYMENTS: Contract = Contract::header("Idempotency-Key")
    .named("mollie::PAYMENTS")
    .key(KeyFormat::UUID)
    .remembers_for_unstated_time()
    .lookup("list the resource and look for your own reference")
    .sources(&[page(
        "https://docs.mollie.com/reference/api-idempotency",
        "optional header; without it a repeated recurring payment charges twice; listing is the other way",
    )]);
