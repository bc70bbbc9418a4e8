//! How much a destination is asked to take at once: limits and a circuit breaker, shared by all workers of a store.
//!
//! A ledger keeps one [`Gate`] per destination and has [`decide_all`] decide, as it has
//! [`decide`](crate::decide::decide) decide about records. Who is not admitted waits, and has spent no attempt.

use serde::{Deserialize, Serialize};
mod destination;
mod gate;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use destination::{BreakerPolicy, Destination, Limits, Rate};
pub use gate::{Breaker, Gate, GateAnswer, GateCommand, Health, OpenSend, Permit, Reopening, WaitReason};

use crate::model::DestinationName;
use crate::time::Timestamp;

/// A command for the gate of one destination.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GateOrder {
    /// Which destination, and what the one who asks holds it to.
    pub destination: Destination,
    /// What is asked or reported.
    pub command: GateCommand,
}

/// A destination and how its gate stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KnownGate {
    /// The destination.
    pub destination: DestinationName,
    /// Its gate after the last command.
    pub gate: Gate,
}

impl Gate {
    /// What a ledger has kept as JSON. One that cannot be read begins anew: limits that are forgotten for a moment do less
    /// harm than a destination that nothing is sent to any more.
    #[must_use]
    pub fn from_stored(destination: &DestinationName, json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_else(|error| {
            tracing::warn!(%destination, %error, "the stored gate of a destination cannot be read, and begins anew");
            Self::default()
        })
    }
}

impl KnownGate {
    /// What a ledger has kept; `None` if that is no name of a destination.
    #[must_use]
    pub fn from_stored(destination: String, json: &str) -> Option<Self> {
        let destination = DestinationName::new(destination).ok()?;
        Some(Self { gate: Gate::from_stored(&destination, json), destination })
    }
}

/// Carries out orders one after the other, each on what those before it left; for ledgers.
///
/// A destination that is not among the gates gets a new one.
pub fn decide_all<'a>(
    gates: &mut BTreeMap<DestinationName, Gate>,
    orders: impl IntoIterator<Item = &'a GateOrder>,
    now: Timestamp,
) -> Vec<GateAnswer> {
    let mut answers = Vec::new();
    for GateOrder { destination, command } in orders {
        let gate = gates.entry(destination.name().clone()).or_default();
        let (next, answer) = gate.decide(destination.limits(), command, now);
        *gate = next;
        answers.push(answer);
    }
    answers
}
