//! What a worker does with an operation, on the ledger in memory.
#![cfg(feature = "testing")]
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

mod ahead;
mod ends;
mod faults;
mod faulty;
mod nested_marks;
mod outcomes;
mod privacy;
mod pushed;
mod queues;
mod reconcile;
mod restored;
mod serving;
mod steps;
mod support;
mod wire_keys;
