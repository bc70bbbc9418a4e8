//! How inputs become JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Mark, Redacted};
use crate::model::{Payload, PayloadError};

/// A struct that is the one input of an operation; made by `#[derive(Input)]`.
///
/// The same action must give the same JSON each time, or it conflicts with itself: use a `BTreeSet` or a `Vec` and not a
/// `HashSet`, whose order differs from one set to the next (the names of a `HashMap` are sorted).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the input of an operation",
    label = "this type needs #[derive(ratchet::Input)]; or add a second plain parameter",
    note = "add #[derive(serde::Serialize, serde::Deserialize, ratchet::Input)] to the struct",
    note = "an operation takes one such struct, or two or more plain parameters"
)]
pub trait Input: Serialize + DeserializeOwned + Send + 'static {
    /// Which of its fields are personal, and which are left out of the fingerprint.
    const MARKS: &'static [Mark] = &[];
    /// Which of its fields are marked `#[key]`.
    const KEYS: &'static [&'static str] = &[];
    /// Which of its fields JSON has under another name, or in another form than that of their type.
    const REWRITTEN: &'static [&'static str] = &[];
    /// Those of them that JSON has under another name alone, with that name.
    const RENAMED: &'static [(&'static str, &'static str)] = &[];

    /// The input for logs and people: fields marked `#[pii]` show as `[redacted]`, at every level.
    ///
    /// It prints as JSON and serializes; nothing is copied before that. What the input's own `Debug` prints is not
    /// changed.
    fn redacted(&self) -> Redacted<'_, Self> {
        Redacted::new(self)
    }
}

/// How the payload of an operation becomes JSON and comes back.
pub trait Codec<I> {
    /// Which parts of it are personal, and which are left out of the fingerprint.
    const MARKS: &'static [Mark];
    /// Which of its fields the key template must name.
    const KEYS: &'static [&'static str];
    /// Which of its fields are not in the JSON as templates and types have them.
    const REWRITTEN: &'static [&'static str] = &[];
    /// Those of them that JSON has under another name alone, with that name.
    const RENAMED: &'static [(&'static str, &'static str)] = &[];

    /// Writes the payload.
    ///
    /// # Errors
    /// If it is no JSON.
    fn encode(input: &I) -> Result<Value, PayloadError>;

    /// Reads the payload.
    ///
    /// # Errors
    /// If it does not fit the type.
    fn decode(payload: &Payload) -> Result<I, PayloadError>;
}

/// The codec of inputs that are one struct.
#[derive(Debug)]
pub struct Derived;

impl<I: Input> Codec<I> for Derived {
    const MARKS: &'static [Mark] = I::MARKS;
    const KEYS: &'static [&'static str] = I::KEYS;
    const REWRITTEN: &'static [&'static str] = I::REWRITTEN;
    const RENAMED: &'static [(&'static str, &'static str)] = I::RENAMED;

    fn encode(input: &I) -> Result<Value, PayloadError> {
        Payload::value_of(input)
    }

    fn decode(payload: &Payload) -> Result<I, PayloadError> {
        payload.decode()
    }
}
