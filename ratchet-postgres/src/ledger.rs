//! The ledger itself: hands writes to its lanes and reads to a pool.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use ratchet_core::admission::{GateAnswer, GateOrder, KnownGate};
use ratchet_core::decide::{Answer, Refusal, Stored};
use ratchet_core::ledger::follow::{Followers, ended, waits_again};
use ratchet_core::ledger::{
    AuditPage, AwaitedEnds, Capabilities, Claim, Count, Cursor, Declaration, Declared, Document, DocumentId,
    DocumentQuery, DocumentWrite, DocumentWritten, Filter, Inspection, Ledger, LedgerFuture, MarkChange,
    Offer, Order, Page, Served, StoreMark, Unserved,
};
use ratchet_core::{
    Attempt, AuditEntry, HiddenPaths, HighWaterFile, Key, LedgerError, Namespace, Record, RecordId,
    Submission, Submitted,
};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::bell::Bell;
use crate::claim::Claiming;
use crate::error::Fault;
use crate::follow::{Looked, Whose};
use crate::held::Held;
use crate::lane::Lane;
use crate::options::{Opened, PostgresOptions, Sources};
use crate::readers::{Lent, Readers};
use crate::session::Connector;
use crate::works::{Admits, Applies, Claims, Submits};
use crate::{audit, declare, document, follow, gates, inspect, maintenance, mark, overview, read};

/// How many waiting records are looked at when one of them waits anew.
const MOST_LOOKED_AT: usize = 1024;

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
/// Numbers of rows are given before a transaction commits. A [`list`](Ledger::list) that runs while others enqueue can
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
    /// Up to where records that wait have been looked at.
    looked_behind: AtomicI64,
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
            looked_behind: AtomicI64::new(0),
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
    async fn follow_those(&self, whose: Whose) -> Result<Looked, LedgerError> {
        let (whose, sources) = (&whose, &self.sources);
        let looked = self
            .write("decide about records that wait", |mut lent| async move {
                let answer = follow::follow(&mut lent, whose, sources).await;
                lent.keep(answer)
            })
            .await?;
        if looked.due {
            self.bell.ring();
        }
        Ok(looked)
    }

    /// Decides about those that come after records that have just ended. What fails is done by [`follow`](Ledger::follow)
    /// later.
    async fn follow_ended(&self, ended: Vec<RecordId>) {
        if !ended.is_empty()
            && let Err(error) = self.follow_those(Whose::Ended(ended)).await
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

impl Ledger for PostgresLedger {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of_database()
    }

    fn submit(&self, submissions: Vec<Submission>) -> LedgerFuture<'_, Vec<Submitted>> {
        Box::pin(async move {
            let before: Vec<RecordId> =
                submissions.iter().filter_map(|one| Some(one.after.as_ref()?.id.clone())).collect();
            let answers = self.submits.ask(submissions).await?;
            if !before.is_empty() {
                self.followers.set(true);
            }
            // They may have ended before.
            self.follow_ended(before).await;
            answers.into_iter().map(|answer| self.told(answer)).collect()
        })
    }

    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Vec<Record>> {
        Box::pin(async move { Ok(self.claims.ask(vec![claim]).await?.pop().unwrap_or_default()) })
    }

    fn apply(&self, orders: Vec<Order>) -> LedgerFuture<'_, Vec<Result<Answer, Refusal>>> {
        Box::pin(async move {
            let ids = self.followers.before(&orders);
            let answers = self.applies.ask(orders).await?;
            if waits_again(&answers)
                && let Err(error) = self.follow(MOST_LOOKED_AT).await
            {
                tracing::warn!(%error, "records that wait were not decided about; trying again later");
            }
            self.follow_ended(ended(ids, &answers)).await;
            Ok(answers)
        })
    }

    fn admit(&self, orders: Vec<GateOrder>) -> LedgerFuture<'_, Vec<GateAnswer>> {
        Box::pin(self.admits.ask(orders))
    }

    fn gates(&self) -> LedgerFuture<'_, Vec<KnownGate>> {
        Box::pin(async move {
            self.read("read the gates of destinations", |mut lent| async move {
                let answer = gates::all(&mut lent).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn expire(&self, limit: usize) -> LedgerFuture<'_, usize> {
        Box::pin(async move {
            let sources = &self.sources;
            let ended = self
                .write("end leases", |mut lent| async move {
                    let answer = maintenance::expire(&mut lent, limit, sources).await;
                    lent.keep(answer)
                })
                .await?;
            if ended > 0 {
                self.bell.ring();
            }
            if ended > 0 && self.followers.may_wait() {
                self.follow(limit).await?;
            }
            Ok(ended)
        })
    }

    fn follow(&self, limit: usize) -> LedgerFuture<'_, usize> {
        Box::pin(async move {
            let behind = self.looked_behind.load(Ordering::Relaxed);
            let looked = self.follow_those(Whose::Any { behind, limit }).await?;
            self.looked_behind.store(looked.last.unwrap_or(0), Ordering::Relaxed);
            self.followers.set(looked.waiting);
            Ok(looked.decided)
        })
    }

    fn purge(&self, limit: usize) -> LedgerFuture<'_, usize> {
        Box::pin(async move {
            let sources = &self.sources;
            self.write("purge records", |mut lent| async move {
                let answer = maintenance::purge(&mut lent, limit, sources).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn find(&self, id: RecordId) -> LedgerFuture<'_, Option<Stored>> {
        Box::pin(async move {
            let id = &id;
            self.read("look a record up", |mut lent| async move {
                let answer = read::find(&mut lent, id).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn under_key(&self, namespace: Namespace, key: Key) -> LedgerFuture<'_, Vec<Stored>> {
        Box::pin(async move {
            let (namespace, key) = (&namespace, &key);
            self.read("look a key up", |mut lent| async move {
                let answer = overview::under_key(&mut lent, namespace, key).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn census(&self, namespace: Namespace) -> LedgerFuture<'_, Vec<Count>> {
        Box::pin(async move {
            let namespace = &namespace;
            self.read("count records", |mut lent| async move {
                let answer = overview::census(&mut lent, namespace).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn to_reconcile(
        &self,
        namespace: Namespace,
        served: Vec<Served>,
        limit: usize,
    ) -> LedgerFuture<'_, Vec<Record>> {
        Box::pin(async move {
            let (namespace, served, now) = (&namespace, &served, self.sources.now());
            self.read("look for records to ask about", |mut lent| async move {
                let answer = overview::to_reconcile(&mut lent, namespace, served, limit, now).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn places(&self, ids: Vec<RecordId>) -> LedgerFuture<'_, Vec<Option<Cursor>>> {
        Box::pin(async move {
            let ids: &[&RecordId] = &ids.iter().collect::<Vec<_>>();
            let places = self.read("look for the place of a record", |mut lent| async move {
                let answer = overview::places(&mut lent, ids).await;
                lent.keep(answer)
            });
            Ok(places.await?.into_iter().map(|place| place.map(Cursor)).collect())
        })
    }

    fn at(&self, place: Cursor) -> LedgerFuture<'_, Option<Stored>> {
        Box::pin(async move {
            self.read("look a record up", |mut lent| async move {
                let answer = overview::at(&mut lent, place).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn list(&self, filter: Filter) -> LedgerFuture<'_, Page> {
        Box::pin(async move {
            let filter = &filter;
            self.read("list records", |mut lent| async move {
                let answer = read::list(&mut lent, filter).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn attempts(&self, id: RecordId) -> LedgerFuture<'_, Vec<Attempt>> {
        Box::pin(async move {
            let id = &id;
            self.read("look a record up", |mut lent| async move {
                let answer = read::attempts(&mut lent, id).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn audit(&self, id: RecordId) -> LedgerFuture<'_, Vec<AuditEntry>> {
        Box::pin(async move {
            let id = &id;
            self.read("look a record up", |mut lent| async move {
                let answer = read::audit(&mut lent, id).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn audit_log(
        &self,
        namespace: Namespace,
        before: Option<Cursor>,
        limit: usize,
    ) -> LedgerFuture<'_, AuditPage> {
        Box::pin(async move {
            let namespace = &namespace;
            self.read("list decisions", |mut lent| async move {
                let answer = audit::log(&mut lent, namespace, before, limit).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn declare(&self, declared: Vec<Declaration>) -> LedgerFuture<'_, ()> {
        Box::pin(async move {
            let declared = &declared;
            self.write("record key templates", |mut lent| async move {
                let answer = declare::declare(&mut lent, declared).await;
                lent.keep(answer)
            })
            .await?
        })
    }

    fn hidden(&self, of: Served) -> LedgerFuture<'_, Option<HiddenPaths>> {
        Box::pin(async move {
            let of = &of;
            self.read("read what is hidden", |mut lent| async move {
                let answer = declare::hidden(&mut lent, &of.operation, &of.version).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn declarations(&self) -> LedgerFuture<'_, Vec<Declared>> {
        Box::pin(async move {
            self.read("read what is declared", |mut lent| async move {
                let answer = declare::declarations(&mut lent).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn mark(&self) -> LedgerFuture<'_, StoreMark> {
        Box::pin(async move {
            self.read("read its high-water mark", |mut lent| async move {
                let answer = mark::read(&mut lent).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn change_mark(&self, change: MarkChange) -> LedgerFuture<'_, StoreMark> {
        Box::pin(async move {
            let (change, now) = (&change, self.sources.now());
            self.write("write its high-water mark", |mut lent| async move {
                let answer = mark::change(&mut lent, change, now).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn high_water_file(&self) -> Option<HighWaterFile> {
        None
    }

    fn document(&self, id: DocumentId) -> LedgerFuture<'_, Option<Document>> {
        Box::pin(async move {
            let id = &id;
            self.read("read a document", |mut lent| async move {
                let answer = document::find(&mut lent, id).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn documents(&self, query: DocumentQuery) -> LedgerFuture<'_, Vec<Document>> {
        Box::pin(async move {
            let query = &query;
            self.read("read documents", |mut lent| async move {
                let answer = document::query(&mut lent, query).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn write_document(&self, write: DocumentWrite) -> LedgerFuture<'_, DocumentWritten> {
        Box::pin(async move {
            let write = &write;
            self.write("write a document", |mut lent| async move {
                let answer = document::write(&mut lent, write).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn inspect(&self) -> LedgerFuture<'_, Inspection> {
        Box::pin(async move {
            let now = self.sources.now();
            self.read("read its settings", |mut lent| async move {
                let answer = inspect::inspect(&mut lent, now).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn unserved(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Vec<Unserved>> {
        Box::pin(async move {
            let (namespace, offers, now) = (&namespace, &offers, self.sources.now());
            self.read("count records that nobody serves", |mut lent| async move {
                let answer = read::unserved(&mut lent, namespace, offers, now).await;
                lent.keep(answer)
            })
            .await
        })
    }

    fn next_due(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Option<Duration>> {
        Box::pin(async move {
            if offers.iter().any(|offer| offer.at_most.is_some()) {
                self.ends.expect();
            }
            let (namespace, offers, now) = (&namespace, &offers, self.sources.now());
            self.read("look for the next due record", |mut lent| async move {
                let answer = read::next_due(&mut lent, namespace, offers, now).await;
                lent.keep(answer)
            })
            .await
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
