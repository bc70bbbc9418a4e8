//! The embedded SQLite ledger of Ratchet.
//!
//! [`SqliteLedger`] keeps records in an SQLite database, which may be your own: its tables start with `ratchet_`.
//! One task writes and commits for many callers at once, every commit is synced before anybody is answered, and reads
//! go through connections of their own. [`enqueue_in`] and [`submit_in`] work inside a transaction of yours.
//!
//! [`once()`] guards an effect in a database of yours, whatever ledger there is: a row beside the effect keeps it single.
//!
//! The tables are made by plain SQL files with a version of their own in `ratchet_schema`; the query plans of the hot
//! paths name their indexes, so they do not depend on `ANALYZE`.

mod apply;
mod audit;
mod batch;
mod claim;
mod columns;
mod declare;
mod desk;
mod document;
mod effects;
mod enqueue;
mod error;
mod export;
mod first_attempt;
mod follow;
mod gates;
mod held;
mod hex;
mod import;
mod insert;
mod inspect;
mod ledger;
mod maintenance;
mod mark;
mod once;
mod options;
mod overview;
mod place;
mod read;
mod room;
#[cfg(test)]
mod round_trip;
mod row;
mod schema;
mod standing;
mod stored;
mod submit;
mod terms;
mod usual;
mod write;
mod writer;

pub use enqueue::enqueue_in;
pub use ledger::SqliteLedger;
pub use once::{once, once_in};
pub use options::SqliteOptions;
pub use schema::{migrate, migrate_effects};
pub use submit::{submit_in, submit_in_at};

/// The sqlx whose connections [`submit_in`], [`enqueue_in`] and [`migrate`] take: version 0.9. A program that depends
/// on sqlx itself needs the same version, since the types of another are others. It has the features `runtime-tokio` and
/// `sqlite-bundled`, and those that your own dependency on it adds.
pub use sqlx;
