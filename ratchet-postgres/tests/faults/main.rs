//! What may go wrong between a program and its database, and what must be true afterwards.

mod calls;
#[path = "../ledger/support.rs"]
mod support;
mod ways;
