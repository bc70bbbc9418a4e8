//! What a store says about itself to the person who asks whether all is well.

use std::num::NonZeroU32;

use super::Served;
use crate::contract::Terms;
use crate::model::{Priority, Queue, VolatileFields};
use crate::policy::Policy;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// How a store is set up, and what time it is there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Inspection {
    /// The clock that leases go by.
    pub now: Timestamp,
    /// What matters for what the ledger promises.
    pub settings: Vec<Setting>,
}

/// One setting of a store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Setting {
    /// What the store calls it.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// What is wrong with the value, if anything is.
    pub problem: Option<Problem>,
}

/// What is wrong with a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Problem {
    /// Why it matters.
    pub why: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

impl Setting {
    /// A setting that only has to be known.
    #[must_use]
    pub fn sound(name: &'static str, value: impl Into<String>) -> Self {
        Self { name, value: value.into(), problem: None }
    }

    /// A setting with a problem, unless it is as it should be.
    #[must_use]
    pub fn checked(name: &'static str, value: impl Into<String>, is_sound: bool, problem: Problem) -> Self {
        Self { name, value: value.into(), problem: (!is_sound).then_some(problem) }
    }
}

/// What the last worker that started, or the last program that declared, said about an operation and version.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Declared {
    /// Operation and version.
    pub of: Served,
    /// How its records are retried, bounded and kept.
    pub policy: Policy,
    /// What its destination promises.
    pub contract: Terms,
    /// How urgent its records are.
    pub priority: Priority,
    /// In which queue they wait.
    pub queue: Queue,
    /// How many of its attempts run at once over all workers, versions and queues; `None` if there is no limit.
    pub concurrency: Option<NonZeroU32>,
    /// What of an input is no part of its fingerprint.
    pub volatile: VolatileFields,
}
