//! Adyen.

use super::{DAY, page, times};
use crate::contract::{Contract, KeyFormat, ScopePart, Shape, Signal};

/// POST requests. Equal keys of two credentials of one company account show each other's answers, so a key that can be
/// guessed is never sent.
///
/// An older copy of the page says that keys are remembered for 31 days at least. Seven are claimed here, since promises of
/// this kind have been shortened elsewhere.
pub const PAYMENTS: Contract = Contract::header("idempotency-key")
    .named("adyen::PAYMENTS")
    .key(KeyFormat::up_to(64).shaped(Shape::Unguessable))
    .kept_apart_by(&[ScopePart::Account, ScopePart::Region])
    .remembers_for(times(DAY, 7))
    .signals(&[
        Signal::in_flight(409).when_field("errorCode", "704"),
        Signal::in_flight(422).when_field("errorCode", "704"),
        Signal::in_flight(409).to(422).when_header("transient-error", "true"),
    ])
    .sources(&[page(
        "https://docs.adyen.com/development-resources/api-idempotency",
        "header on POST, up to 64 characters, a random UUID advised; per company account and not across regional endpoints; \
         at least 31 days; 422 or 409 with the code 704 while a request is under way, `transient-error: true` to try again",
    )]);
