//! What a producer asks for, and what it is told.

use super::after::After;
use super::identity::RecordId;
use super::name::{GroupId, Queue, Version};
use super::payload::{Fingerprint, Payload};
use super::record::{Priority, State};
use super::trace_parent::TraceParent;
use crate::contract::Terms;
use crate::policy::Policy;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// A request to have an operation executed once, whatever happens on the way.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Submission {
    /// Which intended action. Without a [`Renewal`] the generation is that of the newest record under the key.
    pub id: RecordId,
    /// Which version of the code.
    pub version: Version,
    /// The input.
    pub input: Payload,
    /// What tells another input under the same key, where that is not the fingerprint of all of it.
    pub compared: Option<Fingerprint>,
    /// How it is retried, bounded and kept.
    pub policy: Policy,
    /// What the destination promises.
    pub contract: Terms,
    /// Not to be executed before this point.
    pub not_before: Option<Timestamp>,
    /// Where it waits for a worker; no part of its identity.
    pub queue: Queue,
    /// Higher ones are claimed first.
    pub priority: Priority,
    /// To which group it belongs; no part of its identity.
    pub group: Option<GroupId>,
    /// After which record it comes, and on which end; no part of its identity.
    pub after: Option<After>,
    /// Asks for a new legitimate action after a definite end.
    pub renewal: Option<Renewal>,
    /// Where in which trace it is asked for; no part of its identity, and no other input if it differs.
    pub trace: Option<TraceParent>,
}

impl Submission {
    /// What tells another input under the same key.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.compared.unwrap_or_else(|| self.input.fingerprint())
    }
}

/// Who wants a new generation, and why; written to the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Renewal {
    /// Who, in the caller's words.
    pub by: String,
    /// Why, in the caller's words.
    pub reason: String,
}

/// What a producer is told about its submission.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[must_use = "a conflict, or a record that has failed, is told here and nowhere else"]
pub enum Submitted {
    /// A record was made.
    New {
        /// Its identity.
        id: RecordId,
    },
    /// The same action is on record already.
    Existing {
        /// Its identity.
        id: RecordId,
        /// What is the case with it.
        state: State,
        /// Its result, if it succeeded and left one.
        result: Option<Payload>,
        /// The version that it was submitted for.
        version: Version,
    },
    /// The key is taken by another input.
    Conflict(Conflict),
    /// The same action is settled for so long that only a tombstone is left.
    Expired {
        /// When it ended.
        ended_on: Timestamp,
        /// How it ended.
        state: State,
    },
}

/// Why a submission conflicts. It names no field: the inputs belong to two callers who may not see each other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum Conflict {
    /// Another input under the same key.
    #[error(
        "the key is taken by another input: use the key of the action that you mean, or the input that was sent first"
    )]
    OtherInput,
    /// A new generation was asked for while it is not certain how the last one ended.
    #[error("the last action under this key has no certain end: settle it before a new generation")]
    NotEnded,
    /// A new generation was asked for and there is no record, or a newer generation than the one named.
    #[error(
        "the generation that this one should follow is not the newest under its key: look at the newest record first"
    )]
    NotNewest,
    /// The record that this one should come after does not exist in its namespace.
    #[error(
        "there is no record in this namespace that it could come after: submit that one first, and name its generation"
    )]
    NoPredecessor,
}
