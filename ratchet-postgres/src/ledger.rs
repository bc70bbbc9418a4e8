//! The ledger itself: its lanes for writes, its pool for reads, and how both are asked.

mod calls;

use std::fmt;
use std::future::Future;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use ratchet_core::ledger::AwaitedEnds;
use ratchet_core::ledger::follow::{Followers, Looked, Whose};
use ratchet_core::{LedgerError, RecordId};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::bell::Bell;
use crate::claim::Claiming;
use crate::error::Fault;
use crate::follow;
use crate::held::Held;
use crate::lane::Lane;
use crate::options::{Opened, PostgresOptions, Sources};
use crate::readers::{Lent, Readers, lent};
use crate::session::Connector;
use crate::works::{Admits, Applies, Claims, Submits};

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
/// It holds up to nine connections: three that write, one more where destinations have limits, up to four that read, and
/// one that listens while a worker runs.
/// Dropping the last handle lets the writes finish and closes them.
///
/// # Many programs on one database
///
/// Leases begin and end by the database's clock, so the clocks of the programs do not matter for who may execute what. A
/// worker wakes when another program enqueues; one that misses the notification finds the record at its next poll.
///
/// Numbers of rows are given before a transaction commits. A [`list`](ratchet_core::Ledger::list) that runs while others enqueue can
/// therefore pass by a record that is committed a moment later under a smaller number.
pub struct PostgresLedger {
    submits: Lane<Submits>,
    applies: Arc<Lane<Applies>>,
    claims: Lane<Claims>,
    admits: Lane<Admits>,
    readers: Arc<Readers>,
    connector: Connector,
    sources: Sources,
    bell: Arc<Bell>,
    ends: AwaitedEnds,
    followers: Followers,
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
        let readers = Arc::new(Readers::new(connector.clone()));
        let submits =
            Submits { sources: sources.clone(), bell: Arc::clone(&bell), repeated: AtomicBool::new(false) };
        let (held, ends) = (Arc::new(Held::new()), AwaitedEnds::default());
        let applies = Applies {
            sources: sources.clone(),
            held: Arc::clone(&held),
            bell: Arc::clone(&bell),
            ends: ends.clone(),
        };
        let submits = Lane::start(submits, &connector);
        let applies = Arc::new(Lane::start(applies, &connector));
        let claims = Claims { claiming: Claiming::new(sources.clone(), held), applies: Arc::clone(&applies) };
        let claims = Lane::start(claims, &connector);
        let admits = Lane::start(Admits { sources: sources.clone() }, &connector);
        let mut background = JoinSet::new();
        background.spawn(Arc::clone(&bell).send_gathered(Arc::clone(&readers)));
        Arc::new(Self {
            submits,
            applies,
            claims,
            admits,
            readers,
            connector,
            sources,
            bell,
            ends,
            followers: Followers::default(),
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

    /// Reads, on another connection if the first one turns out to be gone.
    async fn read<'a, T, F>(
        &'a self,
        doing: &'static str,
        reads: impl Fn(Lent<'a>) -> F,
    ) -> Result<T, LedgerError>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        self.told(self.readers.read(doing, reads).await)
    }

    /// A rare write.
    async fn write<'a, T, F>(
        &'a self,
        doing: &'static str,
        writes: impl Fn(Lent<'a>) -> F,
    ) -> Result<T, LedgerError>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        self.told(self.readers.write(doing, writes).await)
    }

    /// Decides about followers.
    async fn follow_those(&self, whose: &Whose) -> Result<Looked, LedgerError> {
        let sources = &self.sources;
        let looked = self
            .write(
                "decide about records that wait",
                lent!(|connection| follow::follow(connection, whose, sources)),
            )
            .await?;
        if looked.due {
            self.bell.ring();
        }
        Ok(looked)
    }

    /// Looks at the next `limit` of all that wait.
    async fn follow_some(&self, limit: usize) -> Result<Looked, LedgerError> {
        let whose = self.followers.next(limit);
        let looked = self.follow_those(&whose).await?;
        self.followers.looked(&whose, &looked);
        Ok(looked)
    }

    /// Decides about those that come after records that have just ended. What fails is done by [`follow`](ratchet_core::Ledger::follow)
    /// later.
    async fn follow_ended(&self, ended: Vec<RecordId>) {
        if !ended.is_empty()
            && let Err(error) = self.follow_those(&Whose::Ended(ended)).await
        {
            tracing::warn!(%error, "records that wait were not decided about; trying again later");
        }
    }

    /// A process that never sleeps on the ledger needs no connection that listens.
    fn listen(&self) {
        self.listening.call_once(|| {
            let listens = Arc::clone(&self.bell).listen(self.connector.clone());
            let mut background = self.background.lock().unwrap_or_else(PoisonError::into_inner);
            background.spawn_on(listens, &self.runtime);
        });
    }
}
