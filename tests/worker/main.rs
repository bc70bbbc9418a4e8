//! What a worker does with an operation, on the ledger in memory.
#![cfg(feature = "testing")]

mod ends;
mod outcomes;
mod serving;
mod support;
