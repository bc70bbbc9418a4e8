//! Effects in a database of the handler's own: one, whoever asks, and none of a transaction that did not commit.

mod cuts;
mod duplicates;
mod failures;
mod in_transaction;
mod places;
mod record;
mod shop;
