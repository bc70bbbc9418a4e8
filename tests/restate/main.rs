//! Operations on a Restate engine: the server of `cargo xtask restate`, one node for each test.

#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

#[path = "../every_store/destination.rs"]
mod destination;
#[path = "../../ratchet-restate/tests/support/server.rs"]
mod server;
mod support;

mod adopt;
mod cluster;
mod crash;
mod execute;
mod full;
mod sharing;
mod shutdown;
