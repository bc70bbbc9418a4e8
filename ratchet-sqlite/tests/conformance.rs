//! What every ledger must do, on an SQLite database of its own for each case.

use ratchet_core::conformance::{Fixture, STARTED_AT};
use ratchet_core::time::ManualClock;
use ratchet_sqlite::SqliteOptions;

async fn fresh() -> Fixture {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("sqlite://{}/ledger.db", directory.path().display());
    let clock = ManualClock::at(STARTED_AT);
    let ledger = SqliteOptions::new().clock(clock.clone()).open(&url).await;
    Fixture::new(ledger.expect("a ledger"), clock).keeping(directory)
}

ratchet_core::conformance!(fresh);
