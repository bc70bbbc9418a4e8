//! A ledger that does what a test says instead of what it should.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratchet::ledger::{
    AuditPage, Capabilities, Claim, Count, Cursor, Declaration, Declared, Document, DocumentId,
    DocumentQuery, DocumentWrite, DocumentWritten, Filter, Inspection, Ledger, LedgerFuture, Looked,
    MarkChange, Offer, Order, Page, Served, StoreMark, Unserved,
};
use ratchet::{
    Answer, Attempt, AuditEntry, HiddenPaths, Key, LedgerError, Namespace, Ratchet, Record, RecordId,
    Refusal, Stored,
};
use ratchet_core::admission::{GateAnswer, GateOrder, KnownGate};
use ratchet_core::{HighWaterFile, MemoryLedger, Submission, Submitted};
use tokio::sync::watch;

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is carried out, and its answer is lost.
    LoseAnswer,
    /// It is not carried out, this one time.
    FailOnce,
    /// It is not carried out.
    Fail,
    /// It never returns.
    Hang,
}

/// Which calls a fault concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Submit,
    Claim,
    Adopt,
    Start,
    Renew,
    BeginStep,
    RestartStep,
    FinishStep,
    Settle,
    Ask,
}

#[derive(Debug)]
pub(crate) struct FaultyLedger {
    inner: Arc<MemoryLedger>,
    fault: Mutex<Option<(Call, Fault)>>,
    held: Mutex<Option<RecordId>>,
    claims: AtomicUsize,
    questions: AtomicUsize,
}

impl FaultyLedger {
    pub(crate) fn ratchet() -> (Ratchet, Arc<Self>) {
        let ledger = Arc::new(Self {
            inner: MemoryLedger::new(),
            fault: Mutex::default(),
            held: Mutex::default(),
            claims: AtomicUsize::new(0),
            questions: AtomicUsize::new(0),
        });
        (Ratchet::with_ledger(ledger.clone()), ledger)
    }

    /// How often a worker tried to claim.
    pub(crate) fn claims(&self) -> usize {
        self.claims.load(Ordering::SeqCst)
    }

    /// How often a worker looked for records to ask about.
    pub(crate) fn questions(&self) -> usize {
        self.questions.load(Ordering::SeqCst)
    }

    pub(crate) fn set(&self, fault: Option<(Call, Fault)>) {
        *self.fault.lock().unwrap() = fault;
    }

    /// Somebody else keeps this record locked: every call that has an order for it fails as a whole.
    pub(crate) fn hold(&self, record: Option<RecordId>) {
        *self.held.lock().unwrap() = record;
    }

    fn is_held(&self, orders: &[Order]) -> bool {
        let held = self.held.lock().unwrap();
        orders.iter().any(|order| held.as_ref() == Some(&order.id))
    }

    async fn with_fault<T>(&self, call: Option<Call>, work: LedgerFuture<'_, T>) -> Result<T, LedgerError> {
        let fault = self.fault.lock().unwrap().filter(|(concerned, _)| Some(*concerned) == call);
        match fault.map(|(_, fault)| fault) {
            None => work.await,
            Some(Fault::Fail) => Err(cut()),
            Some(Fault::Hang) => std::future::pending().await,
            Some(Fault::FailOnce) => {
                self.set(None);
                Err(cut())
            }
            Some(Fault::LoseAnswer) => {
                let _ = work.await;
                Err(cut())
            }
        }
    }
}

fn cut() -> LedgerError {
    LedgerError::Store { doing: "answer", source: "the connection was cut".into() }
}

fn call_of(orders: &[Order]) -> Option<Call> {
    use ratchet::decide::Command;

    match orders.first()?.command {
        Command::Adopt { .. } => Some(Call::Adopt),
        Command::Start { .. } => Some(Call::Start),
        Command::Renew { .. } => Some(Call::Renew),
        Command::BeginStep { .. } => Some(Call::BeginStep),
        Command::RestartStep { .. } => Some(Call::RestartStep),
        Command::FinishStep { .. } => Some(Call::FinishStep),
        Command::Settle { .. } => Some(Call::Settle),
        Command::Ask { .. } => Some(Call::Ask),
        _ => None,
    }
}

impl Ledger for FaultyLedger {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn submit(&self, submissions: Vec<Submission>) -> LedgerFuture<'_, Vec<Submitted>> {
        Box::pin(self.with_fault(Some(Call::Submit), self.inner.submit(submissions)))
    }

    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Vec<Record>> {
        self.claims.fetch_add(1, Ordering::SeqCst);
        Box::pin(self.with_fault(Some(Call::Claim), self.inner.claim(claim)))
    }

    fn apply(&self, orders: Vec<Order>) -> LedgerFuture<'_, Vec<Result<Answer, Refusal>>> {
        if self.is_held(&orders) {
            return Box::pin(std::future::ready(Err(LedgerError::Busy { waited: Duration::ZERO })));
        }
        Box::pin(self.with_fault(call_of(&orders), self.inner.apply(orders)))
    }

    fn admit(&self, orders: Vec<GateOrder>) -> LedgerFuture<'_, Vec<GateAnswer>> {
        self.inner.admit(orders)
    }

    fn gates(&self) -> LedgerFuture<'_, Vec<KnownGate>> {
        self.inner.gates()
    }

    fn expire(&self, limit: usize) -> LedgerFuture<'_, usize> {
        self.inner.expire(limit)
    }

    fn follow(&self, limit: usize) -> LedgerFuture<'_, Looked> {
        self.inner.follow(limit)
    }

    fn purge(&self, limit: usize) -> LedgerFuture<'_, usize> {
        self.inner.purge(limit)
    }

    fn find(&self, id: RecordId) -> LedgerFuture<'_, Option<Stored>> {
        self.inner.find(id)
    }

    fn under_key(&self, namespace: Namespace, key: Key) -> LedgerFuture<'_, Vec<Stored>> {
        self.inner.under_key(namespace, key)
    }

    fn census(&self, namespace: Namespace) -> LedgerFuture<'_, Vec<Count>> {
        self.inner.census(namespace)
    }

    fn to_reconcile(
        &self,
        namespace: Namespace,
        served: Vec<Served>,
        limit: usize,
    ) -> LedgerFuture<'_, Vec<Record>> {
        self.questions.fetch_add(1, Ordering::SeqCst);
        self.inner.to_reconcile(namespace, served, limit)
    }

    fn places(&self, ids: Vec<RecordId>) -> LedgerFuture<'_, Vec<Option<Cursor>>> {
        self.inner.places(ids)
    }

    fn at(&self, place: Cursor) -> LedgerFuture<'_, Option<Stored>> {
        self.inner.at(place)
    }

    fn list(&self, filter: Filter) -> LedgerFuture<'_, Page> {
        self.inner.list(filter)
    }

    fn attempts(&self, id: RecordId) -> LedgerFuture<'_, Vec<Attempt>> {
        self.inner.attempts(id)
    }

    fn audit(&self, id: RecordId) -> LedgerFuture<'_, Vec<AuditEntry>> {
        self.inner.audit(id)
    }

    fn audit_log(
        &self,
        namespace: Namespace,
        before: Option<Cursor>,
        limit: usize,
    ) -> LedgerFuture<'_, AuditPage> {
        self.inner.audit_log(namespace, before, limit)
    }

    fn declare(&self, declared: Vec<Declaration>) -> LedgerFuture<'_, ()> {
        self.inner.declare(declared)
    }

    fn hidden(&self, of: Served) -> LedgerFuture<'_, Option<HiddenPaths>> {
        self.inner.hidden(of)
    }

    fn declarations(&self) -> LedgerFuture<'_, Vec<Declared>> {
        self.inner.declarations()
    }

    fn mark(&self) -> LedgerFuture<'_, StoreMark> {
        self.inner.mark()
    }

    fn change_mark(&self, change: MarkChange) -> LedgerFuture<'_, StoreMark> {
        self.inner.change_mark(change)
    }

    fn high_water_file(&self) -> Option<HighWaterFile> {
        self.inner.high_water_file()
    }

    fn document(&self, id: DocumentId) -> LedgerFuture<'_, Option<Document>> {
        self.inner.document(id)
    }

    fn documents(&self, query: DocumentQuery) -> LedgerFuture<'_, Vec<Document>> {
        self.inner.documents(query)
    }

    fn write_document(&self, write: DocumentWrite) -> LedgerFuture<'_, DocumentWritten> {
        self.inner.write_document(write)
    }

    fn inspect(&self) -> LedgerFuture<'_, Inspection> {
        self.inner.inspect()
    }

    fn unserved(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Vec<Unserved>> {
        self.inner.unserved(namespace, offers)
    }

    fn next_due(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Option<Duration>> {
        self.inner.next_due(namespace, offers)
    }

    fn wakeups(&self) -> watch::Receiver<u64> {
        self.inner.wakeups()
    }

    fn wake(&self) {
        self.inner.wake();
    }
}
