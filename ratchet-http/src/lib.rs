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
//! A [`Contract`](ratchet_core::Contract) can say more about an answer by its [signals](ratchet_core::contract::Signal):
//! that a request with the key is under way or known with other contents (unknown), or that what looks like an error means
//! done. `Retry-After` is the least that the next attempt waits.
//!
//! Where such a signal stands in the body, a body that begins as JSON or XML and cannot be read to its end leaves it unknown.
//!
//! Those who send with another client pin, send and [`classify`] by themselves:
//!
//! ```
//! # use ratchet_core::{Context, Failure, RequestFingerprint};
//! # use ratchet_http::reqwest::{StatusCode, header::HeaderMap};
//! # struct Reply { status: StatusCode, headers: HeaderMap, body: Option<Vec<u8>> }
//! # enum Silence { NoConnection, Other }
//! # async fn transmit(_: &str, _: &[u8]) -> Result<Reply, Silence> { Err(Silence::Other) }
//! use ratchet_http::{classify, not_answered, not_connected};
//!
//! async fn charge(ctx: Context, body: &[u8]) -> Result<(), Failure> {
//!     let request = RequestFingerprint::new("POST", "https://payments.example/charges", body);
//!     let pin = ctx.pin("https://payments.example", request).await?;
//!     let sending = ctx.begin_send();
//!     let read = match transmit(&pin.wire_key, body).await {
//!         Ok(reply) => classify(reply.status, &reply.headers, reply.body.as_deref(), ctx.contract()),
//!         Err(Silence::NoConnection) => Err(not_connected()),
//!         Err(Silence::Other) => Err(not_answered()),
//!     };
//!     match read {
//!         Ok(_) => Ok(sending.acted()),
//!         Err(failure) => Err(sending.failed(failure)),
//!     }
//! }
//! ```
//!
//! The other side, a server that is the destination, is in the module `inbound` (feature `inbound`).

mod answer;
mod client;
mod field;
mod form;
mod health;
mod identity;
#[cfg(feature = "inbound")]
pub mod inbound;
mod json;
#[cfg(feature = "middleware")]
pub mod middleware;
mod prepare;
mod reading;
mod request;
mod trace;

pub use answer::Answer;
pub use client::{Client, ClientError};
pub use reading::{Confirmed, classify, not_answered, not_connected};
pub use request::{Identity, NoIdentity, Request};
pub use reqwest;
