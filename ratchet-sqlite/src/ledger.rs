//! The ledger itself: hands writes to the writer and reads to the readers.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ratchet_core::admission::{GateAnswer, GateOrder, KnownGate};
use ratchet_core::decide::{Answer, Refusal, Stored};
use ratchet_core::ledger::follow::{Followers, Looked, MOST_LOOKED_AT, Whose, ended, waits_again};
use ratchet_core::ledger::moving::{Batch, Import, Place, StandingChange, StandingRefused, StoreStanding};
use ratchet_core::ledger::{
    AuditPage, AwaitedEnds, Capabilities, Claim, Count, Cursor, Declaration, Declared, Document, DocumentId,
    DocumentQuery, DocumentWrite, DocumentWritten, Filter, Inspection, Ledger, LedgerFuture, MarkChange,
    Offer, Order, Page, Served, StoreMark, Unserved,
};
use ratchet_core::{
    Attempt, AuditEntry, HiddenPaths, HighWaterFile, Key, LedgerError, Namespace, Record, RecordId,
    Submission, Submitted,
};
use sqlx::SqlitePool;
use tokio::sync::{mpsc, watch};

use crate::batch::Asked;
use crate::error::{Fault, While as _};
use crate::held::Held;
use crate::options::{Opened, Sources, SqliteOptions};
use crate::writer::{Job, Writer};
use crate::{audit, declare, document, export, gates, inspect, mark, overview, read, standing};

/// How many calls wait for the writer before further ones wait to be let in.
const WAITING_CALLS: usize = 1024;

/// A ledger in an SQLite database.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let url = format!("sqlite://{}/ratchet.db", directory.path().display());
/// use ratchet_core::Ledger as _;
/// use ratchet_core::ledger::Filter;
/// use ratchet_sqlite::SqliteLedger;
///
/// let ledger = SqliteLedger::open(&url).await?;
/// assert!(ledger.capabilities().durable);
/// assert!(ledger.list(Filter::default()).await?.records.is_empty());
/// # Ok(()) }
/// ```
///
/// Dropping the last handle lets the writer finish what it was asked and close the database.
///
/// # The file
///
/// The database file, and the `-wal` and `-shm` files beside it, must not be deleted, replaced or moved while any
/// program has it open: SQLite would go on with a file that nobody finds again. On Unix the writer looks before each
/// commit, and answers [`LedgerError::Damaged`] without writing if another file, or none, is in the place. Reads and
/// [`submit_in`](crate::submit_in) do not look. Take backups with `VACUUM INTO` or SQLite's backup, since a copy of
/// the open file alone lacks what is in the `-wal` file.
///
/// A restored backup is the ledger of the moment in which it was taken: what was recorded or settled after that is
/// forgotten. The same action is then new again, and what was pending in the backup runs again, under the same
/// identity: there is still one effect where the destination deduplicates and still remembers it, and nowhere else. So
/// stop all workers before a backup is restored. Those that start again hold back until somebody has looked at what the
/// destinations have and said so: they know the store's high-water mark from the file with `.mark` behind the name.
#[derive(Debug)]
pub struct SqliteLedger {
    jobs: mpsc::Sender<Job>,
    readers: SqlitePool,
    high_water: HighWaterFile,
    busy_timeout: Duration,
    sources: Sources,
    wakeups: Arc<watch::Sender<u64>>,
    ends: AwaitedEnds,
    followers: Followers,
    commits: Arc<AtomicU64>,
}

impl SqliteLedger {
    /// Opens the ledger at `url` with the defaults of [`SqliteOptions`], as in `sqlite:ratchet.db`.
    ///
    /// # Errors
    /// As [`SqliteOptions::open`].
    pub async fn open(url: &str) -> Result<Arc<Self>, LedgerError> {
        SqliteOptions::new().open(url).await
    }

    /// How many transactions the writer has committed since the ledger was opened. Calls that come together share one,
    /// so this is what the disk was asked for, and not how many calls there were.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    pub(crate) fn start(opened: Opened) -> Arc<Self> {
        let (sender, receiver) = mpsc::channel(WAITING_CALLS);
        let wakeups = Arc::new(watch::Sender::new(0));
        let high_water = beside(opened.place.file());
        let (ends, commits) = (AwaitedEnds::default(), Arc::new(AtomicU64::new(0)));
        let writer = Writer {
            connection: Some((opened.writer, Held::new())),
            reopen: opened.reopen,
            place: opened.place,
            busy_timeout: opened.busy_timeout,
            sources: opened.sources.clone(),
            wakeups: Arc::clone(&wakeups),
            ends: ends.clone(),
            commits: Arc::clone(&commits),
            expects_repetitions: false,
        };
        tokio::spawn(writer.run(receiver));
        Arc::new(Self {
            jobs: sender,
            readers: opened.readers,
            high_water,
            busy_timeout: opened.busy_timeout,
            sources: opened.sources,
            wakeups,
            ends,
            followers: Followers::default(),
            commits,
        })
    }

    /// Asks the writer and waits for the commit.
    async fn ask<Q, A>(&self, job: impl FnOnce(Asked<Q, A>) -> Job, question: Q) -> Result<A, LedgerError> {
        let (asked, answer) = Asked::new(question);
        let sent = self.jobs.send(job(asked)).await;
        sent.map_err(|_| LedgerError::Closed)?;
        answer.await.map_err(|_| LedgerError::Closed)?
    }

    /// Asks the writer about several entries; none cost no commit.
    async fn ask_all<Q, A>(
        &self,
        job: impl FnOnce(Asked<Vec<Q>, Vec<A>>) -> Job,
        questions: Vec<Q>,
    ) -> Result<Vec<A>, LedgerError> {
        if questions.is_empty() {
            return Ok(Vec::new());
        }
        self.ask(job, questions).await
    }

    /// Decides about those that come after records that have just ended. What fails is done by [`follow`](Ledger::follow)
    /// later.
    async fn follow_ended(&self, ended: Vec<RecordId>) {
        if !ended.is_empty()
            && let Err(error) = self.ask(Job::Follow, Whose::Ended(ended)).await
        {
            tracing::warn!(%error, "records that wait were not decided about; trying again later");
        }
    }

    fn told<T>(&self, answer: Result<T, Fault>) -> Result<T, LedgerError> {
        answer.map_err(|fault| fault.told(self.busy_timeout))
    }
}

/// Beside the database, as SQLite's own files are.
fn beside(database: &Path) -> HighWaterFile {
    let mut name = OsString::from(database);
    name.push(".mark");
    HighWaterFile::new(name)
}

impl Ledger for SqliteLedger {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of_database()
    }

    fn submit(&self, submissions: Vec<Submission>) -> LedgerFuture<'_, Vec<Submitted>> {
        Box::pin(async move {
            let before: Vec<RecordId> =
                submissions.iter().filter_map(|one| Some(one.after.as_ref()?.id.clone())).collect();
            let answers = self.ask_all(Job::Submit, submissions).await?;
            if !before.is_empty() {
                self.followers.arrived();
            }
            // They may have ended before.
            self.follow_ended(before).await;
            Ok(answers)
        })
    }

    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Vec<Record>> {
        Box::pin(self.ask(Job::Claim, claim))
    }

    fn apply(&self, orders: Vec<Order>) -> LedgerFuture<'_, Vec<Result<Answer, Refusal>>> {
        Box::pin(async move {
            let ids = self.followers.before(&orders);
            let answers = self.ask_all(Job::Apply, orders).await?;
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
        Box::pin(self.ask_all(Job::Admit, orders))
    }

    fn gates(&self) -> LedgerFuture<'_, Vec<KnownGate>> {
        Box::pin(async move { self.told(gates::all(&self.readers).await) })
    }

    fn expire(&self, limit: usize) -> LedgerFuture<'_, usize> {
        Box::pin(async move {
            let decided = self.ask(Job::Expire, limit).await?;
            if decided > 0 && self.followers.may_wait() {
                self.follow(limit).await?;
            }
            Ok(decided)
        })
    }

    fn follow(&self, limit: usize) -> LedgerFuture<'_, Looked> {
        Box::pin(async move {
            let whose = self.followers.next(limit);
            let looked = self.ask(Job::Follow, whose.clone()).await?;
            self.followers.looked(&whose, &looked);
            Ok(looked)
        })
    }

    fn purge(&self, limit: usize) -> LedgerFuture<'_, usize> {
        Box::pin(self.ask(Job::Purge, limit))
    }

    fn find(&self, id: RecordId) -> LedgerFuture<'_, Option<Stored>> {
        Box::pin(async move { self.told(read::find(&self.readers, &id).await) })
    }

    fn under_key(&self, namespace: Namespace, key: Key) -> LedgerFuture<'_, Vec<Stored>> {
        Box::pin(async move { self.told(overview::under_key(&self.readers, &namespace, &key).await) })
    }

    fn census(&self, namespace: Namespace) -> LedgerFuture<'_, Vec<Count>> {
        Box::pin(async move { self.told(overview::census(&self.readers, &namespace).await) })
    }

    fn to_reconcile(
        &self,
        namespace: Namespace,
        served: Vec<Served>,
        limit: usize,
    ) -> LedgerFuture<'_, Vec<Record>> {
        Box::pin(async move {
            let now = self.sources.now();
            let due = overview::to_reconcile(&self.readers, &namespace, &served, limit, now).await;
            self.told(due)
        })
    }

    fn places(&self, ids: Vec<RecordId>) -> LedgerFuture<'_, Vec<Option<Cursor>>> {
        Box::pin(async move {
            let places = overview::places(&self.readers, &ids.iter().collect::<Vec<_>>()).await;
            Ok(self.told(places)?.into_iter().map(|place| place.map(Cursor)).collect())
        })
    }

    fn at(&self, place: Cursor) -> LedgerFuture<'_, Option<Stored>> {
        Box::pin(async move { self.told(overview::at(&self.readers, place).await) })
    }

    fn list(&self, filter: Filter) -> LedgerFuture<'_, Page> {
        Box::pin(async move { self.told(read::list(&self.readers, &filter).await) })
    }

    fn attempts(&self, id: RecordId) -> LedgerFuture<'_, Vec<Attempt>> {
        Box::pin(async move { self.told(read::attempts(&self.readers, &id).await) })
    }

    fn audit(&self, id: RecordId) -> LedgerFuture<'_, Vec<AuditEntry>> {
        Box::pin(async move { self.told(read::audit(&self.readers, &id).await) })
    }

    fn audit_log(
        &self,
        namespace: Namespace,
        before: Option<Cursor>,
        limit: usize,
    ) -> LedgerFuture<'_, AuditPage> {
        Box::pin(async move { self.told(audit::log(&self.readers, &namespace, before, limit).await) })
    }

    fn declare(&self, declared: Vec<Declaration>) -> LedgerFuture<'_, ()> {
        Box::pin(self.ask(Job::Declare, declared))
    }

    fn hidden(&self, of: Served) -> LedgerFuture<'_, Option<HiddenPaths>> {
        Box::pin(async move {
            let read = async {
                let mut connection = self.readers.acquire().await.while_trying("read what is hidden")?;
                declare::hidden(&mut connection, &of.operation, &of.version).await
            };
            self.told(read.await)
        })
    }

    fn declarations(&self) -> LedgerFuture<'_, Vec<Declared>> {
        Box::pin(async move { self.told(declare::declarations(&self.readers).await) })
    }

    fn mark(&self) -> LedgerFuture<'_, StoreMark> {
        Box::pin(async move { self.told(mark::read(&self.readers).await) })
    }

    fn change_mark(&self, change: MarkChange) -> LedgerFuture<'_, StoreMark> {
        Box::pin(self.ask(Job::Mark, change))
    }

    fn high_water_file(&self) -> Option<HighWaterFile> {
        Some(self.high_water.clone())
    }

    fn document(&self, id: DocumentId) -> LedgerFuture<'_, Option<Document>> {
        Box::pin(async move { self.told(document::find(&self.readers, &id).await) })
    }

    fn documents(&self, query: DocumentQuery) -> LedgerFuture<'_, Vec<Document>> {
        Box::pin(async move { self.told(document::query(&self.readers, &query).await) })
    }

    fn write_document(&self, write: DocumentWrite) -> LedgerFuture<'_, DocumentWritten> {
        Box::pin(self.ask(Job::Document, write))
    }

    fn standing(&self) -> LedgerFuture<'_, StoreStanding> {
        Box::pin(async move { self.told(standing::read(&self.readers).await) })
    }

    fn change_standing(
        &self,
        change: StandingChange,
    ) -> LedgerFuture<'_, Result<StoreStanding, StandingRefused>> {
        Box::pin(self.ask(Job::Standing, change))
    }

    fn export(&self, place: Place, limit: usize) -> LedgerFuture<'_, Batch> {
        Box::pin(async move {
            let read = async {
                let mut connection = self.readers.acquire().await.while_trying("read what it holds")?;
                export::export(&mut connection, &place, limit).await
            };
            self.told(read.await)
        })
    }

    fn import(&self, import: Import) -> LedgerFuture<'_, Result<(), StandingRefused>> {
        Box::pin(async move {
            let imported = self.ask(Job::Import, import).await;
            self.followers.arrived();
            imported
        })
    }

    fn inspect(&self) -> LedgerFuture<'_, Inspection> {
        Box::pin(async move {
            let read = async {
                let mut connection = self.readers.acquire().await.while_trying("read its settings")?;
                inspect::settings(&mut connection).await
            };
            Ok(Inspection { now: self.sources.now(), settings: self.told(read.await)? })
        })
    }

    fn unserved(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Vec<Unserved>> {
        Box::pin(async move {
            let now = self.sources.now();
            self.told(read::unserved(&self.readers, &namespace, &offers, now).await)
        })
    }

    fn next_due(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Option<Duration>> {
        Box::pin(async move {
            if offers.iter().any(|offer| offer.at_most.is_some()) {
                self.ends.expect();
            }
            let at = self.told(read::next_due(&self.readers, &namespace, &offers).await)?;
            Ok(at.map(|at| at.since(self.sources.now())))
        })
    }

    fn wakeups(&self) -> watch::Receiver<u64> {
        self.wakeups.subscribe()
    }

    fn wake(&self) {
        self.wakeups.send_modify(|count| *count += 1);
    }
}
