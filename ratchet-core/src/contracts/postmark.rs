//! Postmark.

use super::page;
use crate::contract::Contract;

/// Postmark has no key: a repeated request is another e-mail.
pub const EMAIL: Contract = Contract::NONE.named("postmark::EMAIL").sources(&[page(
    "https://postmarkapp.com/support/article/what-is-an-idempotency-key",
    "no idempotency keys, says the vendor (30 September 2025)",
)]);
