//! The Restate ledger of Ratchet, and the drive that a Restate engine pushes attempts to.
//!
//! The records under one key are a virtual object of the engine, which lets one caller change them at a time: it has
//! [`decide`](ratchet_core::decide::decide) say what follows, and keeps the answer. When something is due about a record, its
//! object tells the drive, which makes one attempt under a lease of the record.

mod address;
mod adopt;
mod attempts;
mod book;
mod engine;
mod index;
mod ledger;
mod listing;
mod names;
mod places;
mod record_object;
mod serve;
mod store_object;
mod together;
mod turned_away;

pub use ledger::RestateLedger;
pub use serve::{serve, serve_attempts};
