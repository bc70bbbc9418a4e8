//! Executes operations: the drive that polls a ledger.

mod attempt;
mod called;
mod heartbeat;
mod poll;
mod reconcile;
mod report;
mod restored;
mod slots;

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::decide::LONGEST_LEASE;
use crate::high_water::HighWaterFile;
use crate::ledger::{LedgerError, Offer, SharedLedger, declare};
use crate::model::{NameError, Namespace, Queue, WorkerId};
use crate::operation::{Handler, States};
use crate::random::{SharedRandom, SystemRandom};
use crate::registry::Registry;
use crate::restore_guard::RestoreGuard;
use crate::time::{SharedClock, SystemClock};
use crate::wire_key::{WireSecrets, needs_secret};
pub use called::Attempted;
use heartbeat::Leases;
use slots::Slots;

/// Sets up a [`Worker`].
#[must_use = "a builder does nothing until it is built"]
pub struct WorkerBuilder {
    ledger: SharedLedger,
    namespace: Namespace,
    registry: Registry,
    queues: Option<Result<BTreeSet<Queue>, NameError>>,
    states: States,
    secrets: Vec<(String, Vec<u8>)>,
    concurrency: usize,
    lease: Duration,
    poll_interval: Duration,
    grace: Duration,
    high_water: Option<HighWaterFile>,
    clock: SharedClock,
    random: SharedRandom,
}

/// Why a worker cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// There is nothing to execute.
    #[error("the registry is empty: name the operations in `ratchet::registry![…]`")]
    NothingToServe,
    /// A handler asks for state that the worker does not have.
    #[error("`{operation}` needs a state of type `{state}`: add it with `.state(…)`")]
    MissingState {
        /// The operation.
        operation: String,
        /// The type.
        state: &'static str,
    },
    /// This cannot be the name of a queue.
    #[error(transparent)]
    Queue(#[from] NameError),
    /// A destination does not take every identity as it is, and there is no secret to make its keys with.
    #[error(
        "the destination of `{operation}` does not take every key as it is, or the worker serves a namespace of its own: \
         give it a secret to make keys with, `.wire_secret(\"2026\", secret)`, of 32 random bytes"
    )]
    MissingSecret {
        /// The operation.
        operation: String,
    },
    /// A secret is refused.
    #[error("{why}")]
    Secret {
        /// Why, without anything of it.
        why: String,
    },
    /// A number makes no sense.
    #[error("{what} must be {allowed}")]
    Setting {
        /// Which.
        what: &'static str,
        /// What is allowed.
        allowed: &'static str,
    },
}

impl fmt::Debug for WorkerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerBuilder")
            .field("namespace", &self.namespace)
            .field("registry", &self.registry)
            .finish_non_exhaustive()
    }
}

impl WorkerBuilder {
    pub(crate) fn new(ledger: SharedLedger, namespace: Namespace, registry: Registry) -> Self {
        Self {
            ledger,
            namespace,
            registry,
            queues: None,
            states: States::default(),
            secrets: Vec::new(),
            concurrency: 16,
            lease: Duration::from_secs(30),
            poll_interval: Duration::from_millis(500),
            grace: Duration::from_secs(15),
            high_water: None,
            clock: SystemClock::shared(),
            random: SystemRandom::shared(),
        }
    }

    /// Hands a value to the handlers that ask for `State<T>`.
    pub fn state<T: Clone + Send + Sync + 'static>(mut self, value: T) -> Self {
        self.states.insert(value);
        self
    }

    /// Serves exactly these queues, with all operations of the registry. Unless said otherwise, each operation is served
    /// from the queue that it declares.
    ///
    /// ```
    /// # fn example(ratchet: ratchet_core::Client, registry: ratchet_core::Registry) -> Result<(), ratchet_core::WorkerError> {
    /// let worker = ratchet.worker(registry).queues(["default", "bulk"]).build()?;
    /// # Ok(()) }
    /// ```
    pub fn queues<Q: Into<String>>(mut self, names: impl IntoIterator<Item = Q>) -> Self {
        self.queues = Some(names.into_iter().map(Queue::new).collect());
        self
    }

    /// A secret to make keys with for destinations that do not take the identity as it is, and its name.
    ///
    /// It has 32 bytes at least, of a random source, and is the same for all workers of a ledger. To change it, add another
    /// one after it, under a new name: the last one counts for what was not sent before. What was sent goes on under its
    /// key, which is on record, so an old secret can be left out when its successor is everywhere.
    ///
    /// ```
    /// # fn secret(_: &str) -> Vec<u8> { vec![7; 32] }
    /// # fn build(builder: ratchet_core::WorkerBuilder) -> ratchet_core::WorkerBuilder {
    /// builder.wire_secret("2025", secret("WIRE_2025")).wire_secret("2026", secret("WIRE_2026"))
    /// # }
    /// ```
    pub fn wire_secret(mut self, id: impl Into<String>, secret: impl Into<Vec<u8>>) -> Self {
        self.secrets.push((id.into(), secret.into()));
        self
    }

    /// How many attempts run at once; 16 unless said otherwise. Where all destinations deduplicate, a worker with short
    /// handlers leases ahead what it will start in the next 50 milliseconds.
    pub fn concurrency(mut self, attempts: usize) -> Self {
        self.concurrency = attempts;
        self
    }

    /// For how long a lease is granted; 30 seconds unless said otherwise. It is extended every third of it, so it
    /// bounds how long the work of a dead worker rests, and not how long an attempt may run.
    pub fn lease(mut self, span: Duration) -> Self {
        self.lease = span;
        self
    }

    /// How often to look for work of other processes; half a second unless said otherwise. Work of this process wakes
    /// the worker at once.
    pub fn poll_interval(mut self, span: Duration) -> Self {
        self.poll_interval = span;
        self
    }

    /// How long running attempts may go on after a shutdown was asked for; 15 seconds unless said otherwise. Up to two
    /// more pass until a handler that does not listen is stopped, and ten if the ledger does not take its outcome: all of
    /// it within the 30 seconds that process managers usually give.
    pub fn grace(mut self, span: Duration) -> Self {
        self.grace = span;
        self
    }

    /// Keeps the store's high-water mark in this file, so that a restored backup is recognised and nothing is sent again
    /// before somebody has acknowledged it.
    ///
    /// Unless said otherwise, a store in a file has it beside that, with `.mark` behind the name, and a store on a server
    /// has none: name a file that outlives the worker, on another disk than the store. Each store needs a file of its own.
    /// While the file can be neither read nor written, nothing is claimed.
    pub fn high_water_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.high_water = Some(HighWaterFile::new(path));
        self
    }

    /// Another source of time, for tests and simulations.
    pub fn clock(mut self, clock: SharedClock) -> Self {
        self.clock = clock;
        self
    }

    /// Another source of randomness, which names the worker.
    pub fn random(mut self, random: SharedRandom) -> Self {
        self.random = random;
        self
    }

    /// Checks that every handler can be called.
    ///
    /// # Errors
    /// If the registry is empty, a handler's state is missing, a destination needs a secret that is missing, a queue's name
    /// is refused or a setting makes no sense.
    pub fn build(self) -> Result<Worker, WorkerError> {
        self.check_settings()?;
        let offers = self.offers()?;
        for handler in self.registry.handlers() {
            if let Some(missing) = handler.spec().states.iter().find(|needed| !self.states.meets(needed)) {
                let operation = handler.spec().name.to_string();
                return Err(WorkerError::MissingState { operation, state: missing.name() });
            }
        }
        let secrets =
            WireSecrets::new(self.secrets).map_err(|error| WorkerError::Secret { why: error.to_string() })?;
        let needs = |handler: &&Handler| needs_secret(&handler.spec().contract, &self.namespace);
        if let (None, Some(handler)) = (secrets.newest(), self.registry.handlers().find(needs)) {
            return Err(WorkerError::MissingSecret { operation: handler.spec().name.to_string() });
        }
        let name = worker_name(&self.random);
        let high_water = self.high_water.or_else(|| self.ledger.high_water_file());
        let shared = Shared {
            restored: RestoreGuard::new(self.ledger.clone(), high_water, name.to_string()),
            ledger: self.ledger,
            namespace: self.namespace,
            registry: self.registry,
            offers,
            states: Arc::new(self.states),
            secrets: Arc::new(secrets),
            name,
            slots: Slots::new(self.concurrency),
            lease: self.lease,
            poll_interval: self.poll_interval,
            clock: self.clock,
            leases: Leases::default(),
            parked: Notify::new(),
            stopping: CancellationToken::new(),
            abandon: CancellationToken::new(),
        };
        Ok(Worker { shared: Arc::new(shared), grace: self.grace })
    }

    fn offers(&self) -> Result<Vec<Offer>, WorkerError> {
        let Some(queues) = &self.queues else {
            return Ok(self.registry.offers().collect());
        };
        let queues = queues.clone()?;
        if queues.is_empty() {
            return Err(WorkerError::Setting { what: "the number of queues", allowed: "at least 1" });
        }
        let from_each = |handler: &'_ Handler| {
            let handler = *handler;
            queues.iter().map(move |queue| handler.offer(queue.clone()))
        };
        Ok(self.registry.handlers().flat_map(from_each).collect())
    }

    fn check_settings(&self) -> Result<(), WorkerError> {
        let setting = |what, allowed| Err(WorkerError::Setting { what, allowed });
        if self.registry.served().next().is_none() {
            return Err(WorkerError::NothingToServe);
        }
        if self.concurrency == 0 {
            return setting("the concurrency", "at least 1");
        }
        if self.lease < Duration::from_millis(100) || self.lease > LONGEST_LEASE {
            return setting("the lease", "between 100 milliseconds and 15 minutes");
        }
        if self.poll_interval.is_zero() {
            return setting("the poll interval", "longer than nothing");
        }
        Ok(())
    }
}

fn worker_name(random: &SharedRandom) -> WorkerId {
    let mut name = String::from("w-");
    // Writing to a string cannot fail.
    let _ = write!(name, "{:016x}", random.bits());
    WorkerId::new(name).unwrap_or_else(|_| WorkerId::from_static("w"))
}

/// Leases due records and executes them.
#[derive(Debug)]
pub struct Worker {
    shared: Arc<Shared>,
    grace: Duration,
}

/// What the parts of a worker share.
#[derive(Debug)]
struct Shared {
    ledger: SharedLedger,
    namespace: Namespace,
    registry: Registry,
    /// What it claims.
    offers: Vec<Offer>,
    states: Arc<States>,
    secrets: Arc<WireSecrets>,
    name: WorkerId,
    slots: Arc<Slots>,
    lease: Duration,
    poll_interval: Duration,
    clock: SharedClock,
    leases: Leases,
    restored: RestoreGuard,
    /// Says that an attempt of this worker left an uncertain record.
    parked: Notify,
    /// Nothing is started after this is cancelled.
    stopping: CancellationToken,
    /// Attempts that still run when this is cancelled are given up as unknown.
    abandon: CancellationToken,
}

impl Worker {
    /// Executes operations until `shutdown` is ready.
    ///
    /// Then it leases nothing more, tells running attempts to stop and waits for them, as long as the grace lasts. What
    /// runs after that is given up with an unknown outcome. Faults of the ledger while it runs are logged and waited
    /// out.
    ///
    /// # Errors
    /// If the ledger fails at the start, holds another key template for one of the operations, or cannot do what one of
    /// them asks for.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> Result<(), LedgerError> {
        declare(&*self.shared.ledger, self.shared.registry.declarations()).await?;
        poll::run(&self.shared, self.grace, shutdown).await;
        Ok(())
    }

    /// The name that its leases carry.
    #[must_use]
    pub fn name(&self) -> &WorkerId {
        &self.shared.name
    }
}
