//! Inputs and results as canonical JSON (RFC 8785), and the fingerprint of an input.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::finite::Finite;

/// The largest integer that every JSON implementation reads back unchanged: 2^53 − 1.
const LARGEST_INTEGER: u64 = (1 << 53) - 1;

/// Deeper nesting than this is refused; `serde_json` reads back 127 levels.
const DEEPEST: usize = 64;

/// A JSON document in canonical form: sorted names, no white space, numbers as doubles print.
///
/// `Debug` shows the length only, since inputs and results never reach a log.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Payload(Arc<str>);

/// A value that cannot become a payload, or a payload that cannot become a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// An integer that JSON implementations round.
    #[error("an integer beyond ±(2^53−1) would be rounded by other readers of JSON: send it as a string")]
    IntegerTooLarge,
    /// A float that JSON cannot hold.
    #[error(
        "a float is NaN or infinite, which JSON cannot hold: use an `Option` for a value that may be missing"
    )]
    NotANumber,
    /// Nesting that a reader refuses.
    #[error(
        "the value is nested more than {DEEPEST} levels deep: flatten it, or store it elsewhere and pass its id"
    )]
    TooDeep,
    /// More bytes than a record holds.
    #[error("the value has {bytes} bytes of JSON, the limit is {limit}: store it elsewhere and pass its id")]
    TooLarge {
        /// How many it has.
        bytes: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// serde refused the value; the text names types and fields and leaves out values.
    #[error("the value cannot be written as JSON: its `Serialize` implementation failed")]
    NotJson,
    /// The stored JSON does not fit the type.
    #[error(
        "the stored JSON does not fit `{expected}` at line {line}, column {column}: was the type changed without a new version?"
    )]
    Mismatch {
        /// The type that was asked for.
        expected: &'static str,
        /// Where in the document.
        line: usize,
        /// Where in the line.
        column: usize,
    },
}

impl Payload {
    /// The most bytes an input may have.
    pub const LARGEST_INPUT: usize = 256 * 1024;
    /// The most bytes a result may have.
    pub const LARGEST_RESULT: usize = 64 * 1024;

    /// Writes `value` as canonical JSON of at most `limit` bytes.
    ///
    /// ```
    /// # use ratchet_core::{Payload, serde_json::json};
    /// let payload = Payload::encode(&json!({"b": 1.0, "a": "x"}), 100)?;
    /// assert_eq!(payload.as_str(), r#"{"a":"x","b":1}"#);
    /// # Ok::<(), ratchet_core::PayloadError>(())
    /// ```
    ///
    /// # Errors
    /// If the value is no JSON, too large, too deep, or has an integer beyond ±(2^53−1).
    pub fn encode<T: Serialize + ?Sized>(value: &T, limit: usize) -> Result<Self, PayloadError> {
        Self::from_value(&Self::value_of(value)?, limit)
    }

    /// The JSON of a value, before it is brought into canonical form.
    ///
    /// # Errors
    /// If it is no JSON; a NaN or an infinity is none.
    pub(crate) fn value_of<T: Serialize + ?Sized>(value: &T) -> Result<Value, PayloadError> {
        let refused = Cell::new(false);
        serde_json::to_value(Finite { value, refused: &refused })
            .map_err(|_| if refused.get() { PayloadError::NotANumber } else { PayloadError::NotJson })
    }

    /// The same for a document that is already at hand.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn from_value(value: &Value, limit: usize) -> Result<Self, PayloadError> {
        check(value, DEEPEST)?;
        let text = serde_json_canonicalizer::to_string(value).map_err(|_| PayloadError::NotJson)?;
        if text.len() > limit {
            return Err(PayloadError::TooLarge { bytes: text.len(), limit });
        }
        Ok(Self(text.into()))
    }

    /// Takes text that a ledger stored; it is not canonicalised again.
    #[must_use]
    pub fn from_stored(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Reads the document as a `T`.
    ///
    /// # Errors
    /// If the document does not fit the type; the error holds the place and no value.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, PayloadError> {
        serde_json::from_str(&self.0).map_err(|error| PayloadError::mismatch::<T>(&error))
    }

    /// The canonical text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// SHA-256 over the canonical text.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.0.as_bytes())
    }
}

impl PayloadError {
    pub(crate) fn mismatch<T>(error: &serde_json::Error) -> Self {
        Self::Mismatch { expected: std::any::type_name::<T>(), line: error.line(), column: error.column() }
    }
}

fn check(value: &Value, levels: usize) -> Result<(), PayloadError> {
    if levels == 0 {
        return Err(PayloadError::TooDeep);
    }
    match value {
        Value::Number(number) if is_rounded(number) => Err(PayloadError::IntegerTooLarge),
        Value::Array(items) => items.iter().try_for_each(|item| check(item, levels - 1)),
        Value::Object(fields) => fields.values().try_for_each(|field| check(field, levels - 1)),
        _ => Ok(()),
    }
}

fn is_rounded(number: &serde_json::Number) -> bool {
    let magnitude = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
    magnitude.is_some_and(|magnitude| magnitude > LARGEST_INTEGER)
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} bytes)", self.0.len())
    }
}

/// For those who write a ledger: the document as one text, which comes back byte for byte.
impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(Self::from_stored)
    }
}

/// SHA-256 that tells one payload or request from another without holding it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// SHA-256 of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// SHA-256 over several parts, each preceded by its length, so that no two lists of parts look alike.
    #[must_use]
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// Takes what [`as_bytes`](Self::as_bytes) gave.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads what `Display` wrote.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::from_hex(&text).ok_or_else(|| D::Error::custom("a fingerprint has 64 hexadecimal digits"))
    }
}

impl fmt::Display for Fingerprint {
    /// Sixty-four hexadecimal digits in lower case.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
