//! The identity of one intended action, the same for every attempt.

use std::fmt;

use ratchet_key::Key;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::name::{Namespace, OperationName};

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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId {
    /// The world that the record lives in.
    pub namespace: Namespace,
    /// The operation's name.
    pub operation: OperationName,
    /// The rendered key template.
    pub key: Key,
    /// Which action under this key.
    pub generation: Generation,
}

impl RecordId {
    /// The same key and the generation that follows.
    #[must_use]
    pub fn next_generation(&self) -> Self {
        Self {
            generation: self.generation.next(),
            ..self.clone()
        }
    }

    /// A short digest for logs, spans and metrics, which never hold the key itself.
    #[must_use]
    pub fn digest(&self) -> KeyDigest {
        let mut hash = Sha256::new();
        for part in [
            self.namespace.as_str(),
            self.operation.as_str(),
            self.key.as_str(),
        ] {
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
