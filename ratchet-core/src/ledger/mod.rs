//! The ledger: what is true about every record.
//!
//! A ledger makes the answers of [`decide`](crate::decide::decide) durable and nothing else. It never knows a
//! destination. Who decides *when* an attempt runs is the drive: for SQL ledgers the polling [`Worker`](crate::Worker).

use serde::{Deserialize, Serialize};
mod audit_log;
#[cfg(feature = "testing")]
pub mod conformance;
pub mod desk;
mod document;
mod error;
pub mod follow;
mod inspection;
mod mark;
#[cfg(feature = "testing")]
mod memory;
pub mod moving;
mod offer;
mod order;
mod purge;

use std::fmt;
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ratchet_key::Key;
use tokio::sync::watch;

pub use crate::high_water::HighWaterFile;
pub use audit_log::{AuditPage, Decided};
pub use document::{Document, DocumentId, DocumentQuery, DocumentWrite, DocumentWritten};
pub use error::LedgerError;
pub use follow::Looked;
pub use inspection::{Declared, Inspection, Problem, Setting};
pub use mark::{HighWaterMark, MarkChange, StoreMark};
#[cfg(feature = "testing")]
pub use memory::MemoryLedger;
pub use offer::{AwaitedEnds, Offer, Room};
pub use order::Order;
pub(crate) use order::{Ordered, order, report};
pub(crate) use purge::purge_all;

use moving::{Batch, Import, Place, StandingChange, StandingRefused, StoreStanding};

use crate::admission::{GateAnswer, GateOrder, KnownGate};
use crate::contract::{Contract, Terms};
use crate::decide::{Answer, Refusal, Stored};
use crate::key_part::Form;
use crate::model::{
    Attempt, AuditEntry, GroupId, HiddenPaths, Namespace, OperationName, Priority, Queue, Record, RecordId,
    State, Submission, Submitted, Version, VolatileFields, WorkerId,
};
use crate::policy::Policy;
use crate::time::Timestamp;

/// What a call to a ledger becomes.
pub type LedgerFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, LedgerError>> + Send + 'a>>;

/// A ledger that many parts share.
pub type SharedLedger = Arc<dyn Ledger>;

/// Holds records and answers for them. When a call returns, all of it is written.
///
/// Calls take batches, and each entry of a batch is one atomic, durable change, answered as if it had come alone, in the order
/// given. A refusal of one entry stands in its own place. An error means that the ledger as a whole did not answer: any of the
/// entries may have been written, as after an answer that was lost, and all of them can be asked for again.
///
/// A record that cannot be read keeps nobody from the others: claims and expiry leave it alone and find those behind it,
/// and an order for it is refused with [`Refusal::Damaged`] in its own place.
pub trait Ledger: Send + Sync + fmt::Debug + 'static {
    /// What this ledger can do. Workers and clients refuse at their start what it cannot honour.
    fn capabilities(&self) -> Capabilities;

    /// Records intended actions. One record per (namespace, operation, key, generation), however many callers ask
    /// at once.
    fn submit(&self, submissions: Vec<Submission>) -> LedgerFuture<'_, Vec<Submitted>>;

    /// Leases due records to a worker, the most urgent and then the longest waiting first.
    ///
    /// Only operations, versions and queues that the claim offers are touched. No operation is leased beyond its limit: a
    /// lease counts until it is settled, given back or decided about by [`expire`](Self::expire), since its handler may run
    /// until then. Counting and leasing are one atomic step, whoever else claims.
    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Vec<Record>>;

    /// Applies commands to records: `decide` on the current record, written with compare-and-set on its token.
    fn apply(&self, orders: Vec<Order>) -> LedgerFuture<'_, Vec<Result<Answer, Refusal>>>;

    /// Asks the gates of destinations whether sends may begin, and reports how they ended.
    ///
    /// All callers of a store share one gate per name, whatever the namespace. Each order is answered by
    /// [`admission::decide_all`](crate::admission::decide_all) at the moment of the ledger's clock, on what those before it
    /// left.
    fn admit(&self, orders: Vec<GateOrder>) -> LedgerFuture<'_, Vec<GateAnswer>>;

    /// How the gates of all destinations stand that were ever asked, in the order of their names.
    fn gates(&self) -> LedgerFuture<'_, Vec<KnownGate>>;

    /// Decides about up to `limit` records whose lease is over, and says how many there were.
    fn expire(&self, limit: usize) -> LedgerFuture<'_, usize>;

    /// Looks at up to `limit` waiting records, and decides about those whose predecessor has ended, and about those that come
    /// after them.
    ///
    /// A ledger does so by itself right after an end that it writes, as far as it knows of followers; this finds the others,
    /// and what was left by a crash in between. Where many wait, one call looks at some of them, and the next ones at others:
    /// all have been looked at when nothing [is left](Looked::has_more).
    fn follow(&self, limit: usize) -> LedgerFuture<'_, Looked>;

    /// Puts tombstones in the place of up to `limit` records that are settled for longer than they are kept, and says
    /// how many there were.
    fn purge(&self, limit: usize) -> LedgerFuture<'_, usize>;

    /// What is on record under one identity.
    fn find(&self, id: RecordId) -> LedgerFuture<'_, Option<Stored>>;

    /// What is on record under one key, whatever the operation and generation, in the order of both.
    fn under_key(&self, namespace: Namespace, key: Key) -> LedgerFuture<'_, Vec<Stored>>;

    /// How many records there are of each operation, version and state. It reads all of them: for people, not for programs
    /// that ask often.
    fn census(&self, namespace: Namespace) -> LedgerFuture<'_, Vec<Count>>;

    /// Up to `limit` uncertain records of these operations and versions whose destination is to be asked now.
    fn to_reconcile(
        &self,
        namespace: Namespace,
        served: Vec<Served>,
        limit: usize,
    ) -> LedgerFuture<'_, Vec<Record>>;

    /// The places of these records, which are their public ids; `None` for those that are not on record. A purged record
    /// keeps its place.
    fn places(&self, ids: Vec<RecordId>) -> LedgerFuture<'_, Vec<Option<Cursor>>>;

    /// What is on record at one place.
    fn at(&self, place: Cursor) -> LedgerFuture<'_, Option<Stored>>;

    /// Records in the order of their creation, or the other way round, a page at a time.
    fn list(&self, filter: Filter) -> LedgerFuture<'_, Page>;

    /// The attempts of one record, in the order of their tokens.
    fn attempts(&self, id: RecordId) -> LedgerFuture<'_, Vec<Attempt>>;

    /// What people decided about one record, in the order of time.
    fn audit(&self, id: RecordId) -> LedgerFuture<'_, Vec<AuditEntry>>;

    /// What people decided about all records of a namespace, the latest first, a page at a time: those before a place of an
    /// earlier page, and at most `limit` (0 counts as 1).
    fn audit_log(
        &self,
        namespace: Namespace,
        before: Option<Cursor>,
        limit: usize,
    ) -> LedgerFuture<'_, AuditPage>;

    /// Compares the key templates that a worker declares with those on record, and records new ones, and what is hidden
    /// of their inputs. All are accepted, or nothing is recorded.
    ///
    /// A template that changed under an unchanged name would give the same business action a second identity, so it
    /// is an error unless the declaration carries a reason. One that was accepted once stays accepted beside those
    /// that came after it, without any reason: while a change is rolled out, old and new workers start in any order.
    ///
    /// What any worker hid of the inputs of one version stays hidden. Of the rest the last declaration counts: a ledger
    /// that programs without the code can submit to keeps it for them.
    fn declare(&self, declared: Vec<Declaration>) -> LedgerFuture<'_, ()>;

    /// What is hidden of the inputs of one operation and version; `None` if no worker declared it so far, so that it is
    /// not known what may be shown.
    fn hidden(&self, of: Served) -> LedgerFuture<'_, Option<HiddenPaths>>;

    /// What is declared about operations and versions, in the order of both.
    fn declarations(&self) -> LedgerFuture<'_, Vec<Declared>>;

    /// How far the store has come.
    fn mark(&self) -> LedgerFuture<'_, StoreMark>;

    /// Changes the mark, durably, and answers with the new one.
    fn change_mark(&self, change: MarkChange) -> LedgerFuture<'_, StoreMark>;

    /// Where workers keep the mark outside of the store, unless told otherwise; `None` if the ledger knows no place.
    fn high_water_file(&self) -> Option<HighWaterFile>;

    /// One document.
    fn document(&self, id: DocumentId) -> LedgerFuture<'_, Option<Document>>;

    /// Documents of one kind, in the order of the bytes of their names.
    fn documents(&self, query: DocumentQuery) -> LedgerFuture<'_, Vec<Document>>;

    /// Writes or deletes a document, if it stands in the version that the caller has seen. Of several writers who saw the same
    /// version one is told that it is done, and the others what stands.
    fn write_document(&self, write: DocumentWrite) -> LedgerFuture<'_, DocumentWritten>;

    /// Whether the store takes work, or is one end of a move.
    fn standing(&self) -> LedgerFuture<'_, StoreStanding> {
        Box::pin(async { Ok(StoreStanding::default()) })
    }

    /// Changes it, durably, as [`StoreStanding::after`] says, and answers with the new one.
    ///
    /// From then on every program, whatever it has in memory, is held to it: what the store does not do as it stands ends in
    /// [`LedgerError::Moved`] or [`LedgerError::Filling`], also in transactions that were open before and commit later. A
    /// submission whose key is on record may still be told so.
    ///
    /// A store becomes a target only if it holds nothing, and a source is frozen only if nothing runs in it. Opening a target
    /// begins an epoch of its mark that is later than that of the source.
    fn change_standing(&self, _: StandingChange) -> LedgerFuture<'_, Result<StoreStanding, StandingRefused>> {
        Box::pin(async { Err(LedgerError::Unsupported { what: "move to or from another store" }) })
    }

    /// What the store holds from `place` on, about `limit` things at once. It is the whole truth of a store that is frozen.
    fn export(&self, _place: Place, _limit: usize) -> LedgerFuture<'_, Batch> {
        Box::pin(async { Err(LedgerError::Unsupported { what: "move to or from another store" }) })
    }

    /// Writes a batch into a store that is filled, and where the next one begins: all of it in one transaction.
    fn import(&self, _: Import) -> LedgerFuture<'_, Result<(), StandingRefused>> {
        Box::pin(async { Err(LedgerError::Unsupported { what: "move to or from another store" }) })
    }

    /// How the store is set up. Changes nothing.
    fn inspect(&self) -> LedgerFuture<'_, Inspection>;

    /// How many records are due per operation, version and queue that no offer covers.
    fn unserved(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Vec<Unserved>>;

    /// How long, by the ledger's clock, until a claim with these offers would find something, or until the next lease of
    /// one of their operations ends; zero if that is now, `None` if there is neither.
    ///
    /// Records of an operation whose limit is reached are not due: one of its attempts has to end first.
    fn next_due(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Option<Duration>>;

    /// Changes whenever this process has made a record that may be due, or ended an attempt that a limit made others wait
    /// for, so that a sleeping worker wakes.
    fn wakeups(&self) -> watch::Receiver<u64>;

    /// Wakes the workers of this process, after a record was made where the ledger does not see it: in a transaction of
    /// the caller's.
    fn wake(&self);
}

/// What a ledger can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Capabilities {
    /// Records survive the end of the process.
    pub durable: bool,
    /// A submission can take part in the caller's own database transaction.
    pub transactional_submit: bool,
    /// The limit of an operation holds over all workers.
    pub operation_limits: bool,
}

impl Capabilities {
    /// What a ledger in a database can do.
    #[must_use]
    pub const fn of_database() -> Self {
        Self { durable: true, transactional_submit: true, operation_limits: true }
    }

    /// What a ledger in a distributed engine can do.
    #[must_use]
    pub const fn of_engine() -> Self {
        Self { durable: true, transactional_submit: false, operation_limits: false }
    }

    /// What a ledger in memory can do.
    #[must_use]
    pub const fn of_memory() -> Self {
        Self { durable: false, transactional_submit: false, operation_limits: true }
    }

    /// # Errors
    /// The first of these operations that asks for what this ledger does not do.
    pub(crate) fn check(self, declared: &[Declaration]) -> Result<(), LedgerError> {
        match declared.iter().find(|one| one.concurrency.is_some()) {
            Some(limited) if !self.operation_limits => {
                Err(LedgerError::LimitNotKept { operation: limited.operation.clone() })
            }
            _ => Ok(()),
        }
    }
}

/// Declares what a program serves, if the ledger can do all that it asks for.
pub(crate) async fn declare(ledger: &dyn Ledger, declared: Vec<Declaration>) -> Result<(), LedgerError> {
    ledger.capabilities().check(&declared)?;
    ledger.declare(declared).await
}

/// A worker's wish for records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// In which namespace.
    pub namespace: Namespace,
    /// What the worker can execute.
    pub offers: Vec<Offer>,
    /// Who asks.
    pub worker: WorkerId,
    /// How many at the most.
    pub limit: usize,
    /// For how long the lease is granted.
    pub lease: Duration,
    /// Count records as started at once where their destination deduplicates.
    pub start_if_safe: bool,
}

/// An operation and a version that a worker can execute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Served {
    /// The operation.
    pub operation: OperationName,
    /// The version; never substituted.
    pub version: Version,
}

/// Due records that no offer of a worker covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Unserved {
    /// What they ask for.
    pub wanted: Served,
    /// Where they wait.
    pub queue: Queue,
    /// How many there are.
    pub records: u64,
    /// Since when the longest waiting of them is due.
    pub since: Timestamp,
}

/// How many records of one operation and version are in one state. Tombstones are not counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Count {
    /// Operation and version.
    pub of: Served,
    /// The state.
    pub state: State,
    /// How many there are.
    pub records: u64,
    /// When the oldest of them was submitted.
    pub oldest: Timestamp,
}

/// What a worker says about an operation before it starts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Declaration {
    /// The operation.
    pub operation: OperationName,
    /// The version of its code.
    pub version: Version,
    /// Its key template as written.
    pub template: String,
    /// In which form JSON has the values of its placeholders, in order. Where there is none, it is not known.
    #[serde(skip)]
    pub forms: Vec<Form>,
    /// Why the template may differ from those on record.
    pub new_identity: Option<String>,
    /// What of an input is not shown to people.
    pub hidden: HiddenPaths,
    /// What of an input is no part of its fingerprint.
    pub volatile: VolatileFields,
    /// How its records are retried, bounded and kept.
    pub policy: Policy,
    /// What its destination promises.
    pub contract: Terms,
    /// How urgent its records are.
    pub priority: Priority,
    /// In which queue they wait.
    pub queue: Queue,
    /// How many of its attempts run at once over all workers, versions and queues; `None` if there is no limit.
    pub concurrency: Option<NonZeroU32>,
}

impl Declaration {
    /// What an attribute says that has only the required arguments, about an input without marks.
    #[must_use]
    pub fn new(operation: OperationName, version: Version, template: impl Into<String>) -> Self {
        Self {
            operation,
            version,
            template: template.into(),
            forms: Vec::new(),
            new_identity: None,
            hidden: HiddenPaths::default(),
            volatile: VolatileFields::default(),
            policy: Policy::DEFAULT,
            contract: Contract::NONE.terms(),
            priority: Priority::default(),
            queue: Queue::DEFAULT,
            concurrency: None,
        }
    }

    /// Whether the template is to be added to the `known` ones of its operation, which stand in the order in which they
    /// were accepted.
    ///
    /// # Errors
    /// [`LedgerError::TemplateChanged`] if it is none of them and no reason is declared.
    pub fn is_new(&self, known: &[String]) -> Result<bool, LedgerError> {
        match known.last() {
            Some(_) if known.contains(&self.template) => Ok(false),
            Some(newest) if self.new_identity.is_none() => Err(LedgerError::TemplateChanged {
                operation: self.operation.clone(),
                declared: self.template.clone(),
                on_record: newest.clone(),
            }),
            _ => Ok(true),
        }
    }
}

/// Which records to list. By default the oldest hundred of the namespace `default`, whatever their state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Only of this namespace.
    pub namespace: Namespace,
    /// Only of this operation.
    pub operation: Option<OperationName>,
    /// Only in this state.
    pub state: Option<State>,
    /// Only of this group.
    pub group: Option<GroupId>,
    /// Only those that were submitted before this point.
    pub created_before: Option<Timestamp>,
    /// The latest first, and not the oldest.
    pub newest_first: bool,
    /// Only behind this place of an earlier page, in the order of the listing.
    pub after: Option<Cursor>,
    /// How many at the most; 100 by default, and 0 counts as 1.
    pub limit: usize,
}

impl Filter {
    /// What stands before the first place of the listing. For those who write a ledger.
    #[must_use]
    pub const fn first_place(&self) -> Cursor {
        Cursor(if self.newest_first { i64::MAX } else { 0 })
    }
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            namespace: Namespace::default(),
            operation: None,
            state: None,
            group: None,
            created_before: None,
            newest_first: false,
            after: None,
            limit: 100,
        }
    }
}

/// A place in a listing, which a record keeps for ever: also its short public id, for URLs, where keys must not stand.
///
/// Places are given one after the other, so they are easy to guess and no secret: whoever answers for one has to look who
/// asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(pub i64);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A page of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The records.
    pub records: Vec<Record>,
    /// The place of each of them.
    pub places: Vec<Cursor>,
    /// Where the next page starts; `None` at the end.
    pub next: Option<Cursor>,
}
