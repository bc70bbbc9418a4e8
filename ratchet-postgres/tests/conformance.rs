//! What every ledger must do, on a PostgreSQL database of its own for each case.

use ratchet_core::conformance::{Fixture, STARTED_AT};
use ratchet_core::time::ManualClock;
use ratchet_postgres::PostgresOptions;

async fn fresh() -> Fixture {
    let database = ratchet_test_postgres::shared().database().await;
    let clock = ManualClock::at(STARTED_AT);
    let ledger = PostgresOptions::new().clock(clock.clone()).open(&database.url()).await;
    Fixture::new(ledger.expect("a ledger"), clock).keeping(database)
}

ratchet_core::conformance!(fresh);
