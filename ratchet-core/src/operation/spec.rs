//! What an attribute says about an operation.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::contract::Contract;
use crate::model::{OperationName, Priority, Queue, Version};
use crate::operation::checked::{
    require_amounts_as_numbers, require_distinguishing, require_indistinct, require_marks,
};
use crate::operation::state::StateRequirement;
use crate::operation::{Kind, Operation};

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
    /// What the types of its placeholders say, in order.
    pub parts: &'static [Kind],
    /// Why the template may differ from the one on record.
    pub new_identity: Option<&'static str>,
    /// What its destination promises.
    pub contract: Contract,
    /// How it is retried, bounded and kept.
    pub policy: Policy,
    /// Where its records wait for a worker.
    pub queue: Queue,
    /// How many of its attempts run at once over all workers, versions and queues; `None` if there is no limit.
    pub concurrency: Option<NonZeroU32>,
    /// How urgent its records are.
    pub priority: Priority,
    /// Which state its handler needs.
    pub states: &'static [StateRequirement],
}

impl Spec {
    /// What an attribute says that has only the required arguments. `parts` tells what the type of each placeholder
    /// says.
    ///
    /// # Panics
    /// If no placeholder tells records apart (R006), an amount is a text (R008), or the template contradicts the marks of the
    /// input (R004, R007, R015).
    #[must_use]
    pub const fn of<O: Operation>(parts: &'static [Kind]) -> Self {
        require_distinguishing(parts);
        require_amounts_as_numbers(O::TEXTS[2], parts);
        require_marks::<O>();
        Self::plain::<O>().parts(parts)
    }

    /// The same for a key that may be the same for everyone.
    ///
    /// # Panics
    /// As [`of`](Self::of), and if a placeholder tells records apart, so that there is nothing to allow.
    #[must_use]
    pub const fn of_indistinct<O: Operation>(parts: &'static [Kind]) -> Self {
        require_indistinct(parts);
        require_marks::<O>();
        Self::plain::<O>().parts(parts)
    }

    /// The same for an attribute that is wrong, which the macro has reported.
    #[must_use]
    pub const fn plain<O: Operation>() -> Self {
        let [name, version, template] = O::TEXTS;
        Self {
            name: OperationName::from_macro(name),
            version: Version::from_macro(version),
            template,
            parts: &[],
            new_identity: None,
            contract: Contract::NONE,
            policy: Policy::DEFAULT,
            queue: Queue::DEFAULT,
            concurrency: None,
            priority: Priority(0),
            states: &[],
        }
    }

    const fn parts(mut self, parts: &'static [Kind]) -> Self {
        self.parts = parts;
        self
    }

    /// Another destination than an unknown one.
    #[must_use]
    pub const fn to(mut self, contract: Contract) -> Self {
        self.contract = contract;
        self
    }

    /// Another policy than the usual one.
    #[must_use]
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Another queue than `default`.
    #[must_use]
    pub const fn queue(mut self, name: &'static str) -> Self {
        std::mem::forget(std::mem::replace(&mut self.queue, Queue::from_macro(name)));
        self
    }

    /// At most so many attempts at once.
    #[must_use]
    pub const fn concurrency(mut self, attempts: NonZeroU32) -> Self {
        self.concurrency = Some(attempts);
        self
    }

    /// Another priority than 0.
    #[must_use]
    pub const fn priority(mut self, priority: i16) -> Self {
        self.priority = Priority(priority);
        self
    }

    /// The template may differ from the one on record.
    #[must_use]
    pub const fn new_identity(mut self, reason: &'static str) -> Self {
        self.new_identity = Some(reason);
        self
    }

    /// The handler asks for state.
    #[must_use]
    pub const fn states(mut self, states: &'static [StateRequirement]) -> Self {
        self.states = states;
        self
    }
}

/// A duration in which something can happen.
///
/// # Panics
/// If it is zero; the compiler evaluates it.
#[must_use]
pub const fn lasting(span: Duration) -> Duration {
    assert!(
        !span.is_zero(),
        "R015: this duration is zero; `timeout`, `retention` and `replay_within` are longer than nothing"
    );
    span
}

/// A number of attempts that can run at once.
///
/// # Panics
/// If it is zero; the compiler evaluates it.
#[must_use]
pub const fn attempts(number: u32) -> NonZeroU32 {
    match NonZeroU32::new(number) {
        Some(number) => number,
        None => panic!("R015: a `concurrency` of 0 would let nothing run; it is 1 or more"),
    }
}
