//! Why `once` did not do it, and what that says about the effect.

use std::fmt;

use crate::failure::Failure;
use crate::model::{Outcome, Token};

/// Why `once` returned no result.
///
/// It converts into a [`Failure`] through `?`, with what is known about the effect: whatever went wrong before COMMIT was
/// asked for was rolled back, so it certainly did not happen. Like a `Failure` it is not itself a `std::error::Error`,
/// whose conversion would make everything unknown.
#[must_use = "what went wrong says what happened to the effect"]
pub struct OnceError {
    kind: OnceErrorKind,
    failure: Failure,
}

/// The reasons of a [`OnceError`], for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnceErrorKind {
    /// The closure failed, and what it did was rolled back.
    Effect,
    /// A newer attempt has been there; the effect happened.
    Superseded {
        /// The token of the newest one.
        seen: Token,
    },
    /// The attempt has no lease any more; rolled back.
    LeaseLost,
    /// Another writer held the database for too long; nothing was done.
    Busy,
    /// The transaction sees the database as it was before another one wrote, so it cannot write any more; nothing of the
    /// effect is left in it. Begin a new one.
    OldSnapshot,
    /// The table of effects is missing; nothing was done.
    NoTable,
    /// The database failed before COMMIT was asked for; rolled back.
    Store,
    /// What the closure returned cannot be kept as a result; rolled back.
    UnstorableResult,
    /// The effect happened, and what it left cannot be read.
    UnreadableResult,
    /// Nobody could find out whether the transaction was committed.
    CommitUnknown,
    /// The transaction was ended within the closure.
    TransactionEnded,
    /// The call stands where it cannot work; nothing was done.
    Misused,
}

impl OnceError {
    pub(super) const fn new(kind: OnceErrorKind, failure: Failure) -> Self {
        Self { kind, failure }
    }

    /// Which reason it is.
    #[must_use]
    pub const fn kind(&self) -> OnceErrorKind {
        self.kind
    }

    /// What it says about the effect.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        self.failure.outcome()
    }
}

impl From<OnceError> for Failure {
    fn from(error: OnceError) -> Self {
        error.failure
    }
}

impl fmt::Debug for OnceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnceError").field(&self.kind).field(&self.failure).finish()
    }
}

impl fmt::Display for OnceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)
    }
}
