//! What an annotated function declares, and how it is called.

mod checked;
mod declared;
mod handler;
mod input;
mod marks;
mod overlap;
mod parameters;
mod redacted;
mod render;
mod request;
mod schema;
mod spec;
mod state;
mod text;

pub use checked::{checked_retention, checked_tradeoff, checked_window};
pub use declared::{Clash, Declared, Hashed, first_clash, require_apart};
pub use handler::{Call, Handler};
pub use input::{Codec, Derived, Input};
pub use marks::{Inner, Mark, Unmarked};
pub use parameters::{ByName, Field, Fields, Parameter, Parameters, field};
pub use redacted::Redacted;
pub use render::{Kind, Part, Render, part};
pub use request::{EnqueueError, Enqueued, NotAccepted, Request, answered};
pub use schema::{
    Described, DescribedParameter, Generator, Schemas, described, schema_of, schema_of_parameters,
};
pub use spec::{Spec, attempts, lasting};
pub use state::{State, StateRequirement, States};

use std::future::Future;

use ratchet_key::{Key, KeyError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::reconcile::{Asking, Found, Inquiry};

/// What `#[operation]` makes of a function: everything about it that is generic, in one place.
///
/// Implemented by the macro, for the type of the same name as the function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operation",
    label = "expected a function with #[ratchet::operation(…)]"
)]
pub trait Operation: Send + Sync + Sized + 'static {
    /// The payload: the one input value, or the parameters as a tuple.
    type Input: Send + 'static;
    /// What the function returns.
    type Return: Returns;
    /// How the payload becomes JSON.
    type Codec: Codec<Self::Input>;

    /// Name, version and key template.
    const TEXTS: Texts;
    /// Whether the template may differ from that of another version.
    const NEW_IDENTITY: bool = false;
    /// Whether a field that is marked `#[pii]` may stand in the key.
    const PERSONAL_KEY: bool = false;
    /// How its input and output are described, if the attribute says `schema`.
    const SCHEMAS: Option<fn() -> Schemas> = None;
    /// Everything that the attribute says. A function, so that what is wrong with it is said once, at the attribute.
    const SPEC: fn() -> &'static Spec;
    /// What is compared with other operations while compiling.
    const DECLARED: Declared = Declared::of(Self::TEXTS, Self::NEW_IDENTITY);
    /// The operation without its types.
    const HANDLER: Handler = Handler::of::<Self>();

    /// Renders the key of an input.
    ///
    /// # Errors
    /// If a value cannot be part of a key, or the key is too long.
    fn render(input: &Self::Input) -> Result<Key, KeyError>;

    /// Calls the function.
    fn call(call: Call, input: Self::Input) -> impl Running<Self>;

    /// Asks the destination what happened; called only where the attribute says `reconcile`.
    fn reconcile(about: Inquiry, input: Self::Input) -> Asking<Self> {
        let _ = (about, input);
        Box::pin(std::future::ready(Ok(Found::StillUnknown)))
    }
}

/// Name, version and key template of an operation.
pub type Texts = [&'static str; 3];

/// An attempt of `O` that is under way.
pub trait Running<O: Operation>: Future<Output = O::Return> + Send {}

impl<O: Operation, F: Future<Output = O::Return> + Send> Running<O> for F {}

/// The key that an operation gives to an input.
///
/// # Errors
/// If a value cannot be part of a key, or the key is too long.
pub fn key_of<O: Operation>(input: &O::Input) -> Result<Key, KeyError> {
    O::render(input)
}

/// The return types of handlers: `Result<T, Failure>` for every `T` that serde can write and read.
#[diagnostic::on_unimplemented(
    message = "an operation returns `Result<T, ratchet::Failure>`, not `{Self}`",
    label = "expected `Result<T, ratchet::Failure>` with a `T` that implements `Serialize` and `Deserialize`",
    note = "every `std::error::Error` converts through `?`; for `anyhow::Error` or `Box<dyn Error>` use `.map_err(Failure::unknown)?`"
)]
pub trait Returns: Send + 'static {
    /// What a successful attempt leaves.
    type Output: Serialize + DeserializeOwned + Send + 'static;

    /// The value as the `Result` that it is.
    ///
    /// # Errors
    /// The failure of the attempt.
    fn into_result(self) -> Result<Self::Output, Failure>;
}

// What such a `T` lacks is no error of its own.
#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + 'static> Returns for Result<T, Failure> {
    type Output = T;

    fn into_result(self) -> Result<T, Failure> {
        self
    }
}

/// What a successful attempt of `O` leaves.
pub type OutputOf<O> = <<O as Operation>::Return as Returns>::Output;
