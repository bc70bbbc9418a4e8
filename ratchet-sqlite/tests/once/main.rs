//! Effects in a database of the handler's own: one, whoever asks, and none of a transaction that did not commit.

#[path = "../common/mod.rs"]
mod common;

mod duplicates;
mod failures;
mod in_transaction;
mod places;
