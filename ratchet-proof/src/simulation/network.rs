//! The way to the store: calls are late, fail, or are carried out without an answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ratchet_core::decide::{Answer, Command, Refusal, Stored};
use ratchet_core::ledger::{Ledger, LedgerFuture, Order};
use ratchet_core::{LedgerError, MemoryLedger, Record, RecordId, Submission, Submitted};
use tokio::sync::watch;
use tokio::time::sleep;

use super::script::{Call, Stage};
use crate::planted::Mutation;
use crate::stale::is_stale;
use crate::way::{Way, name_of};

/// How long a worker's lease is.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// The longest that a call takes one way: past the lease, so that others take over meanwhile.
const LONGEST_WAY: Duration = Duration::from_secs(25);

/// A store behind a network that fails.
#[derive(Debug)]
pub(crate) struct Network {
    store: Arc<MemoryLedger>,
    stage: Arc<Stage>,
    broken: Option<Mutation>,
    stale_accepted: AtomicU64,
    sleepers: Sleepers,
}

/// A channel for each who sleeps: those who share one are woken in an order that no seed sets.
type Sleepers = Arc<Mutex<Vec<watch::Sender<u64>>>>;

impl Network {
    pub(crate) fn new(store: Arc<MemoryLedger>, stage: Arc<Stage>, broken: Option<Mutation>) -> Arc<Self> {
        let network = Arc::new(Self {
            store,
            stage,
            broken,
            stale_accepted: AtomicU64::new(0),
            sleepers: Sleepers::default(),
        });
        tokio::spawn(wake_in_order(network.store.wakeups(), Arc::clone(&network.sleepers)));
        network
    }

    /// Outcomes, pins and the like of superseded attempts that changed a record.
    pub(crate) fn stale_accepted(&self) -> u64 {
        self.stale_accepted.load(Ordering::SeqCst)
    }

    fn is_broken(&self, mutation: Mutation) -> bool {
        self.broken == Some(mutation)
    }

    /// Takes a call to the store and its answer back.
    async fn deliver<T>(&self, call: Call, work: LedgerFuture<'_, T>) -> Result<T, LedgerError> {
        call.way(LONGEST_WAY, "").await;
        if call.is(50, "lost") {
            return Err(cut());
        }
        let answer = work.await;
        call.way(LONGEST_WAY, "-back").await;
        if call.is(50, "lost-back") { Err(cut()) } else { answer }
    }

    /// Carries orders out one by one, and looks at each whether it should have changed anything.
    async fn obey(&self, orders: Vec<Order>) -> Result<Vec<Result<Answer, Refusal>>, LedgerError> {
        let mut answers = Vec::new();
        for Order { id, mut command } in orders {
            let before = self.record(&id).await?;
            let stale = before.as_ref().is_some_and(|before| is_stale(before, &command));
            if let (Mutation::NoFence, Command::Settle { token, .. }, Some(before)) =
                (self.broken.unwrap_or(Mutation::NoRescue), &mut command, &before)
            {
                *token = before.token;
            }
            answers.extend(self.store.apply(vec![Order { id: id.clone(), command }]).await?);
            if stale && self.record(&id).await? != before {
                self.stale_accepted.fetch_add(1, Ordering::SeqCst);
            }
        }
        Ok(answers)
    }

    async fn record(&self, id: &RecordId) -> Result<Option<Record>, LedgerError> {
        Ok(match self.store.find(id.clone()).await? {
            Some(Stored::Record(record)) => Some(*record),
            _ => None,
        })
    }

    /// Now and then the network delivers an outcome once more, at any later time.
    fn double(self: &Arc<Self>, call: &Call, orders: &[Order]) {
        let outcomes: Vec<Order> =
            orders.iter().filter(|order| matches!(order.command, Command::Settle { .. })).cloned().collect();
        let later = call.chance.span(Duration::ZERO, 6 * LEASE);
        if outcomes.is_empty() || !call.is(100, "twice") {
            return;
        }
        let network = Arc::clone(self);
        tokio::spawn(async move {
            sleep(later).await;
            let _nobody_waits = network.obey(outcomes).await;
        });
    }
}

async fn wake_in_order(mut store: watch::Receiver<u64>, sleepers: Sleepers) {
    while store.changed().await.is_ok() {
        let number = *store.borrow_and_update();
        let mut sleepers = sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        sleepers.retain(|sleeper| sleeper.send(number).is_ok());
    }
}

/// What a call is about, so that what goes wrong with one record is independent of all others.
fn about(call: &str, id: Option<&RecordId>) -> String {
    id.map_or_else(|| call.to_owned(), |id| format!("{call}@{}", id.key.as_str()))
}

fn cut() -> LedgerError {
    LedgerError::Store { doing: "answer", source: "the connection was cut".into() }
}

impl Way for Network {
    fn store(&self) -> &dyn Ledger {
        &*self.store
    }

    fn carry<'a, T: Send + 'a>(
        &'a self,
        call: &'static str,
        work: LedgerFuture<'a, T>,
    ) -> LedgerFuture<'a, T> {
        Box::pin(self.deliver(self.stage.call(call), work))
    }

    fn submit(&self, submissions: Vec<Submission>) -> LedgerFuture<'_, Vec<Submitted>> {
        let call = self.stage.call(&about("submit", submissions.first().map(|submission| &submission.id)));
        if self.is_broken(Mutation::EarlyAcknowledgement) && call.is(100, "not-written") {
            let answers =
                submissions.into_iter().map(|submission| Submitted::New { id: submission.id }).collect();
            return Box::pin(async move { Ok(answers) });
        }
        Box::pin(self.deliver(call, self.store.submit(submissions)))
    }

    fn apply(self: &Arc<Self>, orders: Vec<Order>) -> LedgerFuture<'_, Vec<Result<Answer, Refusal>>> {
        let call = self.stage.call(&about(name_of(&orders), orders.first().map(|order| &order.id)));
        self.double(&call, &orders);
        Box::pin(self.deliver(call, Box::pin(self.obey(orders))))
    }

    fn wakeups(&self) -> watch::Receiver<u64> {
        let (sender, receiver) = watch::channel(*self.store.wakeups().borrow());
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        receiver
    }

    fn expire(&self, limit: usize) -> LedgerFuture<'_, usize> {
        if self.is_broken(Mutation::NoRescue) {
            return Box::pin(async { Ok(0) });
        }
        self.carry("expire", self.store.expire(limit))
    }
}
