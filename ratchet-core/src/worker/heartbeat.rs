//! The leases that a worker holds, extended by a call for each.
//!
//! Ledgers write what many callers ask at once; and a record that somebody else keeps locked costs no lease but its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::Shared;
use crate::context::{CancelReason, Cancellation, LeaseClock, Reading};
use crate::decide::{Answer, Command, Refusal};
use crate::ledger::Order;
use crate::model::{Record, RecordId, Token};

type Key = (RecordId, Token);

/// The leases that this worker holds, in an order that a simulation can repeat.
#[derive(Debug, Default)]
pub(super) struct Leases {
    held: Mutex<BTreeMap<Key, Signals>>,
}

/// How an attempt learns about its lease.
#[derive(Debug, Clone)]
pub(super) struct Signals {
    pub(super) clock: Arc<LeaseClock>,
    pub(super) cancellation: Arc<Cancellation>,
}

/// A lease that is extended for as long as this lives.
#[derive(Debug)]
pub(super) struct Held {
    key: Key,
    pub(super) signals: Signals,
    shared: Arc<Shared>,
}

impl Held {
    /// Takes over the lease of a record that was claimed at `asked`.
    pub(super) fn new(shared: &Arc<Shared>, record: &Record, asked: Reading) -> Self {
        let clock = LeaseClock::new(shared.clock.clone(), asked, shared.lease);
        let signals = Signals { clock: Arc::new(clock), cancellation: Arc::default() };
        let key = (record.id.clone(), record.token);
        shared.leases.table().insert(key.clone(), signals.clone());
        Self { key, signals, shared: Arc::clone(shared) }
    }
}

impl Drop for Held {
    /// Whatever of the handler is still running has no lease any more.
    fn drop(&mut self) {
        self.signals.clock.end();
        self.shared.leases.table().remove(&self.key);
    }
}

impl Leases {
    fn table(&self) -> MutexGuard<'_, BTreeMap<Key, Signals>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn cancel_all(&self, reason: CancelReason) {
        self.table().values().for_each(|held| held.cancellation.cancel(reason));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.table().is_empty()
    }

    fn all(&self) -> Vec<(Key, Signals)> {
        self.table().iter().map(|(key, signals)| (key.clone(), signals.clone())).collect()
    }
}

impl Signals {
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
    for (key, signals) in shared.leases.all() {
        renewals.spawn(renew(Arc::clone(shared), key, signals));
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
async fn renew(shared: Arc<Shared>, (id, token): Key, signals: Signals) -> Result<(), String> {
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
