//! A ledger in memory, for users' unit tests and as the reference that stores are compared with.

mod look;
mod moving;
mod rows;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ratchet_key::Key;
use tokio::sync::watch;

use super::follow::{Followers, waits_again};
use super::moving::{Batch, Import, Place, StandingChange, StandingRefused, StoreStanding};
use super::{
    AuditPage, Capabilities, Claim, Count, Cursor, Declaration, Declared, Document, DocumentId,
    DocumentQuery, DocumentWrite, DocumentWritten, Filter, Inspection, Ledger, LedgerError, LedgerFuture,
    Looked, MarkChange, Offer, Order, Page, Served, StoreMark, Unserved,
};
use crate::admission::{GateAnswer, GateOrder, KnownGate, decide_all};
use crate::decide::{Answer, Command, Moment, Refusal, Stored};
use crate::high_water::HighWaterFile;
use crate::model::{
    Attempt, AuditEntry, Ending, HiddenPaths, Namespace, Record, RecordId, Submission, Submitted,
};
use crate::random::{SharedRandom, SystemRandom};
use crate::time::{SharedClock, SystemClock};
use rows::Rows;

/// A ledger that lives as long as the process.
///
/// ```
/// # use ratchet_core::MemoryLedger;
/// let ledger = MemoryLedger::new();
/// ```
#[derive(Debug)]
pub struct MemoryLedger {
    rows: Mutex<Rows>,
    clock: SharedClock,
    random: SharedRandom,
    followers: Followers,
    wakeups: watch::Sender<u64>,
}

impl MemoryLedger {
    /// An empty ledger with the clocks of the operating system.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Self::with(SystemClock::shared(), SystemRandom::shared())
    }

    /// An empty ledger with a clock and a source of randomness of the caller's.
    #[must_use]
    pub fn with(clock: SharedClock, random: SharedRandom) -> Arc<Self> {
        let rows = Mutex::new(Rows::made_at(clock.now()));
        let followers = Followers::default();
        Arc::new(Self { rows, clock, random, followers, wakeups: watch::Sender::new(0) })
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows, if the store takes work.
    fn open_rows(&self) -> Result<MutexGuard<'_, Rows>, LedgerError> {
        let rows = self.rows();
        match rows.standing.refusal() {
            None => Ok(rows),
            Some(refused) => Err(refused),
        }
    }

    /// The rows, if they may change at all.
    fn rows_to_change(&self) -> Result<MutexGuard<'_, Rows>, LedgerError> {
        if matches!(self.rows().standing, StoreStanding::Draining { .. }) {
            Ok(self.rows())
        } else {
            self.open_rows()
        }
    }

    /// Decides about those that wait, if there are any.
    fn decide_followers(&self, rows: &mut Rows) -> usize {
        let mut decided = 0;
        while self.followers.may_wait() {
            let (look, waiting) = (self.followers.next(usize::MAX), rows.waiting());
            self.followers.looked(&look, &Looked { waiting: !waiting.is_empty(), ..Looked::default() });
            let follow = |(id, ended): (RecordId, Option<Ending>)| {
                rows.apply(&id, &Command::Follow { ended: ended? }, self.moment()).ok()
            };
            match waiting.into_iter().filter_map(follow).count() {
                0 => break,
                more => decided += more,
            }
        }
        decided
    }

    fn moment(&self) -> Moment {
        Moment { now: self.clock.now(), jitter: self.random.jitter() }
    }
}

impl Ledger for MemoryLedger {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of_memory()
    }

    fn submit(&self, submissions: Vec<Submission>) -> LedgerFuture<'_, Vec<Submitted>> {
        Box::pin(async move {
            let now = self.clock.now();
            let answers = {
                let mut rows = self.open_rows()?;
                let answers = submissions.iter().map(|submission| rows.submit(submission, now)).collect();
                if submissions.iter().any(|submission| submission.after.is_some()) {
                    self.followers.arrived();
                    self.decide_followers(&mut rows);
                }
                answers
            };
            self.wake();
            Ok(answers)
        })
    }

    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Vec<Record>> {
        Box::pin(async move { Ok(self.open_rows()?.claim(&claim, self.clock.now(), || self.moment())) })
    }

    fn apply(&self, orders: Vec<Order>) -> LedgerFuture<'_, Vec<Result<Answer, Refusal>>> {
        Box::pin(async move {
            let answers = {
                let begins = orders.iter().any(|order| moving::begins_something(&order.command));
                let mut rows = if begins { self.open_rows()? } else { self.rows_to_change()? };
                let answers: Vec<_> =
                    orders.iter().map(|order| rows.apply(&order.id, &order.command, self.moment())).collect();
                if waits_again(&answers) {
                    self.followers.arrived();
                }
                self.decide_followers(&mut rows);
                answers
            };
            self.wake();
            Ok(answers)
        })
    }

    fn expire(&self, limit: usize) -> LedgerFuture<'_, usize> {
        Box::pin(async move {
            let decided = {
                let mut rows = self.rows_to_change()?;
                let decided = rows.expire(limit, self.clock.now(), || self.moment());
                self.decide_followers(&mut rows);
                decided
            };
            if decided > 0 {
                self.wake();
            }
            Ok(decided)
        })
    }

    fn follow(&self, _: usize) -> LedgerFuture<'_, Looked> {
        Box::pin(async move {
            let decided = self.decide_followers(&mut *self.rows_to_change()?);
            if decided > 0 {
                self.wake();
            }
            Ok(Looked { decided, ..Looked::default() })
        })
    }

    fn purge(&self, limit: usize) -> LedgerFuture<'_, usize> {
        Box::pin(async move { Ok(self.rows_to_change()?.purge(limit, self.clock.now())) })
    }

    fn admit(&self, orders: Vec<GateOrder>) -> LedgerFuture<'_, Vec<GateAnswer>> {
        Box::pin(async move { Ok(decide_all(&mut self.rows_to_change()?.gates, &orders, self.clock.now())) })
    }

    fn gates(&self) -> LedgerFuture<'_, Vec<KnownGate>> {
        Box::pin(async move {
            let known = |(destination, gate)| KnownGate { destination, gate };
            Ok(self.rows().gates.clone().into_iter().map(known).collect())
        })
    }

    fn find(&self, id: RecordId) -> LedgerFuture<'_, Option<Stored>> {
        Box::pin(async move { Ok(self.rows().by_id.get(&id).map(|row| row.stored.clone())) })
    }

    fn under_key(&self, namespace: Namespace, key: Key) -> LedgerFuture<'_, Vec<Stored>> {
        Box::pin(async move {
            let rows = self.rows();
            let under = rows.by_id.iter().filter(|(id, _)| id.namespace == namespace && id.key == key);
            Ok(under.map(|(_, row)| row.stored.clone()).collect())
        })
    }

    fn census(&self, namespace: Namespace) -> LedgerFuture<'_, Vec<Count>> {
        Box::pin(async move { Ok(self.rows().census(&namespace)) })
    }

    fn to_reconcile(
        &self,
        namespace: Namespace,
        served: Vec<Served>,
        limit: usize,
    ) -> LedgerFuture<'_, Vec<Record>> {
        Box::pin(async move { Ok(self.rows().to_reconcile(&namespace, &served, limit, self.clock.now())) })
    }

    fn places(&self, ids: Vec<RecordId>) -> LedgerFuture<'_, Vec<Option<Cursor>>> {
        Box::pin(async move {
            let rows = self.rows();
            let place = |id| rows.order.iter().find(|(_, other)| *other == id).map(|(place, _)| *place);
            Ok(ids.iter().map(place).collect())
        })
    }

    fn at(&self, place: Cursor) -> LedgerFuture<'_, Option<Stored>> {
        Box::pin(async move {
            let rows = self.rows();
            let row = rows.order.get(&place).and_then(|id| rows.by_id.get(id));
            Ok(row.map(|row| row.stored.clone()))
        })
    }

    fn list(&self, filter: Filter) -> LedgerFuture<'_, Page> {
        Box::pin(async move { Ok(self.rows().list(&filter)) })
    }

    fn attempts(&self, id: RecordId) -> LedgerFuture<'_, Vec<Attempt>> {
        Box::pin(
            async move { Ok(self.rows().by_id.get(&id).map(|row| row.attempts.clone()).unwrap_or_default()) },
        )
    }

    fn audit(&self, id: RecordId) -> LedgerFuture<'_, Vec<AuditEntry>> {
        Box::pin(async move {
            let rows = self.rows();
            let about = rows.audit.values().filter(|(about, _)| *about == id);
            Ok(about.map(|(_, entry)| entry.clone()).collect())
        })
    }

    fn audit_log(
        &self,
        namespace: Namespace,
        before: Option<Cursor>,
        limit: usize,
    ) -> LedgerFuture<'_, AuditPage> {
        Box::pin(async move { Ok(self.rows().audit_log(&namespace, before, limit)) })
    }

    fn declare(&self, declared: Vec<Declaration>) -> LedgerFuture<'_, ()> {
        Box::pin(async move { self.rows_to_change()?.declare(declared) })
    }

    fn hidden(&self, of: Served) -> LedgerFuture<'_, Option<HiddenPaths>> {
        Box::pin(async move { Ok(self.rows().hidden.get(&of).cloned()) })
    }

    fn declarations(&self) -> LedgerFuture<'_, Vec<Declared>> {
        Box::pin(async move {
            Ok(self.rows().declared.values().map(|described| described.declared.clone()).collect())
        })
    }

    fn mark(&self) -> LedgerFuture<'_, StoreMark> {
        Box::pin(async move { Ok(self.rows().mark) })
    }

    fn change_mark(&self, change: MarkChange) -> LedgerFuture<'_, StoreMark> {
        Box::pin(async move {
            let now = self.clock.now();
            Ok(self.rows_to_change()?.change_mark(change, now))
        })
    }

    fn high_water_file(&self) -> Option<HighWaterFile> {
        None
    }

    fn document(&self, id: DocumentId) -> LedgerFuture<'_, Option<Document>> {
        Box::pin(async move { Ok(self.rows().documents.get(&id).cloned()) })
    }

    fn documents(&self, query: DocumentQuery) -> LedgerFuture<'_, Vec<Document>> {
        Box::pin(async move {
            let rows = self.rows();
            let wanted = rows.documents.values().filter(|document| query.wants(&document.id));
            Ok(wanted.take(query.limit).cloned().collect())
        })
    }

    fn write_document(&self, write: DocumentWrite) -> LedgerFuture<'_, DocumentWritten> {
        Box::pin(async move { Ok(self.rows_to_change()?.write_document(write)) })
    }

    fn standing(&self) -> LedgerFuture<'_, StoreStanding> {
        Box::pin(async move { Ok(self.rows().standing.clone()) })
    }

    fn change_standing(
        &self,
        change: StandingChange,
    ) -> LedgerFuture<'_, Result<StoreStanding, StandingRefused>> {
        Box::pin(async move {
            let now = self.clock.now();
            Ok(self.rows().change_standing(&change, now))
        })
    }

    fn export(&self, place: Place, limit: usize) -> LedgerFuture<'_, Batch> {
        Box::pin(async move { Ok(self.rows().export(&place, limit)) })
    }

    fn import(&self, import: Import) -> LedgerFuture<'_, Result<(), StandingRefused>> {
        Box::pin(async move {
            let imported = self.rows().import(import);
            self.followers.arrived();
            Ok(imported)
        })
    }

    fn inspect(&self) -> LedgerFuture<'_, Inspection> {
        Box::pin(async move { Ok(Inspection { now: self.clock.now(), settings: Vec::new() }) })
    }

    fn unserved(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Vec<Unserved>> {
        Box::pin(async move { Ok(self.rows().unserved(&namespace, &offers, self.clock.now())) })
    }

    fn next_due(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Option<Duration>> {
        Box::pin(async move { Ok(self.rows().next_due(&namespace, &offers, self.clock.now())) })
    }

    fn wakeups(&self) -> watch::Receiver<u64> {
        self.wakeups.subscribe()
    }

    fn wake(&self) {
        self.wakeups.send_modify(|count| *count += 1);
    }
}
