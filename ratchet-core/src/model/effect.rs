//! What is known about one effect, and what its destination was sent.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::payload::{Fingerprint, Payload};
use super::record::Token;
use crate::contract::Contract;
use crate::time::Timestamp;

/// What is known about one effect: of a step, or of the handler outside its steps.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Effect {
    /// What its destination promises.
    pub contract: Contract,
    /// Some attempt may have had its effect. Only `Done`, a closing reconcile or a refusal after a look-up clears it.
    pub may_be_applied: bool,
    /// When an attempt that could have this effect first started.
    pub first_started_at: Option<Timestamp>,
    /// What the destination was, or will be, sent.
    pub pin: Option<Pin>,
}

impl Effect {
    /// An effect that nobody started.
    #[must_use]
    pub const fn new(contract: Contract) -> Self {
        Self { contract, may_be_applied: false, first_started_at: None, pin: None }
    }

    /// The earliest point at which the destination may have seen its identity.
    #[must_use]
    pub fn first_sent_at(&self) -> Option<Timestamp> {
        self.pin.as_ref().map(|pin| pin.first_at).or(self.first_started_at)
    }
}

/// The form of the identity that went to the destination, written down before the first send.
///
/// `Debug` leaves the wire key out: it is made of business data, and debug output ends up in logs.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pin {
    /// The key in the form that the destination accepts.
    pub wire_key: String,
    /// By which recipe it was made of the identity.
    pub recipe: u16,
    /// Within what the destination compares keys (account, region, endpoint), as far as the client knows.
    pub scope: String,
    /// SHA-256 over method, URL and body of the request.
    #[serde(with = "hex_fingerprint")]
    pub request: Fingerprint,
    /// The last attempt that pinned it, or confirmed it.
    pub by: Token,
    /// When, by the ledger's clock.
    pub first_at: Timestamp,
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pin")
            .field("request", &self.request)
            .field("by", &self.by)
            .field("first_at", &self.first_at)
            .finish_non_exhaustive()
    }
}

mod hex_fingerprint {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use super::Fingerprint;

    pub(super) fn serialize<S: Serializer>(value: &Fingerprint, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Fingerprint, D::Error> {
        let text = String::deserialize(from)?;
        Fingerprint::from_hex(&text)
            .ok_or_else(|| D::Error::custom("a fingerprint has 64 hexadecimal digits"))
    }
}

/// A named effect inside a handler.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Step {
    /// What is the case with it.
    pub state: StepState,
    /// What is known about its effect.
    pub effect: Effect,
    /// The handler that entered it last can ask its destination, and does so before it repeats what may not be repeated.
    pub reconciles: bool,
    /// What `Done` left, for the attempts that come after.
    pub result: Option<Payload>,
}

/// What is the case with a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// An attempt entered it and nobody knows more.
    Started,
    /// Its effect certainly did not happen so far.
    NotApplied,
    /// Its effect happened.
    Done,
}
