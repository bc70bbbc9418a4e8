//! Ratchet makes background operations safe to run more than once.
//!
//! An operation is an annotated async function with a declared identity. The same key travels from the producer
//! through queue, lease, retry and replay to the destination, which refuses the second effect.

mod open;

#[cfg(feature = "http")]
pub use ratchet_http as http;
#[cfg(feature = "sqlite")]
pub use ratchet_sqlite as sqlite;

pub use ratchet_core::contract::{Contract, Mechanism, Retention};
pub use ratchet_core::decide::{Answer, Refusal, Stored, Verdict};
pub use ratchet_core::ledger::{Filter, Page};
pub use ratchet_core::model::State as RecordState;
pub use ratchet_core::operation::State;
pub use ratchet_core::{
    Attempt, AuditEntry, CancelReason, Cause, CauseKind, Client, Conflict, Context, Enqueue, EnqueueError, Enqueued,
    Failure, Generation, Key, KeyError, KeyPart, LedgerError, ManageError, Namespace, NotAccepted, OnUnknown,
    OperationName, Outcome, OutcomeKind, PartWriter, Policy, Record, RecordId, Registry, RegistryError, Request, RetryPolicy,
    Timestamp, Uncertainty, Version, Worker, WorkerBuilder, WorkerError, decide, ledger,
};
pub use ratchet_macros::{Input, KeyPart, operation, registry};

#[doc(inline)]
pub use ratchet_core::operation::Input;

pub use open::Ratchet;

/// What generated code names. No part of the public interface.
#[doc(hidden)]
pub use ratchet_core::private as __private;
