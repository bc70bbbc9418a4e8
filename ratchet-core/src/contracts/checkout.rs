//! Checkout.com.

use super::{DAY, page};
use crate::contract::{Contract, KeyFormat, Remembered, Repeats, Signal};

/// Payments, authorizations, captures, refunds, voids, cancellations, transfers and contexts.
///
/// The account manager can change the window, and older pages give sandboxes 120 seconds. A repeated request that is done
/// already is answered with 202, which is unknown here, since the same status is given to what is merely accepted.
pub const PAYMENTS: Contract = Contract::header("Cko-Idempotency-Key")
    .named("checkout::PAYMENTS")
    .key(KeyFormat::UUID)
    .remembers_for(DAY)
    .repeats(Repeats::FirstAnswer)
    .remembers(Remembered::Successes)
    .signals(&[Signal::in_flight(409), Signal::in_flight(429)])
    .sources(&[
        page(
            "https://www.checkout.com/docs/payments/manage-payments/idempotency",
            "header on the endpoints that the page lists, a UUID of version 4 advised, 24 hours",
        ),
        page(
            "https://www.checkout.com/docs/payments/manage-payments/retry-a-payment",
            "only 2xx is remembered, with its status and body; 409 while a request is under way, 429 in an older page; 202 once it is done",
        ),
    ]);
