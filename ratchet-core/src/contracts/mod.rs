//! What known providers document, as constants.
//!
//! Each stands for one endpoint and version, since that is what promises are made for, and names the pages that say so.
//! Providers change their promises: read the page again before you rely on a number, and say differently what has changed.
//! What a page does not say is not filled in. Where it does not say for how long a key is remembered, an operation needs
//! `remembers_for` or a declared tradeoff to compile.
//!
//! ```
//! use std::time::Duration;
//! use ratchet_core::{Contract, contracts};
//!
//! const CHARGES: Contract = contracts::stripe::V1;
//! const ORDERS: Contract = contracts::paypal::ORDERS_V2.remembers_for(Duration::from_hours(72));
//! # assert!(CHARGES.deduplicates() && ORDERS.deduplicates());
//! ```
//!
//! `docs/catalogue.md` shows all of them with their sources.

pub mod adyen;
pub mod aws;
pub mod azure;
pub mod brevo;
pub mod checkout;
pub mod gocardless;
pub mod google_cloud;
pub mod increase;
pub mod modern_treasury;
pub mod mollie;
pub mod paypal;
pub mod plaid;
pub mod postmark;
pub mod razorpay;
pub mod resend;
pub mod square;
pub mod stripe;
pub mod telnyx;
pub mod wise;

use std::time::Duration;

use crate::contract::{Contract, Source};

/// The day on which the pages of the catalogue were read.
const READ: &str = "2026-11-29";

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

const fn times(span: Duration, count: u32) -> Duration {
    match span.checked_mul(count) {
        Some(product) => product,
        None => Duration::MAX,
    }
}

const fn page(url: &'static str, says: &'static str) -> Source {
    Source::new(says, url, READ)
}

/// All contracts of the catalogue.
pub const ALL: &[Contract] = &[
    adyen::PAYMENTS,
    aws::EC2_RUN_INSTANCES,
    aws::EC2_CREATE_LAUNCH_TEMPLATE,
    aws::SQS_FIFO,
    aws::SNS_FIFO,
    aws::SES,
    azure::COMMUNICATION_SERVICES,
    brevo::EMAIL,
    checkout::PAYMENTS,
    gocardless::CREATE,
    google_cloud::REQUEST_ID,
    google_cloud::REQUEST_ID_OF_ANY_TEXT,
    increase::CREATE,
    modern_treasury::POST,
    mollie::PAYMENTS,
    paypal::ORDERS_V1,
    paypal::ORDERS_V2,
    paypal::PAYMENTS_V1,
    paypal::PAYMENTS_V2,
    paypal::PAYOUTS,
    paypal::SUBSCRIPTIONS_V1,
    paypal::CATALOG_PRODUCTS,
    paypal::PAYMENT_METHOD_TOKENS_V3,
    paypal::WEB_PROFILES,
    plaid::BANK_TRANSFERS,
    plaid::TRANSFER_AUTHORIZATIONS,
    postmark::EMAIL,
    razorpay::PAYOUTS,
    razorpay::TRANSFERS,
    resend::EMAILS,
    square::PAYMENTS,
    square::TERMINAL,
    square::CATALOG,
    square::ORDERS,
    square::BOOKINGS,
    stripe::V1,
    stripe::V2,
    telnyx::V2,
    wise::TRANSFERS,
];
