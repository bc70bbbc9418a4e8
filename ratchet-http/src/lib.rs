//! Sends requests to HTTP destinations under the identity of an operation, and reads what the answers say about the
//! effect.
//!
//! ```no_run
//! # use ratchet_core::{Context, Failure};
//! # #[derive(serde::Deserialize)] struct Charge { id: String }
//! async fn charge(ctx: Context, http: ratchet_http::Client, invoice_id: &str) -> Result<String, Failure> {
//!     let answer = http
//!         .post("https://payments.example/charges")
//!         .json(&serde_json::json!({ "invoice": invoice_id }))
//!         .idempotent(&ctx)
//!         .deliver()
//!         .await?;
//!     Ok(answer.json::<Charge>()?.id)
//! }
//! ```
//!
//! [`deliver`](Request::deliver) writes down what is about to be sent, checks the lease, sends once without following
//! redirects, and returns the answer only if it says that the effect happened. Everything else is a
//! [`Failure`](ratchet_core::Failure) that the handler passes on with `?`:
//!
//! | what came back | outcome |
//! |---|---|
//! | 200, 201, 204 from the requested address | done |
//! | no connection | not applied |
//! | 408, 409, 425, 429, 5xx, 202 and other 2xx, 1xx, 3xx, a broken connection, a timeout, an unreadable body | unknown |
//! | other 4xx | rejected |
//!
//! The other side, a server that is the destination, is in the module `inbound` (feature `inbound`).

mod answer;
mod classify;
mod client;
mod health;
#[cfg(feature = "inbound")]
pub mod inbound;
mod json;
mod request;
mod retry_after;

pub use answer::Answer;
pub use client::{Client, ClientError};
pub use request::{Identity, NoIdentity, Request};
pub use reqwest;
