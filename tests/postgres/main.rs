//! Operations with a ledger in `PostgreSQL`, as users write them: in Rust, and beside it in other languages.
#![cfg(feature = "postgres")]
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

mod psql;
mod python;
mod support;
mod wake;
