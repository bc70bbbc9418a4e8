//! What is special about a ledger in PostgreSQL; what every ledger must do is in `conformance.rs`.

mod batch;
mod cuts;
mod damage;
mod gates;
mod locks;
mod open;
mod processes;
mod support;
mod transaction;
mod usual;
mod wake;
