//! The in-memory ledger against the suite for all ledgers.

use ratchet_core::MemoryLedger;
use ratchet_core::conformance::{Fixture, STARTED_AT};
use ratchet_core::random::SystemRandom;
use ratchet_core::time::ManualClock;

#[allow(clippy::unused_async, reason = "other ledgers are opened")]
async fn fresh() -> Fixture {
    let clock = ManualClock::at(STARTED_AT);
    Fixture::new(MemoryLedger::with(clock.clone(), SystemRandom::shared()), clock)
}

ratchet_core::conformance!(fresh);
