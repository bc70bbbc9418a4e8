//! How inputs become JSON, and how their fields become parts of a key.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use ratchet_key::{KeyError, KeyWriter};

use crate::key_part::KeyPart;
use crate::model::{Payload, PayloadError};

/// A struct that is the one input of an operation; made by `#[derive(Input)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the input of an operation",
    label = "this type needs #[derive(ratchet::Input)]",
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

/// The parameters of an operation by name, on their way to or from JSON.
#[derive(Debug)]
pub struct Object(Map<String, Value>);

/// Writes one parameter.
///
/// # Errors
/// If it is no JSON.
pub fn encode_field<T: Serialize>(value: &T) -> Result<Value, PayloadError> {
    serde_json::to_value(value).map_err(|_| PayloadError::NotJson)
}

impl Object {
    /// Writes all parameters as one payload.
    ///
    /// # Errors
    /// If a parameter is no JSON, or the whole is too large or too deep.
    pub fn encode<const N: usize>(
        names: [&'static str; N],
        values: [Result<Value, PayloadError>; N],
    ) -> Result<Payload, PayloadError> {
        let mut fields = Map::new();
        for (name, value) in names.into_iter().zip(values) {
            fields.insert(name.to_owned(), value?);
        }
        Payload::from_value(&Value::Object(fields), Payload::LARGEST_INPUT)
    }

    /// Reads a payload as parameters.
    ///
    /// # Errors
    /// If it is no object.
    pub fn decode(payload: &Payload) -> Result<Self, PayloadError> {
        payload.decode().map(Self)
    }

    /// Takes one parameter; a missing one reads as `null`, which fits an `Option`.
    ///
    /// # Errors
    /// If it does not fit the type.
    pub fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, PayloadError> {
        let value = self.0.remove(name).unwrap_or(Value::Null);
        serde_json::from_value(value).map_err(|error| PayloadError::mismatch::<T>(&error))
    }
}

/// One placeholder of a key: which field of the input it names.
#[derive(Debug)]
pub struct Part<I, T> {
    get: fn(&I) -> &T,
}

/// The placeholder that stands for what `get` gives.
#[must_use]
pub const fn part<I, T: KeyPart>(get: fn(&I) -> &T) -> Part<I, T> {
    Part { get }
}

impl<I, T: KeyPart> Part<I, T> {
    /// Whether its values can tell records apart.
    #[must_use]
    pub const fn distinguishes(&self) -> bool {
        T::DISTINGUISHES
    }

    /// Writes its value.
    ///
    /// # Errors
    /// If the value cannot be part of a key.
    pub fn write(&self, input: &I, key: &mut KeyWriter) -> Result<(), KeyError> {
        (self.get)(input).write(key.part())
    }
}
