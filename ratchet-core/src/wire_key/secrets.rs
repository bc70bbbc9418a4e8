//! The secrets that wire keys are made with.

use std::fmt;

use crate::model::{NameError, SecretId};

/// A secret and its name. `Debug` shows the name alone.
#[derive(Clone)]
pub(crate) struct WireSecret {
    id: SecretId,
    bytes: Vec<u8>,
}

/// The secrets that keys are made with for destinations that do not take the identity as it is, the newest last.
///
/// ```
/// use ratchet_core::WireSecrets;
///
/// let secrets = WireSecrets::new([("2025", vec![7; 32]), ("2026", vec![8; 32])])?;
/// assert!(WireSecrets::new([("2026", vec![8; 5])]).is_err());
/// # Ok::<(), ratchet_core::SecretError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct WireSecrets(Vec<WireSecret>);

/// Why a secret is refused; it shows nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// Its name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// It can be guessed.
    #[error("the secret `{0}` has fewer than 32 bytes: take 32 random ones")]
    Short(SecretId),
    /// Another one has its name.
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
    /// These secrets by their names; each has 32 bytes at least, of a random source.
    ///
    /// # Errors
    /// If a name is refused or stands twice, or a secret is too short.
    pub fn new<N: Into<String>, B: Into<Vec<u8>>>(
        secrets: impl IntoIterator<Item = (N, B)>,
    ) -> Result<Self, SecretError> {
        let mut all = Self::default();
        for (id, bytes) in secrets {
            let (id, bytes) = (SecretId::new(id)?, bytes.into());
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
