//! The secrets that wire keys are made with.

use std::fmt;

use crate::model::{NameError, SecretId};

/// A secret and its name. `Debug` shows the name alone.
#[derive(Clone)]
pub(crate) struct WireSecret {
    id: SecretId,
    bytes: Vec<u8>,
}

/// The secrets of a worker, the newest last.
#[derive(Debug, Clone, Default)]
pub(crate) struct WireSecrets(Vec<WireSecret>);

/// Why a secret is refused; it shows nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SecretError {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("the secret `{0}` has fewer than 32 bytes: take 32 random ones")]
    Short(SecretId),
    #[error("there are two secrets `{0}`: give the new one a name of its own")]
    Twice(SecretId),
}

/// The fewest bytes of a secret: with fewer, keys could be guessed.
const SHORTEST: usize = 32;

impl WireSecret {
    pub(crate) fn id(&self) -> &SecretId {
        &self.id
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl WireSecrets {
    pub(crate) fn new(secrets: Vec<(String, Vec<u8>)>) -> Result<Self, SecretError> {
        let mut all = Self::default();
        for (id, bytes) in secrets {
            let id = SecretId::new(id)?;
            if bytes.len() < SHORTEST {
                return Err(SecretError::Short(id));
            }
            if all.of(&id).is_some() {
                return Err(SecretError::Twice(id));
            }
            all.0.push(WireSecret { id, bytes });
        }
        Ok(all)
    }

    /// One that everybody knows, for unit tests that call a handler directly.
    pub(crate) fn of_unit_tests() -> Self {
        let id = SecretId::from_static("unit-test");
        Self(vec![WireSecret { id, bytes: b"the secret of every unit test...".to_vec() }])
    }

    pub(crate) fn newest(&self) -> Option<&WireSecret> {
        self.0.last()
    }

    pub(crate) fn of(&self, id: &SecretId) -> Option<&WireSecret> {
        self.0.iter().find(|secret| secret.id == *id)
    }
}

impl fmt::Debug for WireSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WireSecret({})", self.id)
    }
}
