//! The form of an identity that a destination receives; `spec/wire-keys.md` says it for every language.

mod secrets;

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::contract::{Contract, ScopePart, Shape};
use crate::model::{Namespace, Recipe, RecordId, RequestFingerprint, Scope, SecretId, StepName};
pub(crate) use secrets::WireSecret;
pub use secrets::{SecretError, WireSecrets};

/// What a destination receives, and how it was made.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct WireKey {
    pub(crate) text: String,
    pub(crate) recipe: Recipe,
    pub(crate) secret: Option<SecretId>,
}

/// There is no secret to make a key with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoSecret;

/// An identity and what it is sent with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity<'a> {
    pub(crate) id: &'a RecordId,
    pub(crate) step: Option<&'a StepName>,
    /// Both as one text.
    pub(crate) text: &'a str,
    pub(crate) scope: &'a Scope,
    pub(crate) request: &'a RequestFingerprint,
}

/// Whether an operation in this namespace may need a secret to make the keys that its destination takes.
pub(crate) fn needs_secret(contract: &Contract, namespace: &Namespace) -> bool {
    let as_it_is = *namespace == Namespace::DEFAULT && contract.key_format().accepts_every_key();
    contract.mechanism().carries_key() && !as_it_is
}

/// The key of an identity in the form that a destination takes: as it is where that is allowed, and a UUID otherwise.
pub(crate) fn make(
    of: Identity<'_>,
    contract: &Contract,
    secret: Option<&WireSecret>,
) -> Result<WireKey, NoSecret> {
    let format = contract.key_format();
    let as_it_is = of.id.namespace == Namespace::DEFAULT && format.accepts(of.text);
    if as_it_is || !contract.mechanism().carries_key() {
        return Ok(WireKey { text: of.text.to_owned(), recipe: Recipe::VERBATIM, secret: None });
    }
    let secret = secret.ok_or(NoSecret)?;
    let version = if format.shape() == Shape::UuidV4 { 4 } else { 8 };
    let text = uuid(&parts(of, contract), secret, version);
    Ok(WireKey { text, recipe: Recipe::KEYED, secret: Some(secret.id().clone()) })
}

/// What the UUID is made of: the identity, and what the destination does not keep apart by itself.
fn parts(of: Identity<'_>, contract: &Contract) -> [String; 9] {
    let forgotten = |part, value: Option<&str>| match value {
        Some(value) if contract.forgets(part) => value.to_owned(),
        _ => String::new(),
    };
    let route = of.scope.route.clone().unwrap_or_else(|| of.request.route());
    [
        "ratchet wire key 2".to_owned(),
        of.id.namespace.to_string(),
        of.id.operation.to_string(),
        of.id.key.to_string(),
        of.id.generation.to_string(),
        of.step.map(ToString::to_string).unwrap_or_default(),
        forgotten(ScopePart::Account, of.scope.account.as_deref()),
        forgotten(ScopePart::Region, of.scope.region.as_deref()),
        forgotten(ScopePart::Route, Some(&route)),
    ]
}

/// HMAC-SHA-256 over the parts, each preceded by its length, so that no two lists of parts look alike.
fn uuid(parts: &[String], secret: &WireSecret, version: u8) -> String {
    // HMAC takes keys of every length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.bytes()) else { return String::new() };
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part.as_bytes());
    }
    let digest = mac.finalize().into_bytes();
    let mut text = String::with_capacity(36);
    for (at, byte) in digest.iter().take(16).enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let byte = match at {
            6 => (byte & 0x0f) | (version << 4),
            8 => (byte & 0x3f) | 0x80,
            _ => *byte,
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests;
