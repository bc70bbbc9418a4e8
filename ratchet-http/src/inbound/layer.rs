//! The layer, and what can be said about it.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderName, Method};
use ratchet_core::random::SharedRandom;
use ratchet_core::time::SharedClock;
use ratchet_core::{
    Contract, HighWaterFile, KeyError, Namespace, OnUnknown, OperationName, RecordId, RestoreGuard,
    SharedLedger, WireSecrets,
};
use tower_layer::Layer;

use super::identity::Scope;
use super::service::IdempotencyService;
use super::settings::Settings;

/// Enforces `Idempotency-Key` for what stands behind it; the [module](super) says how.
///
/// POST and PATCH need a key, PUT and DELETE may have one, and every other method passes. Put it outside of routes that
/// are nested, since the path is part of what a key stands for and nesting cuts it; put authentication, rate limits and
/// whatever else refuses before anything happens outside of the layer, and what belongs to the handler inside.
#[derive(Debug, Clone)]
pub struct IdempotencyLayer {
    settings: Arc<Settings>,
}

impl IdempotencyLayer {
    /// A layer that keeps what it knows in `ledger`.
    ///
    /// `principal` says whose request it is, in a form that lasts as long as the keys do: an account, and not a token that
    /// is renewed. Two principals may use one key without learning of each other. A request whose principal is `None` is
    /// refused with 403; a service that serves everybody alike gives a constant.
    #[must_use]
    pub fn new(
        ledger: SharedLedger,
        principal: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self { settings: Arc::new(Settings::new(ledger, Arc::new(principal))) }
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }

    /// Who keeps the effects of the handlers single, so that a request whose outcome is unknown may be executed again:
    /// [`Contract::DATABASE`] where all of them are inside `once`, the contract of a destination where the handler sends
    /// there under its [`Context`](ratchet_core::Context). By default nobody does.
    #[must_use]
    pub fn destination(self, contract: Contract) -> Self {
        self.with(|settings| settings.contract = contract)
    }

    /// The secrets to make keys with for destinations of the handlers, none of which takes the identity of a record of this
    /// layer as it is. As [`WorkerBuilder::wire_secret`](ratchet_core::WorkerBuilder::wire_secret) has them, and the same for
    /// all servers; without one, a handler that asks such a destination fails before it sends.
    ///
    /// ```
    /// # use ratchet_core::{SecretError, WireSecrets};
    /// # use ratchet_http::inbound::IdempotencyLayer;
    /// # fn secret(_: &str) -> Vec<u8> { vec![7; 32] }
    /// fn with_secret(layer: IdempotencyLayer) -> Result<IdempotencyLayer, SecretError> {
    ///     Ok(layer.wire_secrets(WireSecrets::new([("2026", secret("WIRE_2026"))])?))
    /// }
    /// ```
    #[must_use]
    pub fn wire_secrets(self, secrets: WireSecrets) -> Self {
        self.with(|settings| settings.secrets = Arc::new(secrets))
    }

    /// Keeps the store's high-water mark in this file, so that a restored backup is recognised: nothing is executed then
    /// (503 `store-restored`) before somebody has acknowledged it.
    ///
    /// As [`WorkerBuilder::high_water_file`](ratchet_core::WorkerBuilder::high_water_file): a store in a file has one beside
    /// it, and a store on a server has none unless it is named here. Servers and workers of one machine may share it.
    #[must_use]
    pub fn high_water_file(self, path: impl Into<std::path::PathBuf>) -> Self {
        self.with(|settings| {
            let file = Some(HighWaterFile::new(path));
            let name = settings.namespace.to_string();
            settings.restored = Arc::new(RestoreGuard::new(settings.ledger.clone(), file, name));
        })
    }

    /// What becomes of a request whose outcome is unknown where nobody keeps its effects single. By default it is not
    /// executed again; with [`OnUnknown::MayDuplicate`] it is, when it is repeated.
    #[must_use]
    pub fn on_unknown(self, on_unknown: OnUnknown) -> Self {
        self.with(|settings| settings.policy.on_unknown = on_unknown)
    }

    /// POST and PATCH without a key pass, unprotected. By default they are refused.
    #[must_use]
    pub fn optional(self) -> Self {
        self.with(|settings| settings.required = false)
    }

    /// For how long an answer is repeated, counted from its end: 24 hours by default. After that, whenever the ledger is
    /// purged, a tombstone takes its place; it never leads to another execution.
    #[must_use]
    pub fn retention(self, span: Duration) -> Self {
        self.with(|settings| settings.policy.retention = span)
    }

    /// For how long an execution is owned without being renewed, 30 seconds by default and 15 minutes at the most. It is
    /// renewed three times as often, so this is how long a repetition is told to wait after a crash.
    #[must_use]
    pub fn lease(self, span: Duration) -> Self {
        self.with(|settings| settings.lease = span)
    }

    /// How long a handler may run, a minute by default. One that runs longer is stopped, and its outcome is unknown.
    #[must_use]
    pub fn timeout(self, span: Duration) -> Self {
        self.with(|settings| settings.policy.timeout = span)
    }

    /// The most bytes of a request, 256 KiB by default. A longer one is refused with 413, since it cannot be compared.
    #[must_use]
    pub fn largest_request(self, bytes: usize) -> Self {
        self.with(|settings| settings.largest_request = bytes)
    }

    /// The most characters of a key, 255 by default.
    #[must_use]
    pub fn longest_key(self, characters: usize) -> Self {
        self.with(|settings| settings.longest_key = characters)
    }

    /// Compares this header too, with which the same body is another request: that of an API's version, for instance.
    /// Method, path, query, body and `Content-Type` always are. What was sent before a program compared other headers is not
    /// compared with what comes after: it is repeated.
    #[must_use]
    pub fn compare_header(self, name: HeaderName) -> Self {
        self.with(|settings| {
            if !settings.compared_headers.contains(&name) {
                settings.compared_headers.push(name);
                // In whatever order a program names them.
                settings.compared_headers.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
            }
        })
    }

    /// Repeats this header of answers too. By default those are repeated that describe the content or say where it is
    /// (`Content-Type`, `Location`, `ETag`, `Link` and their kin). `Set-Cookie`, `Date` and what belongs to one connection
    /// never are.
    #[must_use]
    pub fn keep_header(self, name: HeaderName) -> Self {
        self.with(|settings| {
            if !settings.kept_headers.contains(&name) {
                settings.kept_headers.push(name);
            }
        })
    }

    /// What `Retry-After` says while a request is being executed, in whole seconds; 1 by default.
    #[must_use]
    pub fn retry_after(self, span: Duration) -> Self {
        self.with(|settings| settings.retry_after = span)
    }

    /// The address of the page that describes your keys. Problem documents link to it.
    #[must_use]
    pub fn documentation(self, address: impl Into<String>) -> Self {
        self.with(|settings| settings.documentation = Some(address.into()))
    }

    /// The namespace of the records, `inbound` by default.
    #[must_use]
    pub fn namespace(self, namespace: Namespace) -> Self {
        self.with(|settings| settings.namespace = namespace)
    }

    /// The operation of the records, `http_request` by default; for operators, who see it in lists. Two services that
    /// share a store and a namespace need two names.
    #[must_use]
    pub fn operation(self, operation: OperationName) -> Self {
        self.with(|settings| settings.operation = operation)
    }

    /// Another clock, for tests.
    #[must_use]
    pub fn clock(self, clock: SharedClock) -> Self {
        self.with(|settings| settings.clock = clock)
    }

    /// Another source of the names under which executions own their records, for tests.
    #[must_use]
    pub fn random(self, random: SharedRandom) -> Self {
        self.with(|settings| settings.random = random)
    }

    /// Waits until no request is being executed: after a server has stopped, and before its runtime does. A server waits
    /// for its connections, and what a client has left behind has none.
    pub async fn finished(&self) {
        self.settings.under_way.finished().await;
        // The mark covers what was executed last; it is not worth a long wait.
        let _ = tokio::time::timeout(self.settings.lease, self.settings.restored.finish()).await;
    }

    /// The record of a key, for those who look it up or settle it.
    ///
    /// # Errors
    /// None that a caller could bring about.
    pub fn record_id(
        &self,
        principal: &str,
        method: &Method,
        path: &str,
        key: &str,
    ) -> Result<RecordId, KeyError> {
        Scope { principal, method, path }.record_id(&self.settings, key)
    }
}

impl<S> Layer<S> for IdempotencyLayer {
    type Service = IdempotencyService<S>;

    fn layer(&self, inner: S) -> IdempotencyService<S> {
        IdempotencyService::new(inner, Arc::clone(&self.settings))
    }
}
