//! How inputs become JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::model::{Payload, PayloadError};

/// A struct that is the one input of an operation; made by `#[derive(Input)]`.
///
/// The same action must give the same JSON each time, or it conflicts with itself: use a `BTreeSet` or a `Vec` and not a
/// `HashSet`, whose order differs from one set to the next (the names of a `HashMap` are sorted).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the input of an operation",
    label = "this type needs #[derive(ratchet::Input)]; or add a second plain parameter",
    note = "add #[derive(serde::Serialize, serde::Deserialize, ratchet::Input)] to the struct",
    note = "an operation takes one such struct, or two and more plain parameters"
)]
pub trait Input: Serialize + DeserializeOwned + Send + 'static {}

/// How the payload of an operation becomes JSON and comes back.
pub trait Codec<I> {
    /// Writes the payload.
    ///
    /// # Errors
    /// If it is no JSON, too large or too deep.
    fn encode(input: &I) -> Result<Payload, PayloadError>;

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
    fn encode(input: &I) -> Result<Payload, PayloadError> {
        Payload::encode(input, Payload::LARGEST_INPUT)
    }

    fn decode(payload: &Payload) -> Result<I, PayloadError> {
        payload.decode()
    }
}
