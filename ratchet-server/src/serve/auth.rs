//! Who calls, and what that key allows.

use std::collections::BTreeSet;
use std::time::Instant;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use ratchet::{LedgerError, Namespace, OperationName};

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
    /// Which key it is; no secret.
    id: String,
    scopes: BTreeSet<Scope>,
    operations: BTreeSet<OperationName>,
}

impl Grant {
    fn of(id: &str, key: StoredKey) -> Self {
        let StoredKey { name, namespace, scopes, operations, .. } = key;
        Self { id: id.to_owned(), name, namespace, scopes, operations }
    }

    /// The grant of an operator's key, without a store.
    #[cfg(test)]
    pub(crate) fn of_operator() -> Self {
        Self {
            id: "test".to_owned(),
            name: "ops".to_owned(),
            namespace: Namespace::DEFAULT,
            scopes: BTreeSet::from([Scope::Operator]),
            operations: BTreeSet::new(),
        }
    }

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

    /// Whether the key is restricted to no operations.
    pub(crate) fn is_for_all_operations(&self) -> bool {
        self.operations.is_empty()
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
    let grant = identify(app, key).await?;
    app.rates().take(&grant.id, Instant::now()).map_err(|seconds| {
        let text = "this key has made as many requests as it may in a second";
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "QUOTA_EXCEEDED", text).retry_after(seconds.get())
    })?;
    Ok(grant)
}

/// The same, however often it asks.
async fn identify(app: &App, key: &str) -> Result<Grant, Problem> {
    let presented = Presented::parse(key).ok_or_else(unknown_key)?;
    let stored = app.shelf().recent::<StoredKey>(&KEPT_IN, presented.id).await?.ok_or_else(unknown_key)?;
    if !presented.fits(&stored.hash) || !stored.is_good(app.now()) {
        return Err(unknown_key());
    }
    Ok(Grant::of(presented.id, stored))
}

/// What the key of a grant allows now; `None` if it is revoked or expired since.
///
/// # Errors
/// If the store fails.
pub(crate) async fn renewed(app: &App, grant: &Grant) -> Result<Option<Grant>, LedgerError> {
    let stored = app.shelf().recent::<StoredKey>(&KEPT_IN, &grant.id).await?;
    Ok(stored.filter(|key| key.is_good(app.now())).map(|key| Grant::of(&grant.id, key)))
}

/// Which of many reasons it is, is not told.
pub(crate) fn unknown_key() -> Problem {
    let text = "send a good API key as `Authorization: Bearer KEY`; `ratchet keys create` makes one";
    Problem::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", text)
}

fn key_of(parts: &Parts) -> Result<&str, Problem> {
    let header = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let (scheme, key) = header.and_then(|value| value.split_once(' ')).ok_or_else(unknown_key)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(unknown_key());
    }
    Ok(key.trim())
}

async fn of_request(parts: &Parts, app: &App, scopes: &[Scope]) -> Result<Grant, Problem> {
    let grant = authenticate(app, key_of(parts)?).await?;
    grant.require(scopes)?;
    Ok(grant)
}

/// A caller that says how a job stands or has ended. No rate holds it: a report that is refused is a known outcome lost, and
/// the effect would be tried again.
pub(crate) struct Executing(pub(crate) Grant);

impl FromRequestParts<App> for Executing {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let grant = identify(app, key_of(parts)?).await?;
        grant.require(&[Scope::Worker])?;
        Ok(Self(grant))
    }
}

/// A caller that reads the metrics of the server, and sees nothing else.
pub(crate) struct Monitor;

impl FromRequestParts<App> for Monitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        of_request(parts, app, &[Scope::Monitor]).await.map(|_| Self)
    }
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
