//! Lease tokens as workers of other languages show them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use ratchet::{DocumentKind, LedgerError, Namespace, Token};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::error::Error;
use crate::serve::shelf::{Kept, Shelf};

/// Makes the tokens of leases such that nobody can name a lease that was not granted to them.
///
/// A record's own token is a small number. The text has it, and a MAC over it, the record and the worker.
pub(crate) struct LeaseSecret(Hmac<Sha256>);

/// The secret in the store, so that all servers of a store take each other's tokens.
#[derive(Serialize, Deserialize)]
struct StoredSecret {
    bits: String,
}

impl Kept for StoredSecret {
    const KIND: DocumentKind = DocumentKind::from_static("lease_secret");
}

const NAME: &str = "1";

/// What a lease token belongs to.
pub(super) struct Leased<'a> {
    pub(super) namespace: &'a Namespace,
    pub(super) place: i64,
    pub(super) worker: &'a str,
}

impl LeaseSecret {
    /// The secret of the store; the first server makes it.
    pub(crate) async fn of_store(shelf: &Shelf) -> Result<Self, Error> {
        let namespace = Namespace::DEFAULT;
        let mut bits = [0; 32];
        getrandom::fill(&mut bits)?;
        let new = StoredSecret { bits: URL_SAFE_NO_PAD.encode(bits) };
        shelf.create(&namespace, NAME, &new).await?;
        let stored: Option<StoredSecret> = shelf.read(&namespace, NAME).await?;
        let bits = stored.and_then(|stored| URL_SAFE_NO_PAD.decode(stored.bits).ok());
        let damaged =
            || LedgerError::Damaged { what: "the secret of lease tokens cannot be read".to_owned() };
        Ok(Self::new(&bits.ok_or_else(damaged)?))
    }

    fn new(bits: &[u8]) -> Self {
        // HMAC takes keys of all lengths.
        Self(
            Hmac::new_from_slice(bits)
                .unwrap_or_else(|_| Hmac::new(&hmac::digest::Key::<Hmac<Sha256>>::default())),
        )
    }

    /// The text that stands for the lease `token`.
    pub(super) fn text(&self, leased: &Leased<'_>, token: Token) -> String {
        let mac = self.mac(leased, token).finalize().into_bytes();
        format!("{token}.{}", URL_SAFE_NO_PAD.encode(mac))
    }

    /// The token of a text that was granted to this worker for this record.
    pub(super) fn token(&self, leased: &Leased<'_>, text: &str) -> Option<Token> {
        let (number, mac) = text.split_once('.')?;
        let token = Token::new(number.parse().ok()?);
        let mac = URL_SAFE_NO_PAD.decode(mac).ok()?;
        self.mac(leased, token).verify_slice(&mac).ok()?;
        Some(token)
    }

    fn mac(&self, leased: &Leased<'_>, token: Token) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        let (place, token) = (leased.place.to_be_bytes(), token.get().to_be_bytes());
        let parts: [&[u8]; 4] =
            [leased.namespace.as_str().as_bytes(), &place, &token, leased.worker.as_bytes()];
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_own_record_worker_and_namespace_alone() {
        let secret = LeaseSecret::new(&[7; 32]);
        let shop = Namespace::from_static("shop");
        let leased = |place, worker| Leased { namespace: &shop, place, worker };
        let text = secret.text(&leased(5, "w1"), Token::new(3));
        assert_eq!(secret.token(&leased(5, "w1"), &text), Some(Token::new(3)));
        assert_eq!(secret.token(&leased(6, "w1"), &text), None);
        assert_eq!(secret.token(&leased(5, "w2"), &text), None);
        let other = Leased { namespace: &Namespace::DEFAULT, place: 5, worker: "w1" };
        assert_eq!(secret.token(&other, &text), None);
        assert_eq!(secret.token(&leased(5, "w1"), &text.replace("3.", "4.")), None);
        assert_eq!(LeaseSecret::new(&[8; 32]).token(&leased(5, "w1"), &text), None);
        for wrong in ["", "3", "3.", ".x", "x.y"] {
            assert_eq!(secret.token(&leased(5, "w1"), wrong), None, "{wrong}");
        }
    }
}
