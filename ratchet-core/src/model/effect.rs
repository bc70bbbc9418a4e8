//! What is known about one effect, and what its destination was sent.

use serde::{Deserialize, Serialize};

use super::payload::Payload;
use super::pin::Pin;
use crate::contract::Terms;
use crate::time::Timestamp;

/// What is known about one effect: of a step, or of the handler outside its steps.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Effect {
    /// What its destination promises.
    pub contract: Terms,
    /// Some attempt may have had its effect. Only `Done`, a closing reconcile or a refusal after a look-up clears it.
    pub may_be_applied: bool,
    /// When an attempt that could have this effect first started.
    pub first_started_at: Option<Timestamp>,
    /// What the destination was, or will be, sent.
    pub pin: Option<Box<Pin>>,
}

impl Effect {
    /// An effect that nobody started.
    #[must_use]
    pub const fn new(contract: Terms) -> Self {
        Self { contract, may_be_applied: false, first_started_at: None, pin: None }
    }

    /// The earliest point at which the destination may have seen its identity.
    #[must_use]
    pub fn first_sent_at(&self) -> Option<Timestamp> {
        self.pin.as_ref().map(|pin| pin.first_at).or(self.first_started_at)
    }
}

/// A named effect inside a handler.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
