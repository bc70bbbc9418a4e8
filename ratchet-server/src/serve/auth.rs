//! Who calls, and what that key allows.

use std::collections::BTreeSet;
use std::time::Instant;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use ratchet::{Namespace, OperationName};

use super::App;
pub(crate) use super::keys::Scope;
use super::keys::{KEPT_IN, Presented, StoredKey};
use super::problem::Problem;

/// What a key allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    /// Who acts, for audit trails; what a producer enqueued belongs to all keys of its name.
    pub(crate) name: String,
    /// The world that the key belongs to; it sees no other.
    pub(crate) namespace: Namespace,
    scopes: BTreeSet<Scope>,
    operations: BTreeSet<OperationName>,
}

impl Grant {
    /// Whether the key is for this.
    pub(crate) fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// # Errors
    /// If the key is for none of these.
    pub(crate) fn require(&self, scopes: &[Scope]) -> Result<(), Problem> {
        if scopes.iter().any(|scope| self.has(*scope)) {
            return Ok(());
        }
        let wanted: Vec<String> = scopes.iter().map(ToString::to_string).collect();
        Err(Problem::forbidden(format!("this needs a key with the scope {}", wanted.join(" or "))))
    }

    /// # Errors
    /// If the key is restricted to other operations.
    pub(crate) fn require_operation(&self, operation: &OperationName) -> Result<(), Problem> {
        if self.allows(operation) {
            return Ok(());
        }
        Err(Problem::forbidden("this key is restricted to other operations"))
    }

    /// Whether the key is good for an operation.
    pub(crate) fn allows(&self, operation: &OperationName) -> bool {
        self.operations.is_empty() || self.operations.contains(operation)
    }
}

/// Finds out what a key allows.
///
/// # Errors
/// 401 if there is no such key, or it is expired or revoked: which of these is not told. 429 if it asks too often.
pub(crate) async fn authenticate(app: &App, key: &str) -> Result<Grant, Problem> {
    let presented = Presented::parse(key).ok_or_else(unknown_key)?;
    let stored = app.shelf().recent::<StoredKey>(&KEPT_IN, presented.id).await?.ok_or_else(unknown_key)?;
    if !presented.fits(&stored.hash) || !stored.is_good(app.now()) {
        return Err(unknown_key());
    }
    app.rates().take(presented.id, Instant::now()).map_err(|seconds| {
        let text = "this key has made as many requests as it may in a second";
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "QUOTA_EXCEEDED", text).retry_after(seconds.get())
    })?;
    let StoredKey { name, namespace, scopes, operations, .. } = stored;
    Ok(Grant { name, namespace, scopes, operations })
}

fn unknown_key() -> Problem {
    let text = "send a good API key as `Authorization: Bearer KEY`; `ratchet keys create` makes one";
    Problem::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", text)
}

async fn of_request(parts: &Parts, app: &App, scopes: &[Scope]) -> Result<Grant, Problem> {
    let header = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let (scheme, key) = header.and_then(|value| value.split_once(' ')).ok_or_else(unknown_key)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(unknown_key());
    }
    let grant = authenticate(app, key.trim()).await?;
    grant.require(scopes)?;
    Ok(grant)
}

/// What a handler asks for whom a kind of key may call; the body is not read for others.
macro_rules! caller {
    ($(#[$doc:meta])* $name:ident: $($scope:ident),+) => {
        $(#[$doc])*
        pub(crate) struct $name(pub(crate) Grant);

        impl FromRequestParts<App> for $name {
            type Rejection = Problem;

            async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
                of_request(parts, app, &[$(Scope::$scope),+]).await.map(Self)
            }
        }
    };
}

caller!(
    /// A caller that enqueues.
    Producer: Producer
);
caller!(
    /// A caller that executes.
    Worker: Worker
);
caller!(
    /// A caller that decides about records and policies.
    Operator: Operator
);
caller!(
    /// A caller that may look at records, and stop them; a producer at its own.
    Reader: Producer, Operator
);
