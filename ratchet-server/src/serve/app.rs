//! What all parts of the server share.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ratchet::ledger::{Declared, HighWaterFile, Served, SharedLedger};
use ratchet::{Client, LedgerError, Namespace, RestoreGuard, Timestamp};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::declarations::Declarations;
use super::jobs::Jobs;
use super::limits::Limits;
use super::metrics::Metrics;
use super::problem::Problem;
use super::rate::Rates;
use super::shelf::Shelf;
use super::store_clock::StoreClock;
use super::waiting::Waiting;
use crate::error::Error;
use crate::operate::store::StoreAddress;
use crate::wire::LeaseSecret;

/// What all parts of the server share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

struct Shared {
    client: Client,
    shelf: Shelf,
    declared: Declarations,
    leases: LeaseSecret,
    restored: RestoreGuard,
    limits: Limits,
    rates: Rates,
    metrics: Metrics,
    jobs: Jobs,
    waiting: Waiting,
    clock: StoreClock,
    draining: CancellationToken,
    stopping: CancellationToken,
}

impl App {
    /// Opens the store, and makes it if there is none.
    pub(super) async fn open(
        store: &StoreAddress,
        mark: Option<HighWaterFile>,
        limits: Limits,
    ) -> Result<Self, Error> {
        let opened = store.create().await?;
        Self::on(Client::clone(&opened), mark, limits, Metrics::install()?).await
    }

    /// The same for a store that is open.
    pub(super) async fn on(
        client: Client,
        mark: Option<HighWaterFile>,
        limits: Limits,
        metrics: Metrics,
    ) -> Result<Self, Error> {
        let shelf = Shelf::new(client.ledger().clone());
        let leases = LeaseSecret::of_store(&shelf).await?;
        let mark = mark.or_else(|| client.ledger().high_water_file());
        let restored = RestoreGuard::new(client.ledger().clone(), mark, "ratchet serve");
        restored.look().await;
        // Claims that wait leave room for other requests.
        let waiting = Waiting::new(client.ledger().wakeups(), limits.requests / 2);
        let shared = Shared {
            client,
            shelf,
            declared: Declarations::default(),
            leases,
            restored,
            rates: Rates::new(limits.rate),
            limits,
            metrics,
            jobs: Jobs::default(),
            waiting,
            clock: StoreClock::default(),
            draining: CancellationToken::new(),
            stopping: CancellationToken::new(),
        };
        Ok(Self(Arc::new(shared)))
    }

    pub(crate) fn ledger(&self) -> &SharedLedger {
        self.0.client.ledger()
    }

    /// The client of one namespace.
    pub(crate) fn client(&self, namespace: &Namespace) -> Client {
        self.0.client.in_namespace(namespace.clone())
    }

    /// What the server keeps in the store beside records: keys, runs, policies, tools, workers.
    pub(crate) fn shelf(&self) -> &Shelf {
        &self.0.shelf
    }

    /// What Rust programs declare about an operation, as it stood two seconds ago at the most: about this version, or about
    /// the one that is the most careful.
    pub(crate) async fn declared(&self, of: &Served) -> Result<Option<Declared>, LedgerError> {
        self.0.declared.find(self.ledger(), of).await
    }

    pub(crate) fn leases(&self) -> &LeaseSecret {
        &self.0.leases
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// The jobs that workers have.
    pub(crate) fn jobs(&self) -> &Jobs {
        &self.0.jobs
    }

    /// The claims that wait for a job.
    pub(crate) fn waiting(&self) -> &Waiting {
        &self.0.waiting
    }

    /// Whether jobs may be handed out; not where a backup was restored and nobody has acknowledged it.
    pub(crate) async fn may_hand_out(&self) -> bool {
        self.0.restored.may_begin().await
    }

    /// The store failed, so it may be another one when it is back: it is looked at before anything more is handed out.
    pub(crate) fn doubts_store(&self) {
        self.0.restored.doubts();
    }

    /// A job is handed out, or goes on, so the mark has to cover it.
    pub(crate) fn worked(&self) {
        self.0.restored.worked();
    }

    pub(super) async fn look_at_store(&self) {
        self.0.restored.look().await;
    }

    /// Has the mark cover what was handed out last. It is not worth a long wait.
    pub(super) async fn look_at_store_once_more(&self) {
        const AT_MOST: Duration = Duration::from_secs(1);
        let _ = timeout(AT_MOST, self.0.restored.finish()).await;
    }

    /// Lets go of what is kept in memory and not needed any more.
    pub(super) fn tidy(&self) {
        self.0.metrics.tidy();
        self.0.jobs.tidy();
        self.0.shelf.tidy();
    }

    pub(super) fn rates(&self) -> &Rates {
        &self.0.rates
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// Nothing new begins from now on.
    pub(super) fn begin_to_stop(&self) {
        self.0.draining.cancel();
    }

    /// Whether nothing new begins any more.
    pub(super) fn is_draining(&self) -> bool {
        self.0.draining.is_cancelled()
    }

    /// # Errors
    /// If nothing new begins any more, since the server stops: the next one, or another, will take it.
    pub(crate) fn require_taking(&self) -> Result<(), Problem> {
        if self.is_draining() { Err(Problem::stopping()) } else { Ok(()) }
    }

    /// Cancelled when connections are closed: answers that go on for long end then.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.0.stopping
    }

    /// The clock that leases and windows go by.
    pub(crate) async fn store_now(&self) -> Result<Timestamp, LedgerError> {
        self.0.clock.now(self.ledger()).await
    }

    /// The clock of this machine, for what is no decision about a record.
    #[allow(clippy::unused_self, reason = "where time comes from is the application's to say")]
    pub(crate) fn now(&self) -> Timestamp {
        SystemTime::now().into()
    }
}
