//! Background operations that are safe to run more than once.
//!
//! A worker charges a card and dies before it reports success; the queue gives the work to somebody else. Only the
//! *destination* can refuse the second charge, if both attempts carry the same identity. With Ratchet that identity is a
//! declared property of an operation: checked while compiling, and carried unchanged from the producer through queue,
//! lease, retry and replay to the destination.
//!
//! ```
//! use ratchet::{Context, Enqueued, Failure, Input, Ratchet};
//!
//! #[derive(serde::Serialize, serde::Deserialize, Input)]
//! struct SendReceipt {
//!     order_id: u64,
//! }
//!
//! #[ratchet::operation(name = "send_receipt", version = "1", key = "order:<order_id>:receipt:v1")]
//! async fn send_receipt(ctx: Context, input: SendReceipt) -> Result<String, Failure> {
//!     Ok(format!("sent order {} as {}", input.order_id, ctx.key()))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let url = format!("sqlite:{}", folder.path().join("ratchet.db").display());
//! # let url = url.as_str();
//! let ratchet = Ratchet::open(url).await?; // such as "sqlite:ratchet.db"
//!
//! // The producer. Enqueuing the same action again is safe, and tells what is on record.
//! let first = send_receipt::enqueue(&ratchet, SendReceipt { order_id: 7 }).await?;
//! assert!(matches!(first, Enqueued::New { .. }));
//! let again = send_receipt::enqueue(&ratchet, SendReceipt { order_id: 7 }).await?;
//! assert!(matches!(again, Enqueued::Existing { .. }));
//!
//! // The worker, which stops when the given future is ready.
//! let worker = ratchet.worker(ratchet::registry![send_receipt]).build()?;
//! # let shutdown = async { tokio::time::sleep(std::time::Duration::from_millis(1)).await };
//! worker.run(shutdown).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # The parts
//!
//! - [`operation`] declares an operation, [`registry!`] lists those that a worker executes; [`derive@Input`] and
//!   [`derive@KeyPart`] are for the types in between.
//! - [`Ratchet`] opens a ledger and is the [`Client`] that enqueues, cancels, replays and resolves.
//! - [`Context`] is what an attempt knows about itself, [`Failure`] how it says what it knows about its effect.
//!   [`Context::step`] names one of several effects. `once` of `ratchet::sqlite` and `ratchet::postgres` has one in a
//!   database of yours.
//! - [`Contract`] says what a destination promises; [`OnUnknown`] and [`RetryPolicy`] what follows where it does not.
//! - [`decide`] holds the one function that decides what happens next to a record.
//!
//! Execution is at least once. There is one effect where the destination deduplicates, inside the time for which it
//! remembers; where nobody can know what happened, the record says so instead of guessing.

// As the examples of those who deny all warnings: none is of the attribute's making.
#![doc(test(attr(deny(non_local_definitions))))]

mod open;

#[cfg(feature = "http")]
pub use ratchet_http as http;
#[cfg(feature = "mail")]
pub use ratchet_mail as mail;
#[cfg(feature = "postgres")]
pub use ratchet_postgres as postgres;
#[cfg(feature = "restate")]
pub use ratchet_restate as restate;
#[cfg(feature = "sqlite")]
pub use ratchet_sqlite as sqlite;

pub use ratchet_core::contract::{Contract, Mechanism, Retention, Terms};
pub use ratchet_core::decide::{Answer, Refusal, Stored, Verdict};
pub use ratchet_core::ledger::{Filter, Page};
pub use ratchet_core::model::State as RecordState;
pub use ratchet_core::operation::{Redacted, State};
pub use ratchet_core::random::{Random, SharedRandom};
#[cfg(feature = "schema")]
pub use ratchet_core::schemars;
pub use ratchet_core::time::{Clock, SharedClock, Timestamp};
pub use ratchet_core::{
    Admitted, After, Attempt, AttemptEnd, AuditEntry, BodyFields, Branch, CancelReason, Cause, CauseKind,
    Client, Closed, Conflict, Context, Destination, DestinationName, DocumentKind, DocumentName, Enqueue,
    EnqueueError, Enqueued, Failure, Fingerprint, Form, Found, Generation, GroupId, HiddenPath, HiddenPaths,
    Inquiry, KeptRequest, Key, KeyDigest, KeyError, KeyPart, LedgerError, ManageError, Manifest, NameError,
    NamedStep, Namespace, NotAccepted, OnUnknown, OnceError, OnceErrorKind, Operation, OperationName,
    Outcome, OutcomeKind, PartWriter, Payload, PayloadError, Pin, Policy, Priority, Queue, Recipe,
    ReconciledStep, Record, RecordId, Registry, RegistryError, Request, RequestFingerprint, RestoreGuard,
    RetryPolicy, Scope, SecretError, SecretId, Sending, StepName, StepState, Submission, Submitted, Token,
    TraceParent, TraceParentError, Uncertainty, Version, VolatileFields, WireSecrets, Worker, WorkerBuilder,
    WorkerError, WorkerId, admission, contract, contracts, decide, ledger, manifest, trace,
};
pub use ratchet_macros::{Input, KeyPart, operation, registry};

#[doc(inline)]
pub use ratchet_core::operation::Input;

pub use open::Ratchet;

/// What generated code names. No part of the public interface.
#[doc(hidden)]
pub use ratchet_core::private as __private;

/// Compiles what the README shows.
#[cfg(all(doctest, feature = "http"))]
#[doc = include_str!("../README.md")]
pub struct Readme;

/// Compiles what the page on the outbox shows.
#[cfg(all(doctest, feature = "http", feature = "sqlite"))]
#[doc = include_str!("../docs/outbox.md")]
pub struct Outbox;

/// Compiles what the page on destinations shows.
#[cfg(all(doctest, feature = "http", feature = "sqlite"))]
#[doc = include_str!("../docs/destinations.md")]
pub struct Destinations;

/// Runs what the page on keys shows.
#[cfg(doctest)]
#[doc = include_str!("../docs/choosing-a-key.md")]
pub struct ChoosingAKey;

/// Compiles what the page on limits shows.
#[cfg(all(doctest, feature = "http"))]
#[doc = include_str!("../docs/admission.md")]
pub struct LimitsAndBreakers;

/// Compiles what the page on reconciling shows.
#[cfg(doctest)]
#[doc = include_str!("../docs/reconciling.md")]
pub struct Reconciling;

/// Compiles what the page on credentials shows.
#[cfg(all(doctest, feature = "http"))]
#[doc = include_str!("../docs/credentials.md")]
pub struct Credentials;

/// Compiles what the page on servers shows.
#[cfg(all(doctest, feature = "inbound"))]
#[doc = include_str!("../docs/inbound.md")]
pub struct Inbound;

/// Operations compile in programs of the edition before, in both forms and inside other macros.
///
/// ```edition2021
/// use ratchet::{Context, Failure, Input, Ratchet};
///
/// #[derive(serde::Serialize, serde::Deserialize, Input)]
/// struct Order { id: u64, gen: u64 }
///
/// #[ratchet::operation(name = "ship", version = "1", key = "order:<id>:part:<gen>:ship")]
/// async fn ship(_ctx: Context, input: Order) -> Result<u64, Failure> { Ok(input.id) }
///
/// macro_rules! operation {
///     ($name:ident, $text:literal, $key:literal) => {
///         #[ratchet::operation(name = $text, version = "1", key = $key)]
///         async fn $name(order: u64, line: u32) -> Result<u32, Failure> { Ok(line + u32::from(order == 0)) }
///     };
/// }
/// operation!(pack, "pack", "order:<order>:line:<line>:pack");
///
/// assert_eq!(ship::key(&Order { id: 7, gen: 2 }).unwrap().as_str(), "order:7:part:2:ship");
/// assert_eq!(pack::key(&7, &1).unwrap().as_str(), "order:7:line:1:pack");
/// assert_eq!(ratchet::registry![ship, pack].served().count(), 2);
/// ```
#[cfg(doctest)]
pub struct Edition2021;
