//! The leases that a worker holds, extended by a call for each.
//!
//! Ledgers write what many callers ask at once; and a record that somebody else keeps locked costs no lease but its own.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::Shared;
use super::attempt::LET_GO;
use crate::context::{CancelReason, Cancellation, LeaseClock, Reading};
use crate::decide::{Answer, Command, Refusal};
use crate::ledger::Order;
use crate::model::{Record, RecordId, Token};

/// The leases that this worker holds.
#[derive(Debug, Default)]
pub(super) struct Leases {
    held: Mutex<Table>,
}

/// In the order in which they came.
#[derive(Debug, Default)]
struct Table {
    leases: BTreeMap<u64, Lease>,
    next: u64,
}

#[derive(Debug, Clone)]
struct Lease {
    id: RecordId,
    token: Token,
    signals: Arc<Signals>,
}

/// How an attempt learns about its lease.
#[derive(Debug)]
pub(super) struct Signals {
    pub(super) clock: Arc<LeaseClock>,
    pub(super) cancellation: Arc<Cancellation>,
    /// When a handler that has not ended has blocked its thread.
    stuck_at: OnceLock<Instant>,
    ended: AtomicBool,
}

/// A lease that is extended for as long as this lives.
#[derive(Debug)]
pub(super) struct Held {
    place: u64,
    pub(super) signals: Arc<Signals>,
    shared: Arc<Shared>,
}

impl Held {
    /// Takes over the lease of a record that was claimed at `asked`.
    pub(super) fn new(shared: &Arc<Shared>, record: &Record, asked: Reading) -> Self {
        let clock = LeaseClock::new(shared.clock.clone(), asked, shared.lease);
        let signals = Arc::new(Signals::new(clock));
        let lease = Lease { id: record.id.clone(), token: record.token, signals: Arc::clone(&signals) };
        let mut table = shared.leases.table();
        let place = table.next;
        table.next += 1;
        table.leases.insert(place, lease);
        Self { place, signals, shared: Arc::clone(shared) }
    }
}

impl Drop for Held {
    /// Whatever of the handler is still running has no lease any more.
    fn drop(&mut self) {
        self.signals.clock.end();
        self.shared.leases.table().leases.remove(&self.place);
    }
}

impl Leases {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn cancel_all(&self, reason: CancelReason) {
        self.table().leases.values().for_each(|lease| lease.signals.cancellation.cancel(reason));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn len(&self) -> usize {
        self.table().leases.len()
    }

    fn all(&self) -> Vec<Lease> {
        self.table().leases.values().cloned().collect()
    }
}

impl Signals {
    fn new(clock: LeaseClock) -> Self {
        Self {
            clock: Arc::new(clock),
            cancellation: Arc::default(),
            stuck_at: OnceLock::new(),
            ended: AtomicBool::new(false),
        }
    }

    /// The handler is entered, and told to stop after `timeout`.
    pub(super) fn enters(&self, timeout: Duration) {
        if let Some(stuck_at) = Instant::now().checked_add(timeout.saturating_add(2 * LET_GO)) {
            let _ = self.stuck_at.set(stuck_at);
        }
    }

    /// The handler has ended. Whatever it left running sends nothing more under this lease.
    pub(super) fn leaves(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.clock.end();
    }

    fn is_stuck(&self) -> bool {
        !self.ended.load(Ordering::Relaxed) && self.stuck_at.get().is_some_and(|at| *at <= Instant::now())
    }

    fn renewed(&self, asked: Reading, span: Duration, answer: Option<&Result<Answer, Refusal>>) {
        let Some(Ok(Answer::Renewed { cancel_requested, .. })) = answer else { return self.lost() };
        self.clock.extend(asked, span);
        if *cancel_requested {
            self.cancellation.cancel(CancelReason::Cancelled);
        }
    }

    fn lost(&self) {
        self.clock.end();
        self.cancellation.cancel(CancelReason::LeaseLost);
    }
}

/// Beats three times per lease, so that a beat may fail, or hang, before a lease is lost.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut beats = interval(shared.lease / 3);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first one comes at once, and there is nothing to extend yet.
    beats.tick().await;
    loop {
        beats.tick().await;
        beat(&shared).await;
    }
}

async fn beat(shared: &Arc<Shared>) {
    let mut renewals = JoinSet::new();
    for lease in shared.leases.all() {
        if lease.signals.is_stuck() {
            if lease.signals.clock.stands() {
                tracing::error!(worker = %shared.name, operation = %lease.id.operation, key = %lease.id.digest(),
                    "a handler blocks its thread and does not see its timeout: its lease is not extended any more");
                lease.signals.lost();
            }
            continue;
        }
        renewals.spawn(renew(Arc::clone(shared), lease));
    }
    let (mut failed, mut last) = (0_usize, String::new());
    while let Some(renewed) = renewals.join_next().await {
        if let Ok(Err(why)) = renewed {
            (failed, last) = (failed + 1, why);
        }
    }
    if failed > 0 {
        tracing::warn!(worker = %shared.name, leases = failed, why = last, "leases could not be extended");
    }
}

/// Says why the ledger gave no answer, if it gave none.
async fn renew(shared: Arc<Shared>, Lease { id, token, signals }: Lease) -> Result<(), String> {
    let command = Command::Renew { token, duration: shared.lease };
    let asked = Reading::of(&shared.clock);
    let why = match timeout(shared.lease / 3, shared.ledger.apply(vec![Order { id, command }])).await {
        Ok(Ok(answers)) => {
            signals.renewed(asked, shared.lease, answers.first());
            return Ok(());
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => "the ledger did not answer in time".to_owned(),
    };
    if !signals.clock.stands() {
        signals.lost();
    }
    Err(why)
}
