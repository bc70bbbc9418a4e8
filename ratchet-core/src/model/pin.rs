//! What a destination was, or will be, sent: written down before the first send.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::body_fields::BodyFields;
use super::name::SecretId;
use super::payload::Fingerprint;
use super::record::Token;
use crate::time::Timestamp;

/// The form of the identity that went to the destination, written down before the first send.
///
/// `Debug` leaves wire key and kept request out: they are made of business data, and debug output ends up in logs.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pin {
    /// The key in the form that the destination accepts.
    pub wire_key: String,
    /// By which recipe it was made of the identity.
    pub recipe: Recipe,
    /// With which secret, where the recipe takes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretId>,
    /// Where in the request the key stands, such as `header idempotency-key`.
    pub place: String,
    /// Within what the destination compares keys, as far as the client knows.
    pub scope: Scope,
    /// What the request looked like.
    pub request: RequestFingerprint,
    /// The request itself, where its author wants the very same one to be sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptRequest>,
    /// The last attempt that pinned it, or confirmed it.
    pub by: Token,
    /// When, by the ledger's clock.
    pub first_at: Timestamp,
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pin")
            .field("recipe", &self.recipe)
            .field("request", &self.request)
            .field("by", &self.by)
            .field("first_at", &self.first_at)
            .finish_non_exhaustive()
    }
}

/// How a wire key is made of an identity; see `spec/wire-keys.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recipe(pub u16);

impl Recipe {
    /// The identity as it is.
    pub const VERBATIM: Self = Self(1);
    /// A UUID, made of the identity with a secret.
    pub const KEYED: Self = Self(2);
}

/// Within what a destination compares keys, as far as the client knows. A change of any part is a change of identity.
///
/// A text converts to the scope of that destination:
///
/// ```
/// use ratchet_core::Scope;
///
/// let scope = Scope::of("https://api.bank.example").account("acct_7");
/// assert_eq!(Scope::from("https://api.bank.example").account("acct_7"), scope);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Scope {
    /// The destination, such as the origin of its URL.
    pub destination: String,
    /// The account, or the name of the credential where keys are compared within one. Never the credential itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The route, where it is something else than the method and the URL of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
}

impl Scope {
    /// A destination as a whole.
    #[must_use]
    pub fn of(destination: impl Into<String>) -> Self {
        Self { destination: destination.into(), account: None, region: None, route: None }
    }

    /// One account of it, or one credential by its name.
    #[must_use]
    pub fn account(mut self, account: impl Into<String>) -> Self {
        self.account = Some(account.into());
        self
    }

    /// One region of it.
    #[must_use]
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// One route of it, for clients whose requests have no method and URL.
    #[must_use]
    pub fn route(mut self, route: impl Into<String>) -> Self {
        self.route = Some(route.into());
        self
    }
}

impl From<&str> for Scope {
    fn from(destination: &str) -> Self {
        Self::of(destination)
    }
}

/// What a request looks like, without what it says: tells another request under the same key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RequestFingerprint {
    /// The method.
    pub method: String,
    /// SHA-256 of the URL.
    pub url: Fingerprint,
    /// SHA-256 of the body.
    pub body: Fingerprint,
    /// What names the field of a body that differs.
    #[serde(default, skip_serializing_if = "BodyFields::is_empty")]
    pub fields: BodyFields,
}

impl RequestFingerprint {
    /// That of a request with this method, URL and body, each without what carries the identity.
    #[must_use]
    pub fn new(method: &str, url: &str, body: &[u8]) -> Self {
        Self {
            method: method.to_owned(),
            url: Fingerprint::of(url.as_bytes()),
            body: Fingerprint::of(body),
            fields: BodyFields::of(body),
        }
    }

    /// Method and URL as one text, which shows neither.
    pub(crate) fn route(&self) -> String {
        format!("{} {}", self.method, self.url)
    }
}

/// For clients without methods and URLs: everything is in the body.
impl From<Fingerprint> for RequestFingerprint {
    fn from(body: Fingerprint) -> Self {
        Self { method: String::new(), url: Fingerprint::of(b""), body, fields: BodyFields::default() }
    }
}

/// A request that is sent again byte for byte, whatever a later attempt would send. Headers are not kept, since they
/// carry credentials; but the type of the body is.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeptRequest {
    /// The method.
    pub method: String,
    /// The URL.
    pub url: String,
    /// The type of the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The body.
    pub body: String,
}

impl KeptRequest {
    /// The most bytes that a request to be kept may have, all parts together.
    pub const LARGEST: usize = 64 * 1024;

    /// What it looks like.
    #[must_use]
    pub fn fingerprint(&self) -> RequestFingerprint {
        RequestFingerprint::new(&self.method, &self.url, self.body.as_bytes())
    }

    /// How many bytes all its parts have.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let content_type = self.content_type.as_ref().map_or(0, String::len);
        self.method.len() + self.url.len() + content_type + self.body.len()
    }
}

impl fmt::Debug for KeptRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeptRequest({} bytes)", self.bytes())
    }
}
