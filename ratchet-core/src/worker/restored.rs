//! Holds back where a backup was restored: what was sent after it was taken is pending again in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::Shared;
use crate::high_water::{HighWaterFile, Standing};

/// How often the store is compared with what was seen of it, and its mark raised while something is executed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Whether records may be claimed.
#[derive(Debug)]
pub(super) struct RestoreGuard {
    /// `None` where there is no place for a mark, so that a restored backup looks like any other store.
    file: Option<HighWaterFile>,
    /// One look at a time; says what the last one found.
    last: Mutex<Option<Found>>,
    open: AtomicBool,
    /// Something was executed since the mark was raised. Set at first, so that a mark is there before anything is sent.
    worked: AtomicBool,
}

/// What a look found; `None` if it could not be found out.
type Found = Option<Standing>;

impl RestoreGuard {
    pub(super) fn new(file: Option<HighWaterFile>) -> Self {
        let (last, open) = (Mutex::default(), AtomicBool::new(file.is_none()));
        Self { file, last, open, worked: AtomicBool::new(true) }
    }

    /// Something is executed, so the store moves on.
    pub(super) fn worked(&self) {
        self.worked.store(true, Ordering::Release);
    }

    /// The ledger failed: it may be another one when it is back, so it is looked at before the next claim.
    pub(super) fn doubts(&self) {
        if self.file.is_some() {
            self.open.store(false, Ordering::Release);
        }
    }
}

/// Whether records may be claimed. Looks at the store if that is not known.
pub(super) async fn may_claim(shared: &Shared) -> bool {
    shared.restored.open.load(Ordering::Acquire) || look(shared).await
}

/// Looks for as long as it is polled.
pub(super) async fn run(shared: Arc<Shared>) {
    if shared.restored.file.is_none() {
        return;
    }
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        look(&shared).await;
    }
}

/// The mark covers what was executed since the last look. It is not worth a long wait.
pub(super) async fn look_last(shared: &Shared) {
    let _ = timeout(LOOK_EVERY, look(shared)).await;
}

async fn look(shared: &Shared) -> bool {
    let guard = &shared.restored;
    let Some(file) = &guard.file else { return true };
    let mut last = guard.last.lock().await;
    if !shared.leases.is_empty() {
        guard.worked();
    }
    let worked = guard.worked.swap(false, Ordering::AcqRel);
    let found = match file.compare(&*shared.ledger, worked).await {
        Ok(standing) => Some(standing),
        Err(error) => {
            if *last != Some(None) {
                tracing::error!(worker = %shared.name, %error,
                    "nothing is claimed, since it is not known whether the store is a restored backup; trying again");
            }
            None
        }
    };
    let goes_on = found == Some(Standing::GoesOn);
    if !goes_on {
        guard.worked.fetch_or(worked, Ordering::AcqRel);
    }
    say(shared, *last, found);
    *last = Some(found);
    guard.open.store(goes_on, Ordering::Release);
    goes_on
}

fn say(shared: &Shared, before: Option<Found>, now: Found) {
    if before == Some(now) {
        return;
    }
    match now {
        Some(Standing::HeldBack) => tracing::error!(worker = %shared.name,
            "nothing is claimed: the store is behind what workers have seen of it, so a backup was restored, and what was \
             sent since it was taken would be sent again. Look at what the destinations have, then run \
             `ratchet acknowledge-restore`"),
        Some(Standing::GoesOn) if before.is_some() => {
            tracing::info!(worker = %shared.name, "records are claimed again");
        }
        Some(Standing::GoesOn) | None => {}
    }
}
