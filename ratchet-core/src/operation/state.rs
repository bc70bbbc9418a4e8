//! State that a worker hands to its handlers.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;

/// Asks the worker for its state of type `T`: a client, a pool, a configuration.
///
/// ```
/// # use ratchet_core::operation::State;
/// # struct Client; impl Client { fn send(&self) {} }
/// async fn handler(State(client): State<std::sync::Arc<Client>>) {
///     client.send();
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State<T>(pub T);

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A type of state that a handler needs; checked when a worker is built.
#[derive(Clone, Copy)]
pub struct StateRequirement {
    id: fn() -> TypeId,
    name: fn() -> &'static str,
}

impl StateRequirement {
    /// The requirement of a state of type `T`.
    #[must_use]
    pub const fn of<T: Clone + Send + Sync + 'static>() -> Self {
        Self { id: TypeId::of::<T>, name: type_name::<T> }
    }

    /// The type's name, for people.
    #[must_use]
    pub fn name(&self) -> &'static str {
        (self.name)()
    }
}

impl fmt::Debug for StateRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The state of a worker, one value per type.
#[derive(Default)]
pub struct States {
    values: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
}

impl States {
    /// Adds a value; a second one of its type replaces it.
    pub fn insert<T: Clone + Send + Sync + 'static>(&mut self, value: T) {
        self.values.insert(TypeId::of::<T>(), Box::new(value));
    }

    /// The value of a type.
    #[must_use]
    pub fn get<T: Clone + Send + Sync + 'static>(&self) -> Option<T> {
        self.values.get(&TypeId::of::<T>())?.downcast_ref::<T>().cloned()
    }

    /// Whether a requirement is met.
    #[must_use]
    pub fn meets(&self, requirement: &StateRequirement) -> bool {
        self.values.contains_key(&(requirement.id)())
    }
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "States({})", self.values.len())
    }
}
