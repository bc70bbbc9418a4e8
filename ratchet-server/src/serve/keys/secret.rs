//! The secret half of a key.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ratchet::Fingerprint;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

/// What keys begin with, so that people and scanners recognise one that leaked.
const PREFIX: &str = "ratchet_";

/// A new key: an id, which is no secret, and 256 random bits.
pub(crate) struct Secret {
    pub(crate) id: String,
    bits: String,
}

impl Secret {
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let (mut id, mut bits) = ([0; 8], [0; 32]);
        getrandom::fill(&mut id)?;
        getrandom::fill(&mut bits)?;
        Ok(Self { id: format!("{:016x}", u64::from_be_bytes(id)), bits: URL_SAFE_NO_PAD.encode(bits) })
    }

    /// What the caller shows.
    pub(crate) fn shown(&self) -> String {
        format!("{PREFIX}{}_{}", self.id, self.bits)
    }

    pub(crate) fn hash(&self) -> SecretHash {
        SecretHash::of(&self.bits)
    }
}

/// What a caller has shown.
pub(crate) struct Presented<'a> {
    pub(crate) id: &'a str,
    bits: &'a str,
}

impl<'a> Presented<'a> {
    /// Nothing that has not the form of a key costs a look into the store.
    pub(crate) fn parse(key: &'a str) -> Option<Self> {
        let (id, bits) = key.strip_prefix(PREFIX)?.split_once('_')?;
        let is_id = id.len() == 16 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (is_id && bits.len() == 43).then_some(Self { id, bits })
    }

    /// Whether it is the secret behind this hash, in the same time for each wrong one.
    pub(crate) fn fits(&self, hash: &SecretHash) -> bool {
        let shown = SecretHash::of(self.bits);
        shown.0.as_bytes().ct_eq(hash.0.as_bytes()).into()
    }
}

/// SHA-256 of a secret. Nothing slower is needed, since 256 random bits cannot be guessed however fast the guesses are,
/// and this one is computed for each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct SecretHash(Fingerprint);

impl SecretHash {
    fn of(bits: &str) -> Self {
        Self(Fingerprint::of(bits.as_bytes()))
    }
}

impl From<SecretHash> for String {
    fn from(hash: SecretHash) -> Self {
        hash.0.to_string()
    }
}

impl TryFrom<String> for SecretHash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Fingerprint::from_hex(&text).map(Self).ok_or("not a hash")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_fits_its_own_hash_and_no_other() {
        let (one, other) = (Secret::new().unwrap(), Secret::new().unwrap());
        let shown = one.shown();
        let presented = Presented::parse(&shown).unwrap();
        assert_eq!(presented.id, one.id);
        assert!(presented.fits(&one.hash()));
        assert!(!presented.fits(&other.hash()));
        let cut = &shown[..shown.len() - 1];
        for wrong in [cut, "", "ratchet_", "sk_live_1", &shown.replace(&one.id, "0")] {
            assert!(Presented::parse(wrong).is_none(), "{wrong}");
        }
        assert_eq!(shown.len(), "ratchet_".len() + 16 + 1 + 43);
    }
}
