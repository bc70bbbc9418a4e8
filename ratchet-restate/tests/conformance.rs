//! What every ledger must do, on an engine of its own for each case.
//!
//! They take some minutes, since a server starts for each, so all of them run only when they are asked for, and a third of them in
//! `cargo xtask test`. What is left out, since the engine promises less than a database does, is said in `docs/restate.md`.

#[path = "support/server.rs"]
mod server;

use std::sync::Arc;
use std::time::Duration;

use ratchet_core::conformance::{Fixture, STARTED_AT};
use ratchet_core::random::SystemRandom;
use ratchet_core::time::ManualClock;
use ratchet_core::{Ledger as _, SharedLedger};
use ratchet_restate::RestateLedger;
use server::Server;

async fn fresh() -> Fixture {
    let server = tokio::task::spawn_blocking(Server::start).await.expect("a server");
    let clock = ManualClock::at(STARTED_AT);
    let ledger = RestateLedger::open_with(&server.url(), clock.clone(), SystemRandom::shared());
    let ledger: Arc<RestateLedger> = ledger.expect("a ledger");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let uri = format!("http://{}", listener.local_addr().expect("its address"));
    let objects = Arc::clone(&ledger);
    tokio::spawn(async move {
        let forever = std::future::pending();
        ratchet_restate::serve(&objects, None, listener, &uri, forever).await.expect("it is served");
    });
    // The first call makes the mark, at the moment that the case expects.
    while ledger.mark().await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let ledger: SharedLedger = ledger;
    Fixture::new(ledger, clock).keeping(server)
}

ratchet_core::conformance_of_engines!(fresh);
