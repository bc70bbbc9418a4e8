//! The leases that a worker holds, extended with one write for all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::{MissedTickBehavior, interval, timeout};

use super::Shared;
use crate::context::{CancelReason, Cancellation, LeaseClock, Reading};
use crate::decide::{Answer, Command};
use crate::ledger::Order;
use crate::model::{Record, RecordId, Token};

type Key = (RecordId, Token);

/// The leases that this worker holds.
#[derive(Debug, Default)]
pub(super) struct Leases {
    held: Mutex<HashMap<Key, Signals>>,
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
    fn table(&self) -> MutexGuard<'_, HashMap<Key, Signals>> {
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

async fn beat(shared: &Shared) {
    let leases = shared.leases.all();
    if leases.is_empty() {
        return;
    }
    let renew = |(id, token): &Key| Order {
        id: id.clone(),
        command: Command::Renew { token: *token, duration: shared.lease },
    };
    let orders = leases.iter().map(|(key, _)| renew(key)).collect();
    let asked = Reading::of(&shared.clock);
    match timeout(shared.lease / 3, shared.ledger.apply(orders)).await {
        Ok(Ok(answers)) => {
            for ((_, signals), answer) in leases.iter().zip(answers) {
                match answer {
                    Ok(Answer::Renewed { cancel_requested, .. }) => {
                        signals.clock.extend(asked, shared.lease);
                        if cancel_requested {
                            signals.cancellation.cancel(CancelReason::Cancelled);
                        }
                    }
                    _ => signals.lost(),
                }
            }
        }
        Ok(Err(error)) => not_extended(shared, &leases, &error.to_string()),
        Err(_) => not_extended(shared, &leases, "the ledger did not answer in time"),
    }
}

fn not_extended(shared: &Shared, leases: &[(Key, Signals)], why: &str) {
    tracing::warn!(worker = %shared.name, why, "leases could not be extended");
    leases.iter().filter(|(_, signals)| !signals.clock.stands()).for_each(|(_, signals)| signals.lost());
}
