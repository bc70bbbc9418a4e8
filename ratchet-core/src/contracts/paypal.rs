//! `PayPal` REST. How long a key is remembered, and how long it may be, differs by API.

use super::{DAY, HOUR, page, times};
use crate::contract::{Contract, KeyFormat, Repeats, Source};

const SOURCES: &[Source] = &[
    page(
        "https://developer.paypal.com/api/rest/reference/idempotency",
        "header `PayPal-Request-Id`; a repeated request gets the latest status of the first one; of two at the same time the \
         second may fail",
    ),
    page(
        "https://github.com/paypal/paypal-rest-api-specifications",
        "retention and longest key of each API (files of 2024-02-03)",
    ),
];

const fn api(name: &'static str) -> Contract {
    Contract::header("PayPal-Request-Id")
        .named(name)
        .key(KeyFormat::UUID)
        .remembers_for_unstated_time()
        .repeats(Repeats::CurrentState)
        .sources(SOURCES)
}

/// Orders v1: remembered for ever.
pub const ORDERS_V1: Contract = api("paypal::ORDERS_V1").remembers_forever();

/// Orders v2: 6 hours, and 72 where `PayPal` agreed to it; up to 108 characters.
pub const ORDERS_V2: Contract =
    api("paypal::ORDERS_V2").key(KeyFormat::up_to(108)).remembers_for(times(HOUR, 6));

/// Payments v1: 30 days, up to 78 characters.
pub const PAYMENTS_V1: Contract =
    api("paypal::PAYMENTS_V1").key(KeyFormat::up_to(78)).remembers_for(times(DAY, 30));

/// Payments v2: 45 days.
pub const PAYMENTS_V2: Contract = api("paypal::PAYMENTS_V2").remembers_for(times(DAY, 45));

/// Payouts: 30 days, up to 1000 characters. They are also recognised by `sender_batch_id` in the body, for as long.
pub const PAYOUTS: Contract =
    api("paypal::PAYOUTS").key(KeyFormat::up_to(1000)).remembers_for(times(DAY, 30));

/// Subscriptions v1: 72 hours.
pub const SUBSCRIPTIONS_V1: Contract = api("paypal::SUBSCRIPTIONS_V1").remembers_for(times(HOUR, 72));

/// Products of the catalog: 72 hours.
pub const CATALOG_PRODUCTS: Contract = api("paypal::CATALOG_PRODUCTS").remembers_for(times(HOUR, 72));

/// Payment method tokens v3: 3 hours; the header is required.
pub const PAYMENT_METHOD_TOKENS_V3: Contract =
    api("paypal::PAYMENT_METHOD_TOKENS_V3").remembers_for(times(HOUR, 3));

/// Web profiles: 3 hours; the header is required.
pub const WEB_PROFILES: Contract = api("paypal::WEB_PROFILES").remembers_for(times(HOUR, 3));
