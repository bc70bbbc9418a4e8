//! The operation model, the decision function, the ledger trait, the client and the worker of Ratchet.
//!
//! Most programs use the `ratchet` crate, which re-exports what they need from here.

pub mod admission;
mod client;
mod context;
pub mod contract;
pub mod contracts;
pub mod decide;
pub mod effect_guard;
mod execution;
mod failure;
mod high_water;
mod key_part;
pub mod ledger;
pub mod manifest;
pub mod model;
pub mod operation;
pub mod policy;
#[doc(hidden)]
pub mod private;
pub mod random;
mod reconcile;
mod registry;
mod restore_guard;
mod span;
mod telemetry;
pub mod time;
pub mod trace;
mod wire_key;
mod worker;

pub use high_water::HighWaterFile;
#[cfg(feature = "schema")]
pub use schemars;
pub use serde_json;

pub use admission::Destination;
pub use client::{Client, Enqueue, ManageError};
pub use context::{Admitted, CancelReason, Context, NamedStep, ReconciledStep, Sending};
pub use contract::{Contract, Mechanism, Retention, Terms};
pub use effect_guard::{OnceError, OnceErrorKind};
pub use execution::{Execution, Executor};
pub use failure::Failure;
pub use key_part::{Form, KeyPart};
#[cfg(feature = "testing")]
pub use ledger::MemoryLedger;
#[cfg(feature = "testing")]
pub use ledger::conformance;
pub use ledger::{Ledger, LedgerError, SharedLedger};
pub use manifest::Manifest;
pub use model::*;
pub use operation::{EnqueueError, Enqueued, Input, NotAccepted, Operation, Request};
pub use policy::{OnUnknown, Policy, RetryPolicy};
pub use ratchet_key::{Key, KeyError, PartWriter};
pub use reconcile::{Closed, Found, Inquiry};
pub use registry::{Registry, RegistryError};
pub use restore_guard::RestoreGuard;
pub use time::{Clock, SystemClock, Timestamp};
pub use wire_key::{SecretError, WireSecrets};
pub use worker::{Attempted, Worker, WorkerBuilder, WorkerError};
