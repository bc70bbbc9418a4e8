//! What generated code names. No part of the public interface: it changes without notice.

pub use ::core::marker::Sized;
pub use ::core::option::Option::{self, Some};
pub use ::core::primitive::{bool, str};
pub use ::core::result::Result;

pub use ratchet_key::{Key, KeyError, PartWriter};

pub use crate::client::{Client, Enqueue};
pub use crate::context::Context;
pub use crate::contract::Contract;
pub use crate::failure::Failure;
pub use crate::key_part::{Form, KeyPart};
pub use crate::operation::{
    ByName, Call, Declared, Derived, Field, Handler, Inner, Input, Mark, Operation, OutputOf, Parameters,
    Render, Request, Running, Schemas, Spec, Texts, Unmarked, attempts, checked_retention, checked_tradeoff,
    checked_window, described, field, lasting, part, require_apart, schema_of, schema_of_parameters,
};
pub use crate::policy::{OnUnknown, Policy, RetryPolicy};
pub use crate::reconcile::{Asking, Inquiry, Reconciles};
pub use crate::registry::Registry;

use serde_json::Value;

use crate::model::{Payload, PayloadError};
use crate::operation::{Codec, State, StateRequirement};

/// The types that `Context` parameters may have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is named `Context` and is not `ratchet::Context`",
    label = "a parameter whose type is called `Context` receives the context of the attempt",
    note = "import `ratchet::Context`, or rename the other type"
)]
pub trait IsContext {
    /// Takes it from the call.
    fn of(call: &Call) -> Self;
}

impl IsContext for Context {
    fn of(call: &Call) -> Self {
        call.context()
    }
}

/// The types that `State` parameters may have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is named `State` and is not `ratchet::State`",
    label = "a parameter whose type is called `State` receives the worker's state",
    note = "import `ratchet::State`, or rename the other type"
)]
pub trait IsState: Sized {
    /// What a worker must have.
    const REQUIREMENT: StateRequirement;

    /// Takes it from the call.
    fn of(call: &Call) -> Self;
}

impl<T: Clone + Send + Sync + 'static> IsState for State<T> {
    const REQUIREMENT: StateRequirement = StateRequirement::of::<T>();

    fn of(call: &Call) -> Self {
        call.state()
    }
}

/// A reference.
pub type Lent<'a, T> = &'a T;

/// The context of the attempt.
#[must_use]
pub fn context<T: IsContext>(call: &Call) -> T {
    T::of(call)
}

/// How a handler gets its state: one function for both uses, so that a wrong type is one error.
#[must_use]
pub const fn state<T: IsState>() -> (StateRequirement, fn(&Call) -> T) {
    (T::REQUIREMENT, T::of)
}

/// Fails to compile where `T` cannot be part of a key.
pub const fn assert_key_part<T: KeyPart>() {}

/// Stands in for a value that a broken attribute leaves open; the compiler has reported it.
///
/// # Panics
/// Always; it is never called.
#[must_use]
pub fn missing<T>() -> T {
    unreachable!("the attribute of this operation does not compile")
}

/// The codec of an operation whose signature does not compile; it is never used.
#[derive(Debug)]
pub struct Missing;

impl<I> Codec<I> for Missing {
    const MARKS: &'static [Mark] = &[];
    const KEYS: &'static [&'static str] = &[];

    fn encode(_: &I) -> Result<Value, PayloadError> {
        missing()
    }

    fn decode(_: &Payload) -> Result<I, PayloadError> {
        missing()
    }
}

/// A context for a unit test that calls a handler directly.
///
/// # Panics
/// If the input has no key, which is what such a test would find out.
#[must_use]
pub fn test_context<O: Operation>(key: Result<Key, KeyError>) -> Context {
    match key.and_then(|key| Context::of_unit_test((O::SPEC)(), key)) {
        Ok(context) => context,
        Err(error) => panic!("this input has no key: {error}"),
    }
}

/// A registry whose clashes were refused while compiling.
///
/// # Panics
/// If two operations clash: the macro checks it before.
#[must_use]
pub fn registry(handlers: &[Handler]) -> Registry {
    match Registry::new(handlers.iter().copied()) {
        Ok(registry) => registry,
        Err(error) => panic!("{error}"),
    }
}
