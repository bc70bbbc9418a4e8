//! The identity of one intended action, the same for every attempt.

use std::fmt;

use ratchet_key::{Key, KeyError, MAX_KEY_BYTES};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::name::{Namespace, OperationName, StepName};

/// Which legitimate action under one key this is; the first one is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(u32);

impl Generation {
    /// The first action under a key.
    pub const FIRST: Self = Self(1);

    /// The generation of this number; `None` for zero.
    #[must_use]
    pub const fn new(number: u32) -> Option<Self> {
        if number == 0 { None } else { Some(Self(number)) }
    }

    /// The number, from 1.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The one that follows.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What names one record: (namespace, operation, key, generation). The version is not part of it: deploying a new
/// version must not collect an invoice again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RecordId {
    /// The world that the record lives in.
    pub namespace: Namespace,
    /// The operation's name.
    pub operation: OperationName,
    /// The rendered key template.
    #[serde(with = "key_text")]
    pub key: Key,
    /// Which action under this key.
    pub generation: Generation,
}

impl fmt::Display for RecordId {
    /// For logs: the operation, a digest of the whole identity, and the generation if it is not the first. Never the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.operation, self.digest())?;
        if self.generation == Generation::FIRST { Ok(()) } else { write!(f, "#{}", self.generation) }
    }
}

impl RecordId {
    /// The same key and the generation that follows.
    #[must_use]
    pub fn next_generation(&self) -> Self {
        Self { generation: self.generation.next(), ..self.clone() }
    }

    /// A short digest for logs, spans and metrics, which never hold the key itself.
    #[must_use]
    pub fn digest(&self) -> KeyDigest {
        let mut hash = Sha256::new();
        for part in [self.namespace.as_str(), self.operation.as_str(), self.key.as_str()] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        hash.update(self.generation.get().to_be_bytes());
        let mut short = [0; 8];
        short.copy_from_slice(&hash.finalize()[..8]);
        KeyDigest(u64::from_be_bytes(short))
    }
}

/// The first 64 bits of SHA-256 over a record's identity: tells records apart in logs without showing the key.
///
/// It is not a secret: who knows a key can compute it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyDigest(u64);

impl fmt::Display for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl RecordId {
    /// The identity as one text: the key, `#` and the generation if it is not the first, `!` and the step if there is
    /// one, `@` and the namespace if it is not the default one. No two identities of one operation give one text,
    /// since none of the marks can stand in a key.
    ///
    /// # Errors
    /// If it is longer than [`ratchet_key::MAX_KEY_BYTES`].
    pub fn as_text(&self, step: Option<&StepName>) -> Result<String, KeyError> {
        let marked = self.key.with_marks(self.generation.get(), step.map(StepName::as_str))?;
        let mut text = marked.as_str().to_owned();
        if self.namespace != Namespace::DEFAULT {
            text.push('@');
            text.push_str(self.namespace.as_str());
        }
        if text.len() > MAX_KEY_BYTES {
            return Err(KeyError::TooLong { bytes: text.len(), limit: MAX_KEY_BYTES });
        }
        Ok(text)
    }
}

/// A key as its text, which is read with the rules of its grammar.
mod key_text {
    use ratchet_key::Key;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(key: &Key, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(key.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Key, D::Error> {
        Key::parse(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_shows_what_differs_from_the_usual() {
        let mut id = RecordId {
            namespace: Namespace::DEFAULT,
            operation: OperationName::from_static("collect_invoice"),
            key: Key::parse("invoice:inv_2048:collect:v1").unwrap(),
            generation: Generation::FIRST,
        };
        assert_eq!(id.as_text(None).unwrap(), "invoice:inv_2048:collect:v1");
        assert_eq!(id.to_string(), format!("collect_invoice/{}", id.digest()));
        id.generation = id.generation.next();
        id.namespace = Namespace::from_static("staging");
        let step = StepName::from_static("charge");
        assert_eq!(id.as_text(Some(&step)).unwrap(), "invoice:inv_2048:collect:v1#2!charge@staging");
    }

    #[test]
    fn the_marks_count_towards_the_limit() {
        let id = RecordId {
            namespace: Namespace::from_static("staging"),
            operation: OperationName::from_static("collect_invoice"),
            key: Key::parse(&"x".repeat(250)).unwrap(),
            generation: Generation::FIRST,
        };
        assert_eq!(id.as_text(None), Err(KeyError::TooLong { bytes: 258, limit: 255 }));
    }
}
