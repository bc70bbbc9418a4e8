//! Telnyx.

use super::{DAY, page};
use crate::contract::{Contract, KeyFormat, OtherInput, Remembered, Repeats, ScopePart, Signal};

/// API v2. The key is sent without quotation marks.
pub const V2: Contract = Contract::header("Idempotency-Key")
    .named("telnyx::V2")
    .key(KeyFormat::up_to(255).alphanumeric_and("_:-"))
    .kept_apart_by(&[ScopePart::Account, ScopePart::Route])
    .remembers_for(DAY)
    .other_input(OtherInput::Refused)
    .repeats(Repeats::FirstAnswer)
    .remembers(Remembered::Successes)
    .signals(&[Signal::mismatch(422)])
    .sources(&[page(
        "https://developers.telnyx.com/docs/development/api-fundamentals/idempotency.md",
        "1 to 255 letters, digits, `_`, `:` and `-`, without quotation marks; per organization, method and path; 24 hours; only \
         2xx is kept; 422 for another request",
    )]);
