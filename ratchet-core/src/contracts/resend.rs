//! Resend.

use super::{DAY, page};
use crate::contract::{Contract, KeyFormat, OtherInput, Repeats, Signal};

/// `POST /emails` and `POST /emails/batch`. One status has two meanings here: the name in the body tells.
pub const EMAILS: Contract = Contract::header("Idempotency-Key")
    .named("resend::EMAILS")
    .key(KeyFormat::up_to(256))
    .remembers_for(DAY)
    .other_input(OtherInput::Refused)
    .repeats(Repeats::FirstAnswer)
    .signals(&[
        Signal::in_flight(409).when_field("name", "concurrent_idempotent_requests"),
        Signal::mismatch(409).when_field("name", "invalid_idempotent_request"),
    ])
    .sources(&[page(
        "https://resend.com/docs/dashboard/emails/idempotency-keys",
        "header, 1 to 256 characters, 24 hours; 409 `invalid_idempotent_request` for another payload and 409 \
         `concurrent_idempotent_requests` while one is under way",
    )]);
