//! The way to the store: calls are late, fail, or are carried out without an answer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ratchet_core::decide::{Answer, Command, Refusal, Stored};
use ratchet_core::ledger::{Ledger, LedgerFuture, Order};
use ratchet_core::{LedgerError, MemoryLedger, Record, RecordId, Submission, Submitted};
use tokio::sync::watch;
use tokio::time::sleep;

use super::chance::Chance;
use crate::planted::Mutation;
use crate::stale::is_stale;
use crate::way::Way;

/// How long a worker's lease is.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// The longest that a call takes one way: past the lease, so that others take over meanwhile.
const LONGEST_WAY: Duration = Duration::from_secs(25);

/// A store behind a network that fails.
#[derive(Debug)]
pub(crate) struct Network {
    store: Arc<MemoryLedger>,
    chance: Chance,
    faulty: AtomicBool,
    broken: Option<Mutation>,
    stale_accepted: AtomicU64,
    sleepers: Sleepers,
}

/// A channel for each who sleeps: those who share one are woken in an order that no seed sets.
type Sleepers = Arc<Mutex<Vec<watch::Sender<u64>>>>;

impl Network {
    pub(crate) fn new(store: Arc<MemoryLedger>, seed: u64, broken: Option<Mutation>) -> Arc<Self> {
        let chance = Chance::new(seed);
        let network = Arc::new(Self {
            store,
            chance,
            faulty: AtomicBool::new(true),
            broken,
            stale_accepted: AtomicU64::new(0),
            sleepers: Sleepers::default(),
        });
        tokio::spawn(wake_in_order(network.store.wakeups(), Arc::clone(&network.sleepers)));
        network
    }

    pub(crate) fn stop_faults(&self) {
        self.faulty.store(false, Ordering::SeqCst);
    }

    /// Outcomes, pins and the like of superseded attempts that changed a record.
    pub(crate) fn stale_accepted(&self) -> u64 {
        self.stale_accepted.load(Ordering::SeqCst)
    }

    pub(crate) fn trace(&self) -> u64 {
        self.chance.trace()
    }

    fn is_broken(&self, mutation: Mutation) -> bool {
        self.broken == Some(mutation)
    }

    fn is_faulty(&self) -> bool {
        self.faulty.load(Ordering::SeqCst)
    }

    /// Takes a call to the store and its answer back.
    async fn deliver<T>(&self, call: LedgerFuture<'_, T>) -> Result<T, LedgerError> {
        if !self.is_faulty() {
            return call.await;
        }
        self.chance.delay(LONGEST_WAY).await;
        let fate = self.chance.below(100);
        if fate < 5 {
            return Err(cut());
        }
        let answer = call.await;
        self.chance.delay(LONGEST_WAY).await;
        if fate < 10 { Err(cut()) } else { answer }
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
    fn double(self: &Arc<Self>, orders: &[Order]) {
        let outcomes: Vec<Order> =
            orders.iter().filter(|order| matches!(order.command, Command::Settle { .. })).cloned().collect();
        if outcomes.is_empty() || !self.is_faulty() || !self.chance.is(100) {
            return;
        }
        let network = Arc::clone(self);
        tokio::spawn(async move {
            sleep(network.chance.span(Duration::ZERO, 6 * LEASE)).await;
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

fn cut() -> LedgerError {
    LedgerError::Store { doing: "answer", source: "the connection was cut".into() }
}

impl Way for Network {
    fn store(&self) -> &dyn Ledger {
        &*self.store
    }

    fn carry<'a, T: Send + 'a>(
        &'a self,
        _call: &'static str,
        work: LedgerFuture<'a, T>,
    ) -> LedgerFuture<'a, T> {
        Box::pin(self.deliver(work))
    }

    fn submit(&self, submissions: Vec<Submission>) -> LedgerFuture<'_, Vec<Submitted>> {
        if self.is_broken(Mutation::EarlyAcknowledgement) && self.is_faulty() && self.chance.is(100) {
            // Answered before it was written, and the store died.
            let answers =
                submissions.into_iter().map(|submission| Submitted::New { id: submission.id }).collect();
            return Box::pin(async move { Ok(answers) });
        }
        self.carry("submit", self.store.submit(submissions))
    }

    fn apply(self: &Arc<Self>, orders: Vec<Order>) -> LedgerFuture<'_, Vec<Result<Answer, Refusal>>> {
        self.double(&orders);
        self.carry("apply", Box::pin(self.obey(orders)))
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
