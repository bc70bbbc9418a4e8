//! The ledger itself: hands writes to its lanes and reads to a pool.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use ratchet_core::decide::{Answer, Refusal, Stored};
use ratchet_core::ledger::{
    Capabilities, Claim, Declaration, Filter, Ledger, LedgerFuture, Order, Page, Served, Unserved,
};
use ratchet_core::{
    Attempt, AuditEntry, HiddenPaths, LedgerError, Namespace, Record, RecordId, Submission, Submitted,
    Timestamp,
};
use sqlx::pool::PoolConnection;
use sqlx::{Connection as _, PgPool, Postgres};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::bell::Bell;
use crate::claim::Claiming;
use crate::error::{Fault, While as _};
use crate::held::Held;
use crate::lane::Lane;
use crate::options::{Opened, PostgresOptions, Sources};
use crate::session::{Connector, READERS};
use crate::works::{Applies, Claims, Submits};
use crate::{declare, maintenance, read};

/// A ledger in a PostgreSQL database.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use ratchet_core::Ledger as _;
/// use ratchet_core::ledger::Filter;
/// use ratchet_postgres::PostgresLedger;
///
/// let ledger = PostgresLedger::open("postgres://app@localhost/shop").await?;
/// assert!(ledger.capabilities().durable);
/// assert!(ledger.list(Filter::default()).await?.records.is_empty());
/// # Ok(()) }
/// ```
///
/// It holds up to eight connections: three that write, up to four that read, and one that listens while a worker runs.
/// Dropping the last handle lets the writes finish and closes them.
///
/// # Many programs on one database
///
/// Leases begin and end by the database's clock, so the clocks of the programs do not matter for who may execute what. A
/// worker wakes when another program enqueues; one that misses the notification finds the record at its next poll.
///
/// Numbers of rows are given before a transaction commits. A [`list`](Ledger::list) that runs while others enqueue can
/// therefore pass by a record that is committed a moment later under a smaller number.
pub struct PostgresLedger {
    submits: Lane<Submits>,
    applies: Arc<Lane<Applies>>,
    claims: Lane<Claims>,
    readers: PgPool,
    connector: Connector,
    sources: Sources,
    bell: Arc<Bell>,
    runtime: Handle,
    listening: Once,
    background: Mutex<JoinSet<()>>,
}

impl fmt::Debug for PostgresLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The connector knows a password.
        f.debug_struct("PostgresLedger").field("sources", &self.sources).finish_non_exhaustive()
    }
}

impl PostgresLedger {
    /// Opens the ledger at `url` with the defaults of [`PostgresOptions`], as in `postgres://app@localhost/shop`.
    ///
    /// # Errors
    /// As [`PostgresOptions::open`].
    pub async fn open(url: &str) -> Result<Arc<Self>, LedgerError> {
        PostgresOptions::new().open(url).await
    }

    pub(crate) fn start(opened: Opened) -> Arc<Self> {
        let Opened { connector, sources } = opened;
        let bell = Bell::new(sources.random.bits());
        let readers = connector.readers();
        let submits = Submits { sources: sources.clone(), bell: Arc::clone(&bell) };
        let held = Arc::new(Held::new());
        let applies = Applies { sources: sources.clone(), held: Arc::clone(&held), bell: Arc::clone(&bell) };
        let submits = Lane::start(submits, &connector);
        let applies = Arc::new(Lane::start(applies, &connector));
        let claims = Claims { claiming: Claiming::new(sources.clone(), held), applies: Arc::clone(&applies) };
        let claims = Lane::start(claims, &connector);
        let mut background = JoinSet::new();
        background.spawn(Arc::clone(&bell).send_gathered(readers.clone()));
        Arc::new(Self {
            submits,
            applies,
            claims,
            readers,
            connector,
            sources,
            bell,
            runtime: Handle::current(),
            listening: Once::new(),
            background: Mutex::new(background),
        })
    }

    fn busy_timeout(&self) -> Duration {
        self.connector.lock_timeout
    }

    fn told<T>(&self, answer: Result<T, Fault>) -> Result<T, LedgerError> {
        answer.map_err(|fault| fault.told(self.busy_timeout()))
    }

    /// Reads, once more for every connection that turns out to be gone.
    async fn read<T, F>(&self, reads: impl Fn(PgPool) -> F) -> Result<T, LedgerError>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        for _ in 0..READERS {
            match reads(self.readers.clone()).await {
                Err(Fault::Disconnected { .. }) => {}
                answer => return self.told(answer),
            }
        }
        self.told(reads(self.readers.clone()).await)
    }

    /// A connection for a rare write, which is not sent to one that is gone.
    async fn writing(&self) -> Result<PoolConnection<Postgres>, Fault> {
        let doing = "connect to the database";
        loop {
            let mut connection = self.readers.acquire().await.while_trying(doing)?;
            if connection.ping().await.is_ok() {
                return Ok(connection);
            }
        }
    }

    async fn expire_over(&self, limit: usize) -> Result<usize, Fault> {
        let decided = maintenance::expire(&mut *self.writing().await?, limit, &self.sources).await?;
        if decided > 0 {
            self.bell.ring();
        }
        Ok(decided)
    }

    async fn purge_over(&self, limit: usize) -> Result<usize, Fault> {
        maintenance::purge(&mut *self.writing().await?, limit, &self.sources).await
    }

    async fn declare_all(&self, declared: &[Declaration]) -> Result<Result<(), LedgerError>, Fault> {
        declare::declare(&mut *self.writing().await?, declared).await
    }

    /// A process that never sleeps on the ledger needs no connection that listens.
    fn listen(&self) {
        self.listening.call_once(|| {
            let listens = Arc::clone(&self.bell).listen(self.connector.listener());
            let mut background = self.background.lock().unwrap_or_else(PoisonError::into_inner);
            background.spawn_on(listens, &self.runtime);
        });
    }
}

impl Ledger for PostgresLedger {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of_database()
    }

    fn submit(&self, submissions: Vec<Submission>) -> LedgerFuture<'_, Vec<Submitted>> {
        Box::pin(async move {
            let answers = self.submits.ask(submissions).await?;
            answers.into_iter().map(|answer| self.told(answer)).collect()
        })
    }

    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Vec<Record>> {
        Box::pin(async move { Ok(self.claims.ask(vec![claim]).await?.pop().unwrap_or_default()) })
    }

    fn apply(&self, orders: Vec<Order>) -> LedgerFuture<'_, Vec<Result<Answer, Refusal>>> {
        Box::pin(self.applies.ask(orders))
    }

    fn expire(&self, limit: usize) -> LedgerFuture<'_, usize> {
        Box::pin(async move { self.told(self.expire_over(limit).await) })
    }

    fn purge(&self, limit: usize) -> LedgerFuture<'_, usize> {
        Box::pin(async move { self.told(self.purge_over(limit).await) })
    }

    fn find(&self, id: RecordId) -> LedgerFuture<'_, Option<Stored>> {
        Box::pin(async move {
            let id = &id;
            self.read(|readers| async move { read::find(&readers, id).await }).await
        })
    }

    fn list(&self, filter: Filter) -> LedgerFuture<'_, Page> {
        Box::pin(async move {
            let filter = &filter;
            self.read(|readers| async move { read::list(&readers, filter).await }).await
        })
    }

    fn attempts(&self, id: RecordId) -> LedgerFuture<'_, Vec<Attempt>> {
        Box::pin(async move {
            let id = &id;
            self.read(|readers| async move { read::attempts(&readers, id).await }).await
        })
    }

    fn audit(&self, id: RecordId) -> LedgerFuture<'_, Vec<AuditEntry>> {
        Box::pin(async move {
            let id = &id;
            self.read(|readers| async move { read::audit(&readers, id).await }).await
        })
    }

    fn declare(&self, declared: Vec<Declaration>) -> LedgerFuture<'_, ()> {
        Box::pin(async move { self.told(self.declare_all(&declared).await)? })
    }

    fn hidden(&self, of: Served) -> LedgerFuture<'_, Option<HiddenPaths>> {
        Box::pin(async move {
            let of = &of;
            self.read(|readers| async move { declare::hidden(&readers, &of.operation, &of.version).await })
                .await
        })
    }

    fn unserved(&self, namespace: Namespace, served: Vec<Served>) -> LedgerFuture<'_, Vec<Unserved>> {
        Box::pin(async move {
            let (namespace, served, now) = (&namespace, &served, self.sources.now());
            self.read(|readers| async move { read::unserved(&readers, namespace, served, now).await }).await
        })
    }

    fn next_due(&self, namespace: Namespace, served: Vec<Served>) -> LedgerFuture<'_, Option<Timestamp>> {
        Box::pin(async move {
            let (namespace, served) = (&namespace, &served);
            self.read(|readers| async move { read::next_due(&readers, namespace, served).await }).await
        })
    }

    fn wakeups(&self) -> watch::Receiver<u64> {
        self.listen();
        self.bell.sleepers()
    }

    fn wake(&self) {
        self.bell.wake();
    }
}
