//! What comes while as many attempts wait in the program as may.
//!
//! Each attempt that waits takes one of the calls that the engine makes at once, which those that run need for their records.
//! So what comes beyond is answered at once, and asked for again when few wait.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ratchet_core::Worker;
use tokio::sync::Notify;

use crate::RestateLedger;
use crate::attempts::Due;
use crate::together::together;

/// How many are kept; the objects of the others tell of them again by themselves, a little later.
const MOST_KEPT: usize = 10_000;

/// What was asked for again should have come before more is.
const PAUSE: Duration = Duration::from_millis(50);

/// What the worker had no room for.
#[derive(Debug, Default)]
pub(crate) struct TurnedAway {
    kept: Mutex<BTreeSet<Due>>,
    came: Notify,
}

impl TurnedAway {
    pub(crate) fn add(&self, due: Due) {
        let mut kept = self.kept();
        kept.insert(due);
        if kept.len() > MOST_KEPT {
            kept.pop_last();
        }
        drop(kept);
        self.came.notify_one();
    }

    /// Asks for them again when few attempts wait, the longest waiting first. Goes on for as long as it is polled.
    pub(crate) async fn ask_again(&self, ledger: &RestateLedger, worker: &Worker) -> Infallible {
        loop {
            let room = worker.room().await;
            let due = self.take(room);
            if due.is_empty() {
                self.came.notified().await;
                continue;
            }
            // The call that was told so may not have ended yet, and would stand for one under the same key.
            let now = ledger.clock.now().as_millis();
            let again = |due: Due| async move {
                due.send(&ledger.engine, &format!("{}.{now}", due.idempotency_key())).await
            };
            if let Err(error) = together(due, again).await {
                tracing::warn!(%error, "what is due could not be asked for: its objects tell of it again");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn take(&self, most: usize) -> Vec<Due> {
        let mut kept = self.kept();
        (0..most).map_while(|_| kept.pop_first()).collect()
    }

    fn kept(&self) -> MutexGuard<'_, BTreeSet<Due>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
