//! What may go wrong between a program and its database, and what must be true afterwards.

mod calls;
mod connections;
mod load;
mod network;
#[path = "../ledger/support.rs"]
mod support;
mod ways;
