//! What may go wrong between a program and its database, and what must be true afterwards.

mod calls;
mod connections;
mod load;
mod migration;
mod network;
mod standby;
#[path = "../ledger/support.rs"]
mod support;
mod timeouts;
mod ways;
