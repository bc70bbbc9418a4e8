//! What a layer was told, shared by all its requests.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{
    CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LOCATION, CONTENT_TYPE, ETAG, HeaderName, LAST_MODIFIED,
    LINK, LOCATION,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use ratchet_core::random::{SharedRandom, SystemRandom};
use ratchet_core::time::SharedClock;
use ratchet_core::{
    Contract, Executor, Namespace, OperationName, Policy, RestoreGuard, RetryPolicy, SharedLedger,
    SystemClock, WireSecrets, WorkerId,
};
use tokio::sync::watch;

/// Finds out whose request it is.
pub(super) type Principal = Arc<dyn Fn(&Parts) -> Option<String> + Send + Sync>;

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) ledger: SharedLedger,
    pub(super) principal: Principal,
    pub(super) clock: SharedClock,
    pub(super) random: SharedRandom,
    pub(super) namespace: Namespace,
    pub(super) operation: OperationName,
    pub(super) contract: Contract,
    pub(super) secrets: Arc<WireSecrets>,
    pub(super) restored: Arc<RestoreGuard>,
    pub(super) policy: Policy,
    pub(super) lease: Duration,
    pub(super) required: bool,
    pub(super) longest_key: usize,
    pub(super) largest_request: usize,
    pub(super) compared_headers: Vec<HeaderName>,
    pub(super) kept_headers: Vec<HeaderName>,
    pub(super) retry_after: Duration,
    pub(super) documentation: Option<String>,
    pub(super) under_way: UnderWay,
}

impl Settings {
    pub(super) fn new(ledger: SharedLedger, principal: Principal) -> Self {
        let restored = RestoreGuard::new(ledger.clone(), ledger.high_water_file(), INBOUND);
        Self {
            ledger,
            restored: Arc::new(restored),
            secrets: Arc::default(),
            principal,
            clock: SystemClock::shared(),
            random: SystemRandom::shared(),
            namespace: Namespace::from_static(INBOUND),
            operation: OperationName::from_static("http_request"),
            contract: Contract::NONE,
            policy: Policy { retry: RETRIES, retention: Duration::from_hours(24), ..Policy::DEFAULT },
            lease: Duration::from_secs(30),
            required: true,
            longest_key: 255,
            largest_request: 256 * 1024,
            compared_headers: vec![CONTENT_TYPE],
            kept_headers: vec![
                CONTENT_ENCODING,
                CONTENT_LANGUAGE,
                CONTENT_LOCATION,
                CONTENT_TYPE,
                ETAG,
                LAST_MODIFIED,
                LINK,
                LOCATION,
            ],
            retry_after: Duration::from_secs(1),
            documentation: None,
            under_way: UnderWay::default(),
        }
    }

    /// Safe methods have no effect that could happen twice.
    pub(super) fn concerns(method: &Method) -> bool {
        !method.is_safe() && *method != Method::CONNECT
    }

    /// PUT and DELETE can be repeated by their own meaning, so a key for them is taken and not asked for.
    pub(super) fn requires_key(&self, method: &Method) -> bool {
        self.required && !method.is_idempotent()
    }

    pub(super) fn executor(&self) -> Executor {
        let name = WorkerId::new(format!("inbound-{:016x}", self.random.bits()));
        Executor {
            name: name.unwrap_or(WorkerId::from_static(INBOUND)),
            lease: self.lease,
            clock: self.clock.clone(),
            contract: self.contract,
            policy: self.policy.clone(),
            secrets: Arc::clone(&self.secrets),
        }
    }

    /// Says for how long an answer is repeated, as an ISO 8601 duration.
    pub(super) fn advertise(&self, headers: &mut HeaderMap) {
        let seconds = self.policy.retention.as_secs();
        let text = match seconds {
            _ if seconds.is_multiple_of(3600) => format!("PT{}H", seconds / 3600),
            _ => format!("PT{seconds}S"),
        };
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(HeaderName::from_static("idempotency-key-lifetime"), value);
        }
    }
}

/// The namespace of the records, unless said otherwise, and who executes them.
const INBOUND: &str = "inbound";

/// Clients decide when they repeat a request, and how often.
const RETRIES: RetryPolicy = RetryPolicy {
    max_attempts: u32::MAX,
    first_delay: Duration::ZERO,
    growth_percent: 100,
    max_delay: Duration::ZERO,
    jitter_percent: 0,
    horizon: Duration::from_hours(100 * 365 * 24),
};

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("ledger", &self.ledger)
            .field("namespace", &self.namespace)
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}

/// How many requests are being executed.
#[derive(Clone, Default)]
pub(super) struct UnderWay(Arc<watch::Sender<usize>>);

/// One of them.
pub(super) struct OneUnderWay(UnderWay);

impl UnderWay {
    pub(super) fn enter(&self) -> OneUnderWay {
        self.0.send_modify(|count| *count += 1);
        OneUnderWay(self.clone())
    }

    pub(super) async fn finished(&self) {
        // The sender is ours, so it is not gone.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for OneUnderWay {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}
