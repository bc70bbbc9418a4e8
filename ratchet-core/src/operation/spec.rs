//! What an attribute says about an operation.

use crate::contract::Contract;
use crate::model::{OperationName, Priority, Version};
use crate::operation::state::StateRequirement;
use crate::policy::Policy;

/// Everything that an attribute says about an operation.
#[derive(Debug)]
pub struct Spec {
    /// Its name.
    pub name: OperationName,
    /// The version of its code.
    pub version: Version,
    /// Its key template as written.
    pub template: &'static str,
    /// Why the template may differ from the one on record.
    pub new_identity: Option<&'static str>,
    /// What its destination promises.
    pub contract: Contract,
    /// How it is retried, bounded and kept.
    pub policy: Policy,
    /// How urgent its records are.
    pub priority: Priority,
    /// Which state its handler needs.
    pub states: &'static [StateRequirement],
}
