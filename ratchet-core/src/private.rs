//! What generated code names. No part of the public interface: it changes without notice.

pub use ::core;
pub use ratchet_key::{Key, KeyError, KeyWriter};

pub use crate::client::{Client, Enqueue};
pub use crate::context::Context;
pub use crate::contract::Contract;
pub use crate::key_part::KeyPart;
pub use crate::model::{OperationName, Payload, PayloadError, Priority, Version};
pub use crate::operation::{
    Call, Codec, Declared, Derived, Handler, Input, Object, Operation, Part, Request, Returns, Spec, State,
    StateRequirement, encode_field, part, require_distinguishing, require_registry,
};
pub use crate::policy::{OnUnknown, Policy, RetryPolicy};
pub use crate::registry::Registry;

/// The types that `Context` parameters may have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is named `Context` and is not `ratchet::Context`",
    label = "a parameter whose type is called `Context` receives the context of the attempt",
    note = "import `ratchet::Context`, or rename the other type"
)]
pub trait IsContext {}

impl IsContext for Context {}

/// The types that `State` parameters may have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is named `State` and is not `ratchet::State`",
    label = "a parameter whose type is called `State` receives the worker's state",
    note = "import `ratchet::State`, or rename the other type"
)]
pub trait IsState {}

impl<T: Clone + Send + Sync + 'static> IsState for State<T> {}

/// Fails to compile where `T` only looks like the context.
pub const fn assert_context<T: IsContext>() {}

/// Fails to compile where `T` only looks like state.
pub const fn assert_state<T: IsState>() {}

/// Fails to compile where `T` cannot be part of a key.
pub const fn assert_key_part<T: KeyPart>() {}

/// A context for a unit test that calls a handler directly.
///
/// # Panics
/// If the input has no key, which is what such a test would find out.
#[must_use]
pub fn test_context<O: Operation>(input: &O::Input) -> Context {
    match Context::of_unit_test::<O>(input) {
        Ok(context) => context,
        Err(error) => panic!("this input has no key: {error}"),
    }
}

/// A registry whose clashes were refused while compiling.
///
/// # Panics
/// If two operations clash: the macro checks it before.
#[must_use]
pub fn registry<const N: usize>(handlers: [Handler; N]) -> Registry {
    match Registry::new(handlers) {
        Ok(registry) => registry,
        Err(error) => panic!("{error}"),
    }
}
