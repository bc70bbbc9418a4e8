//! A tower layer that enforces `Idempotency-Key` in a server that *is* the destination.
//!
//! A request with a key is executed once, however often it arrives; repetitions get the stored answer. What is known
//! about a key is a record in a ledger, in a namespace of its own, which no worker serves.
//!
//! ```
//! use ratchet_core::SharedLedger;
//! use ratchet_http::inbound::IdempotencyLayer;
//!
//! fn layer(ledger: SharedLedger) -> IdempotencyLayer {
//!     // Whose keys they are: what your authentication, which stands outside of this layer, has found out.
//!     IdempotencyLayer::new(ledger, |parts| parts.extensions.get::<Account>().map(|account| account.0.clone()))
//! }
//!
//! #[derive(Clone)]
//! struct Account(String);
//! ```
//!
//! The handler runs in a task of its own, so that it goes on after a client that hangs up, and finds a
//! [`Context`](ratchet_core::Context) in the request's extensions: what it asks other destinations for, or does with
//! `once` in its database, has an identity that is the same whenever the request is run again.
//!
//! # What is answered
//!
//! | the key | answer |
//! |---|---|
//! | is missing where it is required, is malformed, is longer than allowed | 400 |
//! | is new | the handler's answer |
//! | was answered before | the same status, body and kept headers, with `Idempotent-Replayed: true` |
//! | is being executed | 409 `in-flight`, with `Retry-After` |
//! | came with another request before | 422 `key-reused` |
//! | was executed, and nobody knows how it ended | 409 `outcome-unknown` |
//! | was answered, with more than is kept | 409 `answer-not-kept` |
//! | was answered so long ago that only its tombstone is left | 409 `key-expired` |
//! | was closed by an operator, and not executed | 409 `key-closed` |
//! | cannot be looked up, since the store does not answer | 503 `store-unavailable` |
//! | is not known, and the store is a restored backup | 503 `store-restored` |
//!
//! These are problem documents (RFC 9457). `code` names the problem as above, and `execution` says what is known about
//! the request: `executed`, `not_executed`, `in_flight` or `unknown`. Only what certainly was not executed is anything
//! else than 409 or 5xx, so that a client that reads no documents does not take a lost answer for a refusal.
//!
//! # Which answers are remembered
//!
//! All but 408, 425, 429 and 5xx: those say that something went wrong and not what became of the effect, so the outcome
//! is unknown, and the request is not executed again. Two things change that:
//!
//! - A handler that knows that nothing was executed puts [`NotExecuted`] into the extensions of its answer: the next
//!   repetition is executed.
//! - A handler whose effects cannot happen twice is declared so, like the operations of a worker:
//!   [`destination`](IdempotencyLayer::destination) says who keeps them single,
//!   [`on_unknown`](IdempotencyLayer::on_unknown) that it does not matter.
//!
//! Streams are held back until they end or are longer than what is kept; trailers are dropped.

mod answer;
mod body;
mod claim;
mod identity;
mod key;
mod layer;
mod problem;
mod service;
mod settings;

pub use answer::NotExecuted;
pub use body::{Body, BoxError};
pub use layer::IdempotencyLayer;
pub use service::IdempotencyService;

pub use http;
