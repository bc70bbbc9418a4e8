//! Square. The longest key differs by endpoint; for how long one is remembered is not documented.

use super::page;
use crate::contract::{Contract, KeyFormat, OtherInput, Signal, Source};

const SOURCES: &[Source] = &[
    page(
        "https://developer.squareup.com/docs/working-with-apis/idempotency",
        "body field `idempotency_key`; another request under the same key: the error `IDEMPOTENCY_KEY_REUSED`",
    ),
    page(
        "https://github.com/square/connect-api-specification",
        "the longest key of each request type, less where characters have several bytes (api.json of 2025-08-19)",
    ),
    page(
        "https://github.com/square/square-mcp-server/issues/31",
        "`CancelPaymentByIdempotencyKey` settles a payment whose fate is unknown",
    ),
];

const SIGNALS: &[Signal] =
    &[Signal::mismatch(400).to(499).when_field("errors.*.code", "IDEMPOTENCY_KEY_REUSED")];

const fn with(name: &'static str, longest: usize) -> Contract {
    Contract::body_field("idempotency_key")
        .named(name)
        .key(KeyFormat::up_to(longest))
        .remembers_for_unstated_time()
        .other_input(OtherInput::Refused)
        .signals(SIGNALS)
        .sources(SOURCES)
}

/// `CreatePayment`, `UpdatePayment`, `CancelPaymentByIdempotencyKey`, `RefundPayment`, evidence of disputes, subscriptions of
/// webhooks, most custom attributes: 45 characters.
pub const PAYMENTS: Contract = with("square::PAYMENTS", 45).lookup(
    "`CancelPaymentByIdempotencyKey` cancels the payment of a key, if there is one, and closes the key",
);

/// Checkouts, actions and refunds of the Terminal: 64 characters.
pub const TERMINAL: Contract = with("square::TERMINAL", 64);

/// Catalog, inventory, loyalty, gift cards, invoices and labor: 128 characters.
pub const CATALOG: Contract = with("square::CATALOG", 128);

/// Orders, checkout and payment links: 192 characters.
pub const ORDERS: Contract = with("square::ORDERS", 192);

/// Bookings: 255 characters.
pub const BOOKINGS: Contract = with("square::BOOKINGS", 255);
