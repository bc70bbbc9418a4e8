//! The ledger: calls to the objects that keep it, and questions to the engine about all of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ratchet_core::admission::{Gate, GateAnswer, GateOrder, KnownGate};
use ratchet_core::decide::{Answer, Command, Refusal, Stored};
use ratchet_core::ledger::{
    AuditPage, Capabilities, Claim, Count, Cursor, Declaration, Declared, Document, DocumentId,
    DocumentQuery, DocumentWrite, DocumentWritten, Filter, Inspection, LedgerFuture, Looked, MarkChange,
    Offer, Order, Page, Served, Setting, StoreMark, Unserved,
};
use ratchet_core::random::{SharedRandom, SystemRandom};
use ratchet_core::time::SharedClock;
use ratchet_core::{
    Attempt, AuditEntry, DestinationName, Fingerprint, HiddenPaths, HighWaterFile, Key, Ledger, LedgerError,
    Namespace, Record, RecordId, Submission, Submitted, SystemClock,
};
use tokio::sync::{Mutex, watch};

use crate::address::Address;
use crate::book::{Book, Ordered, Placed};
use crate::engine::Engine;
use crate::names;
use crate::places::Places;
use crate::record_object::key_of;
use crate::store_object::{Catalogue, TemplateChanged};
use crate::together::together;

/// A ledger whose records are virtual objects of a Restate engine.
///
/// The handlers of those objects are served by worker programs ([`serve`](crate::serve)): until one was started, and while
/// none runs, calls wait or fail.
///
/// ```no_run
/// # async fn example() -> Result<(), ratchet_core::LedgerError> {
/// let ledger = ratchet_restate::RestateLedger::open("restate://127.0.0.1:8080")?;
/// # drop(ledger); Ok(()) }
/// ```
pub struct RestateLedger {
    pub(crate) engine: Engine,
    pub(crate) clock: SharedClock,
    pub(crate) random: SharedRandom,
    places: Mutex<Places>,
    wakeups: watch::Sender<u64>,
}

impl fmt::Debug for RestateLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestateLedger").finish_non_exhaustive()
    }
}

impl RestateLedger {
    /// A ledger on the engine at `restate://HOST[:PORT][,…][?admin=HOST[:PORT][,…]]`. Nothing is asked of the engine yet.
    ///
    /// # Errors
    /// [`LedgerError::Address`] if the address is none.
    pub fn open(url: &str) -> Result<Arc<Self>, LedgerError> {
        Self::open_with(url, SystemClock::shared(), SystemRandom::shared())
    }

    /// The same with a clock and a source of randomness of the caller's, for tests. The program that serves the handlers
    /// needs the same.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(url: &str, clock: SharedClock, random: SharedRandom) -> Result<Arc<Self>, LedgerError> {
        let engine = Engine::new(Address::parse(url)?)?;
        let wakeups = watch::Sender::new(0);
        Ok(Arc::new(Self { engine, clock, random, places: Mutex::default(), wakeups }))
    }

    pub(crate) async fn book(&self, id: &RecordId) -> Result<Book, LedgerError> {
        self.engine.call(names::RECORD, &key_of(id), "read", &(), "read a record").await
    }

    async fn catalogue(&self) -> Result<Catalogue, LedgerError> {
        self.engine.call(names::STORE, names::WHOLE, "catalogue", &(), "read what is declared").await
    }

    /// Looks whether a declaration can be accepted, without calling anybody who might have to be registered for it.
    pub(crate) async fn check_declared(&self, declared: Vec<Declaration>) -> Result<(), LedgerError> {
        let known: Vec<Catalogue> =
            self.engine.entries(names::STORE, names::CATALOGUE, "look up what is declared").await?;
        Ok(known.into_iter().next().unwrap_or_default().declare(declared)?)
    }

    /// As many places as are given out together.
    async fn next_places(&self, count: usize) -> Result<i64, LedgerError> {
        let mut places = self.places.lock().await;
        places.take(&self.engine, self.clock.monotonic(), count).await
    }

    async fn submit_to_one(
        &self,
        submissions: Vec<Placed<Submission>>,
    ) -> Result<Vec<Submitted>, LedgerError> {
        let Some(first) = submissions.first() else { return Ok(Vec::new()) };
        let key = key_of(&first.what.id);
        self.engine.call(names::RECORD, &key, "submit", &submissions, "submit").await
    }

    /// Commands for the records of one object.
    async fn command(
        &self,
        key: &str,
        orders: &[Placed<Ordered>],
    ) -> Result<Vec<Result<Answer, Refusal>>, LedgerError> {
        match self.engine.call(names::RECORD, key, "command", orders, "change a record").await {
            Err(LedgerError::Damaged { what }) => {
                Ok(orders.iter().map(|_| Err(Refusal::Damaged { what: what.clone() })).collect())
            }
            answers => answers,
        }
    }

    /// One command for one record.
    pub(crate) async fn order(
        &self,
        id: &RecordId,
        command: Command,
    ) -> Result<Result<Answer, Refusal>, LedgerError> {
        let order = Placed { place: 0, what: Ordered { generation: id.generation, command } };
        let answers = self.command(&key_of(id), &[order]).await?;
        answers.into_iter().next().ok_or(LedgerError::Closed)
    }

    /// The records that have these identities, as far as they are no tombstones.
    pub(crate) async fn records(&self, ids: Vec<RecordId>) -> Result<Vec<Record>, LedgerError> {
        let found = together(ids, |id| async move { self.find(id).await }).await?;
        let record = |stored: Stored| match stored {
            Stored::Record(record) => Some(*record),
            Stored::Tombstone(_) => None,
        };
        Ok(found.into_iter().flatten().filter_map(record).collect())
    }
}

/// Things, each with its position in what was asked.
type Positioned<T> = Vec<(usize, T)>;

/// What belongs together, in the order of what was asked.
fn grouped<T>(items: Vec<T>, key: impl Fn(&T) -> String) -> Vec<(String, Positioned<T>)> {
    let mut groups: BTreeMap<String, Positioned<T>> = BTreeMap::new();
    for (at, item) in items.into_iter().enumerate() {
        groups.entry(key(&item)).or_default().push((at, item));
    }
    groups.into_iter().collect()
}

/// Answers of groups, in the order of what was asked.
fn in_order<T>(answers: Vec<Positioned<T>>) -> Vec<T> {
    let mut answers: Vec<(usize, T)> = answers.into_iter().flatten().collect();
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

impl Ledger for RestateLedger {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of_engine()
    }

    fn submit(&self, submissions: Vec<Submission>) -> LedgerFuture<'_, Vec<Submitted>> {
        Box::pin(async move {
            let first = self.next_places(submissions.len()).await?;
            let ordered = submissions.iter().any(|submission| submission.after.is_some());
            let placed: Vec<Placed<Submission>> =
                (first..).zip(submissions).map(|(place, what)| Placed { place, what }).collect();
            let answers = if ordered {
                // One of them may come after another one.
                let mut answers = Vec::new();
                for one in placed {
                    answers.extend(self.submit_to_one(vec![one]).await?);
                }
                answers
            } else {
                let groups = grouped(placed, |placed| key_of(&placed.what.id));
                let ask = |(_, group): (String, Vec<(usize, Placed<Submission>)>)| async move {
                    let (order, group): (Vec<usize>, Vec<_>) = group.into_iter().unzip();
                    Ok(order.into_iter().zip(self.submit_to_one(group).await?).collect())
                };
                in_order(together(groups, ask).await?)
            };
            self.wake();
            Ok(answers)
        })
    }

    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Vec<Record>> {
        Box::pin(async move { self.claim_found(claim).await })
    }

    fn apply(&self, orders: Vec<Order>) -> LedgerFuture<'_, Vec<Result<Answer, Refusal>>> {
        Box::pin(async move {
            let decisions = orders.iter().filter(|order| is_of_people(&order.command)).count();
            let first = if decisions == 0 { 0 } else { self.next_places(orders.len()).await? };
            let placed = (first..).zip(orders).map(|(place, Order { id, command })| {
                (key_of(&id), Placed { place, what: Ordered { generation: id.generation, command } })
            });
            let groups = grouped(placed.collect(), |(key, _)| key.clone());
            let ask = |(key, group): (String, Positioned<(String, Placed<Ordered>)>)| async move {
                let (order, group): (Vec<usize>, Vec<_>) =
                    group.into_iter().map(|(at, (_, order))| (at, order)).unzip();
                Ok(order.into_iter().zip(self.command(&key, &group).await?).collect())
            };
            let answers = in_order(together(groups, ask).await?);
            self.wake();
            Ok(answers)
        })
    }

    fn admit(&self, orders: Vec<GateOrder>) -> LedgerFuture<'_, Vec<GateAnswer>> {
        Box::pin(async move {
            let groups = grouped(orders, |order| gate_key(order.destination.name().as_str()));
            let ask = |(key, group): (String, Vec<(usize, GateOrder)>)| async move {
                let (order, group): (Vec<usize>, Vec<_>) = group.into_iter().unzip();
                let answers: Vec<GateAnswer> =
                    self.engine.call(names::STORE, &key, "admit", &group, "ask a gate").await?;
                Ok(order.into_iter().zip(answers).collect())
            };
            Ok(in_order(together(groups, ask).await?))
        })
    }

    fn gates(&self) -> LedgerFuture<'_, Vec<KnownGate>> {
        Box::pin(async move {
            let mut gates: Vec<(DestinationName, Gate)> =
                self.engine.entries(names::STORE, names::GATE, "list the gates").await?;
            gates.sort_by(|(one, _), (other, _)| one.cmp(other));
            Ok(gates.into_iter().map(|(destination, gate)| KnownGate { destination, gate }).collect())
        })
    }

    fn expire(&self, limit: usize) -> LedgerFuture<'_, usize> {
        Box::pin(async move { self.expire_found(limit).await })
    }

    fn follow(&self, limit: usize) -> LedgerFuture<'_, Looked> {
        Box::pin(async move { self.follow_found(limit).await })
    }

    fn purge(&self, limit: usize) -> LedgerFuture<'_, usize> {
        Box::pin(async move { self.purge_found(limit).await })
    }

    fn find(&self, id: RecordId) -> LedgerFuture<'_, Option<Stored>> {
        Box::pin(async move { Ok(self.book(&id).await?.row(id.generation).map(|row| row.stored.clone())) })
    }

    fn under_key(&self, namespace: Namespace, key: Key) -> LedgerFuture<'_, Vec<Stored>> {
        Box::pin(async move { self.found_under_key(&namespace, &key).await })
    }

    fn census(&self, namespace: Namespace) -> LedgerFuture<'_, Vec<Count>> {
        Box::pin(async move { self.count_all(&namespace).await })
    }

    fn to_reconcile(
        &self,
        namespace: Namespace,
        served: Vec<Served>,
        limit: usize,
    ) -> LedgerFuture<'_, Vec<Record>> {
        Box::pin(async move { self.questions(&namespace, &served, limit).await })
    }

    fn places(&self, ids: Vec<RecordId>) -> LedgerFuture<'_, Vec<Option<Cursor>>> {
        Box::pin(async move {
            let place = |id: RecordId| async move {
                Ok(self.book(&id).await?.row(id.generation).map(|row| Cursor(row.place)))
            };
            together(ids, place).await
        })
    }

    fn at(&self, place: Cursor) -> LedgerFuture<'_, Option<Stored>> {
        Box::pin(async move {
            let entry = self.index().await?.into_iter().find(|entry| entry.place == place.0);
            match entry {
                Some(entry) => self.find(entry.id).await,
                None => Ok(None),
            }
        })
    }

    fn list(&self, filter: Filter) -> LedgerFuture<'_, Page> {
        Box::pin(async move { self.page(&filter).await })
    }

    fn attempts(&self, id: RecordId) -> LedgerFuture<'_, Vec<Attempt>> {
        Box::pin(async move {
            let book = self.book(&id).await?;
            Ok(book.row(id.generation).map(|row| row.attempts.clone()).unwrap_or_default())
        })
    }

    fn audit(&self, id: RecordId) -> LedgerFuture<'_, Vec<AuditEntry>> {
        Box::pin(async move {
            let book = self.book(&id).await?;
            let entries = book.row(id.generation).map(|row| row.audit.clone()).unwrap_or_default();
            Ok(entries.into_iter().map(|(_, entry)| entry).collect())
        })
    }

    fn audit_log(
        &self,
        namespace: Namespace,
        before: Option<Cursor>,
        limit: usize,
    ) -> LedgerFuture<'_, AuditPage> {
        Box::pin(async move { self.decisions(&namespace, before, limit).await })
    }

    fn declare(&self, declared: Vec<Declaration>) -> LedgerFuture<'_, ()> {
        Box::pin(async move {
            let answer: Result<(), TemplateChanged> =
                self.engine.call(names::STORE, names::WHOLE, "declare", &declared, "declare").await?;
            Ok(answer?)
        })
    }

    fn hidden(&self, of: Served) -> LedgerFuture<'_, Option<HiddenPaths>> {
        Box::pin(async move {
            let entries = self.catalogue().await?.entries;
            Ok(entries.into_iter().find(|(declared, _)| declared.of == of).map(|(_, hidden)| hidden))
        })
    }

    fn declarations(&self) -> LedgerFuture<'_, Vec<Declared>> {
        Box::pin(async move {
            Ok(self.catalogue().await?.entries.into_iter().map(|(declared, _)| declared).collect())
        })
    }

    fn mark(&self) -> LedgerFuture<'_, StoreMark> {
        Box::pin(async move {
            let nothing: [MarkChange; 0] = [];
            self.engine.call(names::STORE, names::WHOLE, "mark", &nothing[..], "read the mark").await
        })
    }

    fn change_mark(&self, change: MarkChange) -> LedgerFuture<'_, StoreMark> {
        Box::pin(async move {
            self.engine.call(names::STORE, names::WHOLE, "mark", &[change], "change the mark").await
        })
    }

    fn high_water_file(&self) -> Option<HighWaterFile> {
        None
    }

    fn document(&self, id: DocumentId) -> LedgerFuture<'_, Option<Document>> {
        Box::pin(async move {
            self.engine.call(names::STORE, &document_key(&id), "document", &(), "read a document").await
        })
    }

    fn documents(&self, query: DocumentQuery) -> LedgerFuture<'_, Vec<Document>> {
        Box::pin(async move {
            let all: Vec<Document> =
                self.engine.entries(names::STORE, names::DOCUMENT, "list documents").await?;
            let mut wanted: Vec<Document> =
                all.into_iter().filter(|document| query.wants(&document.id)).collect();
            wanted.sort_by(|one, other| one.id.cmp(&other.id));
            wanted.truncate(query.limit);
            Ok(wanted)
        })
    }

    fn write_document(&self, write: DocumentWrite) -> LedgerFuture<'_, DocumentWritten> {
        Box::pin(async move {
            let key = document_key(&write.id);
            self.engine.call(names::STORE, &key, "write", &write, "write a document").await
        })
    }

    fn inspect(&self) -> LedgerFuture<'_, Inspection> {
        Box::pin(async move {
            let version = self.engine.version().await?;
            let settings = vec![Setting::sound("restate-server", version)];
            Ok(Inspection { now: self.clock.now(), settings })
        })
    }

    fn unserved(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Vec<Unserved>> {
        Box::pin(async move { self.left_behind(&namespace, &offers).await })
    }

    fn next_due(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Option<Duration>> {
        Box::pin(async move { self.wait_for_due(&namespace, &offers).await })
    }

    fn wakeups(&self) -> watch::Receiver<u64> {
        self.wakeups.subscribe()
    }

    fn wake(&self) {
        self.wakeups.send_modify(|count| *count += 1);
    }
}

/// Those are listed in the audit trail, where each has a place.
fn is_of_people(command: &Command) -> bool {
    matches!(command, Command::Cancel { .. } | Command::Resolve { .. } | Command::Replay { .. })
}

fn gate_key(destination: &str) -> String {
    Fingerprint::of_parts(&[names::GATE.as_bytes(), destination.as_bytes()]).to_string()
}

fn document_key(DocumentId { kind, namespace, name }: &DocumentId) -> String {
    let parts = [names::DOCUMENT, kind.as_str(), namespace.as_str(), name.as_str()];
    Fingerprint::of_parts(&parts.map(str::as_bytes)).to_string()
}
