//! Plaid.

use super::{DAY, HOUR, page, times};
use crate::contract::{Contract, KeyFormat, OtherInput, Repeats};

/// Bank transfers. Amount, account, type and network belong to the identity, so a changed amount under the same key is
/// another transfer.
pub const BANK_TRANSFERS: Contract = Contract::body_field("idempotency_key")
    .named("plaid::BANK_TRANSFERS")
    .key(KeyFormat::UUID)
    .remembers_for(times(DAY, 7))
    .other_input(OtherInput::NewAction)
    .repeats(Repeats::FirstAnswer)
    .sources(&[page(
        "https://plaid.com/docs/bank-transfers/idempotency-and-retries",
        "body field; key, client, amount, account, type and network are compared; at least 7 days",
    )]);

/// `/transfer/authorization/create`.
pub const TRANSFER_AUTHORIZATIONS: Contract = Contract::body_field("idempotency_key")
    .named("plaid::TRANSFER_AUTHORIZATIONS")
    .key(KeyFormat::UUID)
    .remembers_for(times(HOUR, 48))
    .sources(&[page(
        "https://rubydoc.info/gems/plaid/38.0.0/Plaid/TransferAuthorizationCreateRequest",
        "the key expires after 48 hours",
    )]);
