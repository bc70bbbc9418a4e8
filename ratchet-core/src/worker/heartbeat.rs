//! Extends the leases of running attempts, all of them with one write.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::sleep;

use super::Shared;
use crate::context::{CancelReason, Cancellation, LeaseClock};
use crate::decide::{Answer, Command};
use crate::ledger::Order;
use crate::model::{RecordId, Token};

/// The leases that this worker holds.
#[derive(Debug, Default)]
pub(super) struct Leases {
    held: Mutex<HashMap<(RecordId, Token), Held>>,
}

/// How to tell an attempt about its lease.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) clock: Arc<LeaseClock>,
    pub(super) cancellation: Arc<Cancellation>,
}

impl Leases {
    fn held(&self) -> MutexGuard<'_, HashMap<(RecordId, Token), Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, id: RecordId, token: Token, held: Held) {
        self.held().insert((id, token), held);
    }

    pub(super) fn remove(&self, id: &RecordId, token: Token) {
        self.held().remove(&(id.clone(), token));
    }

    pub(super) fn cancel_all(&self, reason: CancelReason) {
        self.held().values().for_each(|held| held.cancellation.cancel(reason));
    }

    fn all(&self) -> Vec<((RecordId, Token), Held)> {
        self.held().iter().map(|(lease, held)| (lease.clone(), held.clone())).collect()
    }
}

/// Beats three times per lease, so that two beats may fail before a lease is lost.
pub(super) async fn run(shared: Arc<Shared>) {
    loop {
        sleep(shared.lease / 3).await;
        beat(&shared).await;
    }
}

async fn beat(shared: &Shared) {
    let leases = shared.leases.all();
    if leases.is_empty() {
        return;
    }
    let renew = |(id, token): &(RecordId, Token)| Order {
        id: id.clone(),
        command: Command::Renew { token: *token, duration: shared.lease },
    };
    let orders = leases.iter().map(|(lease, _)| renew(lease)).collect();
    let asked = shared.clock.monotonic();
    match shared.ledger.apply(orders).await {
        Ok(answers) => {
            for ((_, held), answer) in leases.iter().zip(answers) {
                match answer {
                    Ok(Answer::Renewed { until, cancel_requested }) => {
                        held.clock.extend(until, asked, shared.lease);
                        if cancel_requested {
                            held.cancellation.cancel(CancelReason::Cancelled);
                        }
                    }
                    _ => held.cancellation.cancel(CancelReason::LeaseLost),
                }
            }
        }
        Err(error) => {
            tracing::warn!(worker = %shared.name, %error, "leases could not be extended");
            for (_, held) in leases.iter().filter(|(_, held)| !held.clock.stands()) {
                held.cancellation.cancel(CancelReason::LeaseLost);
            }
        }
    }
}
