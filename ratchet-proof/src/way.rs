//! A ledger with something between it and those who use it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ratchet_core::admission::{GateAnswer, GateOrder, KnownGate};
use ratchet_core::decide::{Answer, Command, Refusal, Stored};
use ratchet_core::ledger::{
    AuditPage, Capabilities, Claim, Count, Cursor, Declaration, Declared, Document, DocumentId,
    DocumentQuery, DocumentWrite, DocumentWritten, Filter, HighWaterFile, Inspection, Ledger, LedgerFuture,
    Looked, MarkChange, Offer, Order, Page, Served, StoreMark, Unserved,
};
use ratchet_core::{
    Attempt, AuditEntry, HiddenPaths, Key, Namespace, Record, RecordId, Submission, Submitted,
};
use tokio::sync::watch;

/// What stands between a store and its users.
pub(crate) trait Way: fmt::Debug + Send + Sync + Sized + 'static {
    /// Where the way leads.
    fn store(&self) -> &dyn Ledger;

    /// Takes a call to the store, and its answer back.
    fn carry<'a, T: Send + 'a>(
        &'a self,
        call: &'static str,
        work: LedgerFuture<'a, T>,
    ) -> LedgerFuture<'a, T>;

    fn submit(&self, submissions: Vec<Submission>) -> LedgerFuture<'_, Vec<Submitted>> {
        self.carry("submit", self.store().submit(submissions))
    }

    fn apply(self: &Arc<Self>, orders: Vec<Order>) -> LedgerFuture<'_, Vec<Result<Answer, Refusal>>> {
        self.carry(name_of(&orders), self.store().apply(orders))
    }

    fn expire(&self, limit: usize) -> LedgerFuture<'_, usize> {
        self.carry("expire", self.store().expire(limit))
    }

    fn wakeups(&self) -> watch::Receiver<u64> {
        self.store().wakeups()
    }
}

/// What is asked of a record.
pub(crate) fn name_of(orders: &[Order]) -> &'static str {
    match orders.first().map(|order| &order.command) {
        Some(Command::Lease { .. }) => "lease",
        Some(Command::Start { .. }) => "start",
        Some(Command::Renew { .. }) => "renew",
        Some(Command::Release { .. }) => "release",
        Some(Command::Pin { .. }) => "pin",
        Some(Command::BeginStep { .. } | Command::RestartStep { .. }) => "begin step",
        Some(Command::FinishStep { .. }) => "finish step",
        Some(Command::Settle { .. }) => "settle",
        Some(Command::Ask { .. }) => "ask",
        Some(Command::Resolve { .. }) => "resolve",
        _ => "order",
    }
}

/// The store at the other end of a way.
#[derive(Debug)]
pub(crate) struct Through<W>(pub(crate) Arc<W>);

impl<W: Way> Ledger for Through<W> {
    fn capabilities(&self) -> Capabilities {
        self.0.store().capabilities()
    }

    fn submit(&self, submissions: Vec<Submission>) -> LedgerFuture<'_, Vec<Submitted>> {
        self.0.submit(submissions)
    }

    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Vec<Record>> {
        self.0.carry("claim", self.0.store().claim(claim))
    }

    fn apply(&self, orders: Vec<Order>) -> LedgerFuture<'_, Vec<Result<Answer, Refusal>>> {
        self.0.apply(orders)
    }

    fn admit(&self, orders: Vec<GateOrder>) -> LedgerFuture<'_, Vec<GateAnswer>> {
        self.0.carry("admit", self.0.store().admit(orders))
    }

    fn gates(&self) -> LedgerFuture<'_, Vec<KnownGate>> {
        self.0.store().gates()
    }

    fn expire(&self, limit: usize) -> LedgerFuture<'_, usize> {
        self.0.expire(limit)
    }

    fn follow(&self, limit: usize) -> LedgerFuture<'_, Looked> {
        self.0.carry("follow", self.0.store().follow(limit))
    }

    fn purge(&self, limit: usize) -> LedgerFuture<'_, usize> {
        self.0.carry("purge", self.0.store().purge(limit))
    }

    fn find(&self, id: RecordId) -> LedgerFuture<'_, Option<Stored>> {
        self.0.carry("find", self.0.store().find(id))
    }

    fn under_key(&self, namespace: Namespace, key: Key) -> LedgerFuture<'_, Vec<Stored>> {
        self.0.store().under_key(namespace, key)
    }

    fn census(&self, namespace: Namespace) -> LedgerFuture<'_, Vec<Count>> {
        self.0.store().census(namespace)
    }

    fn to_reconcile(
        &self,
        namespace: Namespace,
        served: Vec<Served>,
        limit: usize,
    ) -> LedgerFuture<'_, Vec<Record>> {
        self.0.carry("look for questions", self.0.store().to_reconcile(namespace, served, limit))
    }

    fn places(&self, ids: Vec<RecordId>) -> LedgerFuture<'_, Vec<Option<Cursor>>> {
        self.0.store().places(ids)
    }

    fn at(&self, place: Cursor) -> LedgerFuture<'_, Option<Stored>> {
        self.0.store().at(place)
    }

    fn list(&self, filter: Filter) -> LedgerFuture<'_, Page> {
        self.0.store().list(filter)
    }

    fn attempts(&self, id: RecordId) -> LedgerFuture<'_, Vec<Attempt>> {
        self.0.store().attempts(id)
    }

    fn audit(&self, id: RecordId) -> LedgerFuture<'_, Vec<AuditEntry>> {
        self.0.store().audit(id)
    }

    fn audit_log(
        &self,
        namespace: Namespace,
        before: Option<Cursor>,
        limit: usize,
    ) -> LedgerFuture<'_, AuditPage> {
        self.0.store().audit_log(namespace, before, limit)
    }

    fn declare(&self, declared: Vec<Declaration>) -> LedgerFuture<'_, ()> {
        self.0.store().declare(declared)
    }

    fn hidden(&self, of: Served) -> LedgerFuture<'_, Option<HiddenPaths>> {
        self.0.store().hidden(of)
    }

    fn declarations(&self) -> LedgerFuture<'_, Vec<Declared>> {
        self.0.store().declarations()
    }

    fn mark(&self) -> LedgerFuture<'_, StoreMark> {
        self.0.store().mark()
    }

    fn change_mark(&self, change: MarkChange) -> LedgerFuture<'_, StoreMark> {
        self.0.store().change_mark(change)
    }

    fn high_water_file(&self) -> Option<HighWaterFile> {
        self.0.store().high_water_file()
    }

    fn document(&self, id: DocumentId) -> LedgerFuture<'_, Option<Document>> {
        self.0.store().document(id)
    }

    fn documents(&self, query: DocumentQuery) -> LedgerFuture<'_, Vec<Document>> {
        self.0.store().documents(query)
    }

    fn write_document(&self, write: DocumentWrite) -> LedgerFuture<'_, DocumentWritten> {
        self.0.store().write_document(write)
    }

    fn inspect(&self) -> LedgerFuture<'_, Inspection> {
        self.0.store().inspect()
    }

    fn unserved(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Vec<Unserved>> {
        self.0.carry("look for the unserved", self.0.store().unserved(namespace, offers))
    }

    fn next_due(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Option<Duration>> {
        self.0.carry("look for what is due", self.0.store().next_due(namespace, offers))
    }

    fn wakeups(&self) -> watch::Receiver<u64> {
        self.0.wakeups()
    }

    fn wake(&self) {
        self.0.store().wake();
    }
}
