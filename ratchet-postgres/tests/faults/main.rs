//! What may go wrong between a program and its database, and what must be true afterwards.

mod calls;
mod connections;
mod guards;
mod load;
mod migration;
mod million;
mod network;
mod patroni;
mod standby;
#[path = "../ledger/support.rs"]
mod support;
mod timeouts;
mod ways;
