//! What all parts of the server share.

use std::sync::Arc;
use std::time::SystemTime;

use ratchet::ledger::{Declared, HighWaterFile, Served, SharedLedger};
use ratchet::{Client, LedgerError, Namespace, RestoreGuard, Timestamp};
use tokio_util::sync::CancellationToken;

use super::declarations::Declarations;
use super::limits::Limits;
use super::metrics::Metrics;
use super::rate::Rates;
use super::shelf::Shelf;
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
        let shared = Shared {
            client,
            shelf,
            declared: Declarations::default(),
            leases,
            restored,
            rates: Rates::new(limits.rate),
            limits,
            metrics,
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

    /// What Rust programs declare about an operation, as it stood two seconds ago at the most.
    pub(crate) async fn declared(&self, of: &Served) -> Result<Option<Declared>, LedgerError> {
        self.0.declared.find(self.ledger(), of).await
    }

    pub(crate) fn leases(&self) -> &LeaseSecret {
        &self.0.leases
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Whether jobs may be handed out; not where a backup was restored and nobody has acknowledged it.
    pub(crate) fn may_hand_out(&self) -> bool {
        self.0.restored.is_open()
    }

    /// A job is handed out.
    pub(crate) fn handed_out(&self) {
        self.0.restored.worked();
    }

    pub(super) async fn look_at_store(&self) {
        self.0.restored.look().await;
    }

    pub(super) fn rates(&self) -> &Rates {
        &self.0.rates
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// Cancelled when the server is asked to stop: answers that go on for long end then.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.0.stopping
    }

    /// The clock of this machine, for what is no decision about a record.
    #[allow(clippy::unused_self, reason = "where time comes from is the application's to say")]
    pub(crate) fn now(&self) -> Timestamp {
        SystemTime::now().into()
    }
}
