//! Wise.

use super::page;
use crate::contract::{Contract, KeyFormat, Repeats};

/// Transfers. One quote can become one transfer only, which protects as well. For how long is not documented.
pub const TRANSFERS: Contract = Contract::body_field("customerTransactionId")
    .named("wise::TRANSFERS")
    .key(KeyFormat::UUID)
    .remembers_for_unstated_time()
    .repeats(Repeats::Undocumented)
    .sources(&[page(
        "https://docs.wise.com/guides/product/send-money/standard-api-transfers",
        "required body field, a UUID; a request is repeated with the same value",
    )]);
