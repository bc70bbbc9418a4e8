//! Holds back where a backup was restored: what was sent after it was taken is pending again in it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::Shared;
use crate::high_water::HighWaterFile;
use crate::ledger::{HighWaterMark, Ledger, LedgerError, MarkChange, StoreMark};

/// How often the store is compared with what was seen of it, and its mark raised while something is executed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Whether records may be claimed.
#[derive(Debug)]
pub(super) struct RestoreGuard {
    /// `None` where there is no place for a mark, so that a restored backup looks like any other store.
    file: Option<HighWaterFile>,
    /// One look at a time; says what the last one found.
    last: Mutex<Option<Standing>>,
    open: AtomicBool,
    /// Something was executed since the mark was raised. Set at first, so that a mark is there before anything is sent.
    worked: AtomicBool,
}

/// What a look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    GoesOn,
    HeldBack,
    /// It could not be found out.
    Unknown,
}

#[derive(Debug, thiserror::Error)]
enum NotCompared {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("the high-water mark cannot be kept: {0}")]
    File(#[from] io::Error),
}

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
    let found = compare(&*shared.ledger, file, worked).await;
    let standing = match found {
        Ok(standing) => standing,
        Err(ref error) => {
            if *last != Some(Standing::Unknown) {
                tracing::error!(worker = %shared.name, %error,
                    "nothing is claimed, since it is not known whether the store is a restored backup; trying again");
            }
            Standing::Unknown
        }
    };
    if standing != Standing::GoesOn {
        guard.worked.fetch_or(worked, Ordering::AcqRel);
    }
    say(shared, *last, standing);
    *last = Some(standing);
    guard.open.store(standing == Standing::GoesOn, Ordering::Release);
    standing == Standing::GoesOn
}

async fn compare(ledger: &dyn Ledger, file: &HighWaterFile, worked: bool) -> Result<Standing, NotCompared> {
    // Read before the store, whose mark other workers raise meanwhile.
    let known = load(file).await?;
    let found = ledger.mark().await?;
    if found.held_since.is_some() {
        return Ok(Standing::HeldBack);
    }
    if known.is_some_and(|known| found.mark < known) {
        ledger.change_mark(MarkChange::Hold).await?;
        return Ok(Standing::HeldBack);
    }
    let now = if worked { ledger.change_mark(MarkChange::Raise).await? } else { found };
    let StoreMark { mark, held_since: None } = now else {
        return Ok(Standing::HeldBack);
    };
    if known != Some(mark) {
        keep(file, mark).await?;
    }
    Ok(Standing::GoesOn)
}

async fn load(file: &HighWaterFile) -> io::Result<Option<HighWaterMark>> {
    let file = file.clone();
    spawn_blocking(move || file.load()).await?
}

async fn keep(file: &HighWaterFile, mark: HighWaterMark) -> io::Result<()> {
    let file = file.clone();
    spawn_blocking(move || file.keep(mark)).await?
}

fn say(shared: &Shared, before: Option<Standing>, now: Standing) {
    if before == Some(now) {
        return;
    }
    match now {
        Standing::HeldBack => tracing::error!(worker = %shared.name,
            "nothing is claimed: the store is behind what workers have seen of it, so a backup was restored, and what was \
             sent since it was taken would be sent again. Look at what the destinations have, then run \
             `ratchet acknowledge-restore`"),
        Standing::GoesOn if before.is_some() => {
            tracing::info!(worker = %shared.name, "records are claimed again");
        }
        Standing::GoesOn | Standing::Unknown => {}
    }
}
