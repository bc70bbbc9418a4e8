//! Records that come after others.

use ratchet_key::Key;
use serde::{Deserialize, Serialize};

use super::identity::{Generation, RecordId};
use super::name::{Namespace, OperationName};
use super::record::{State, Uncertainty};
use crate::time::Timestamp;

/// After which record another one comes, and on which end.
///
/// The record waits until the other one ends: then it is executed, or skipped for ever, and whatever becomes of the other
/// one later (it is replayed, somebody finds out what happened) changes nothing about that.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct After {
    /// The record that has to end first, of the same namespace.
    pub id: RecordId,
    /// On which end this one is executed; on any other it is skipped.
    pub on: Branch,
}

/// On which end of another record one is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Branch {
    /// A follow-up: on success.
    Succeeded,
    /// A fallback: on every other end but a cancellation.
    ///
    /// That includes an end whose effect is unknown: a handler that failed over the wire, a record that was given up. The
    /// effect may have happened all the same, so a fallback that does the same thing in another way (another provider,
    /// another channel) may do it twice. A fallback that tells somebody, or asks the destination first, is safe.
    Failed,
}

/// How a record ended, for those that come after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ending {
    /// With success.
    Succeeded,
    /// Without; whether the effect happened may be unknown.
    Failed,
    /// It was cancelled or skipped, so nothing comes after it.
    Stopped,
}

impl Ending {
    /// How a record in this state ended; `None` if it goes on, or if a reconciler is about to find out.
    #[must_use]
    pub const fn of(
        state: State,
        uncertainty: Option<Uncertainty>,
        reconcile_at: Option<Timestamp>,
    ) -> Option<Self> {
        match state {
            State::Waiting | State::Pending | State::Running => None,
            State::Succeeded => Some(Self::Succeeded),
            State::Failed | State::Exhausted | State::Abandoned => Some(Self::Failed),
            State::Cancelled | State::Skipped => Some(Self::Stopped),
            State::Uncertain => Self::of_uncertain(uncertainty, reconcile_at),
        }
    }

    const fn of_uncertain(why: Option<Uncertainty>, reconcile_at: Option<Timestamp>) -> Option<Self> {
        match (why, reconcile_at) {
            (Some(Uncertainty::Cancelled), _) => Some(Self::Stopped),
            (_, Some(_)) => None,
            (_, None) => Some(Self::Failed),
        }
    }
}

impl Branch {
    /// The name that people and surfaces use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "success",
            Self::Failed => "failure",
        }
    }

    /// Whether it is taken after such an end.
    #[must_use]
    pub const fn is_taken(self, ended: Ending) -> bool {
        matches!((self, ended), (Self::Succeeded, Ending::Succeeded) | (Self::Failed, Ending::Failed))
    }
}

/// What a store keeps: the namespace is that of the record itself.
#[derive(Serialize, Deserialize)]
struct StoredAfter {
    operation: OperationName,
    key: String,
    generation: Generation,
    on: Branch,
}

impl After {
    /// As JSON. For those who write a ledger.
    #[must_use]
    pub fn to_stored(&self) -> String {
        let RecordId { operation, key, generation, .. } = &self.id;
        let stored = StoredAfter {
            operation: operation.clone(),
            key: key.as_str().to_owned(),
            generation: *generation,
            on: self.on,
        };
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// What [`to_stored`](Self::to_stored) wrote for a record of this namespace; `None` if it did not. For those who write a
    /// ledger.
    #[must_use]
    pub fn from_stored(namespace: &Namespace, text: &str) -> Option<Self> {
        let StoredAfter { operation, key, generation, on } = serde_json::from_str(text).ok()?;
        let key = Key::parse(&key).ok()?;
        Some(Self { id: RecordId { namespace: namespace.clone(), operation, key, generation }, on })
    }
}
