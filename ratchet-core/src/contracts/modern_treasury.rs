//! Modern Treasury.

use super::{DAY, page};
use crate::contract::{Contract, KeyFormat, Remembered, Repeats, ScopePart, Signal};

/// POST requests. Another API key forgets the keys, and the route is not looked at: an equal key of another endpoint gets
/// the answer of the first.
pub const POST: Contract = Contract::header("Idempotency-Key")
    .named("modern_treasury::POST")
    .key(KeyFormat::UUID)
    .kept_apart_by(&[ScopePart::Credential])
    .remembers_for(DAY)
    .repeats(Repeats::FirstAnswer)
    .remembers(Remembered::Successes)
    .signals(&[Signal::in_flight(409)])
    .sources(&[page(
        "https://docs.moderntreasury.com/reference/idempotent-requests",
        "header on POST, 24 hours, per API key and whatever the route; only successes are kept; 409 while one is under way",
    )]);
