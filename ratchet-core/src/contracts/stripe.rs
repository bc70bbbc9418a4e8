//! Stripe.

use super::{DAY, page, times};
use crate::contract::{Contract, KeyFormat, OtherInput, Remembered, Repeats, ScopePart, Signal};

/// POST requests of API v1. A stored answer is final, failures included: a corrected request needs a new generation.
pub const V1: Contract = Contract::header("Idempotency-Key")
    .named("stripe::V1")
    .key(KeyFormat::up_to(255))
    .kept_apart_by(&[ScopePart::Account])
    .remembers_for(DAY)
    .other_input(OtherInput::Refused)
    .repeats(Repeats::FirstAnswer)
    .remembers(Remembered::Everything)
    .signals(&[
        Signal::in_flight(409).when_field("error.code", "idempotency_key_in_use"),
        Signal::mismatch(400).when_field("error.type", "idempotency_error"),
        Signal::refused_after_lookup(400).to(499).when_header("idempotent-replayed", "true"),
        Signal::not_applied(429),
    ])
    .marks_replays("idempotent-replayed", "true")
    .sources(&[
        page(
            "https://docs.stripe.com/api/idempotent_requests",
            "header on every POST, up to 255 characters, may be pruned after 24 hours; the first status and body are stored \
             once the endpoint has begun to execute, those of failures too",
        ),
        page(
            "https://docs.stripe.com/error-low-level",
            "429 comes before the keys are looked at; a stored 400 is given again as 400",
        ),
        page(
            "https://github.com/stripe/stripe-php",
            "another request under the same key: 400 with the type `idempotency_error` (lib/ApiRequestor.php)",
        ),
        page(
            "https://github.com/stripe/stripe-ruby/issues/598",
            "a key is for the endpoint that it was used with first, so equal keys of two endpoints clash",
        ),
        page(
            "https://github.com/beam-community/stripity-stripe/issues/564",
            "409 with the code `idempotency_key_in_use` while a request with the key is under way",
        ),
        page(
            "https://github.com/ietf-wg-httpapi/idempotency/issues/46",
            "a repeated answer has the header `Idempotent-Replayed: true`",
        ),
    ]);

/// POST requests of API v2: what failed is tried again under the same key.
pub const V2: Contract = Contract::header("Idempotency-Key")
    .named("stripe::V2")
    .key(KeyFormat::up_to(255))
    .kept_apart_by(&[ScopePart::Account])
    .remembers_for(times(DAY, 30))
    .repeats(Repeats::CurrentState)
    .remembers(Remembered::Successes)
    .sources(&[
        page("https://docs.stripe.com/api/idempotent_requests", "the same header, up to 255 characters"),
        page(
            "https://docs.stripe.com/error-low-level?locale=en-US",
            "30 days; what succeeded is never repeated, what failed or succeeded in part is completed and answered anew",
        ),
        page("https://docs.stripe.com/api-v2-overview", "how v2 differs from v1"),
    ]);
