//! Holds back where a backup was restored: what was sent after it was taken is pending again in it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use crate::high_water::HighWaterFile;
use crate::ledger::{HighWaterMark, Ledger, LedgerError, MarkChange, SharedLedger, StoreMark};

/// Says whether what a store holds as pending may be executed, or the store is a restored backup in which it only looks so.
///
/// A [`Worker`](crate::Worker) has one. A drive of another kind, such as a server that executes the requests that come to
/// it, asks before each execution:
///
/// ```
/// # use std::sync::Arc;
/// # use ratchet_core::{HighWaterFile, RestoreGuard, SharedLedger};
/// # async fn example(ledger: SharedLedger) {
/// let file = ledger.high_water_file().or_else(|| Some(HighWaterFile::new("/var/lib/shop/store.mark")));
/// let guard = Arc::new(RestoreGuard::new(ledger, file, "the server of the shop"));
/// if guard.may_execute().await {
///     // …
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct RestoreGuard {
    ledger: SharedLedger,
    /// `None` where there is no place for a mark: then only what others have found out is known.
    file: Option<HighWaterFile>,
    name: String,
    /// One look at a time; says what the last one found, and when.
    last: Mutex<Option<(Standing, Instant)>>,
    open: AtomicBool,
    /// How often something was executed. One at first, so that a mark is there before anything is sent.
    worked: AtomicU64,
    /// How much of that the mark covers.
    covered: AtomicU64,
    /// How often the ledger failed: a look that began before says nothing about what came after.
    doubted: AtomicU64,
    /// A look is to come that covers what is executed now.
    will_look: AtomicBool,
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
    /// How often the store is compared with what was seen of it, and its mark raised while something is executed.
    pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(1);

    /// Compares `ledger` with the mark in `file`. Without one it only heeds what those have found out that have a file.
    /// `name` tells in logs who holds back.
    #[must_use]
    pub fn new(ledger: SharedLedger, file: Option<HighWaterFile>, name: impl Into<String>) -> Self {
        Self {
            ledger,
            file,
            name: name.into(),
            last: Mutex::default(),
            open: AtomicBool::new(false),
            worked: AtomicU64::new(1),
            covered: AtomicU64::new(0),
            doubted: AtomicU64::new(0),
            will_look: AtomicBool::new(false),
        }
    }

    /// Whether it compares the store with a file.
    pub(crate) const fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Whether something may be executed now. If so, it is executed: the mark will cover it.
    ///
    /// Looks at the store where the last look was more than a second ago. What cannot be compared is not executed.
    pub async fn may_execute(self: &Arc<Self>) -> bool {
        let goes_on = self.may_begin().await;
        if goes_on {
            self.worked();
            self.look_later();
        }
        goes_on
    }

    /// Whether something may be executed now, for a drive that does not know yet whether there is anything: it says so with
    /// [`worked`](Self::worked) and goes on to [`look`](Self::look).
    ///
    /// Looks at the store where the last look was more than a second ago. What cannot be compared is not executed.
    pub async fn may_begin(&self) -> bool {
        let is_known = matches!(&*self.last.lock().await, Some((_, at)) if at.elapsed() < Self::LOOK_EVERY);
        if is_known { self.is_open() } else { self.look().await }
    }

    /// Has the mark cover what was executed last: before a program ends.
    pub async fn finish(&self) {
        self.look().await;
    }

    fn look_later(self: &Arc<Self>) {
        if !self.will_look.swap(true, Ordering::AcqRel) {
            let guard = Arc::clone(self);
            tokio::spawn(async move {
                sleep(Self::LOOK_EVERY).await;
                guard.will_look.store(false, Ordering::Release);
                guard.look().await;
            });
        }
    }

    /// Whether something may be executed, as the last [`look`](Self::look) found; not before the first.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Something is executed, so the store moves on: the next [`look`](Self::look) raises the mark.
    pub fn worked(&self) {
        self.worked.fetch_add(1, Ordering::AcqRel);
    }

    /// The ledger failed: it may be another one when it is back, so it is looked at before anything is executed.
    pub fn doubts(&self) {
        self.doubted.fetch_add(1, Ordering::AcqRel);
        self.open.store(false, Ordering::Release);
    }

    /// Compares the store with what was seen of it, and says whether something may be executed.
    ///
    /// For a drive with a beat of its own, which looks every second; others ask [`may_execute`](Self::may_execute).
    pub async fn look(&self) -> bool {
        let doubted = self.doubted.load(Ordering::Acquire);
        let mut last = self.last.lock().await;
        // Whoever is given up in the middle of a look has covered nothing.
        let worked = self.worked.load(Ordering::Acquire);
        let found = self.compare(worked != self.covered.load(Ordering::Acquire)).await;
        let before = last.map(|(standing, _)| standing);
        let standing = match found {
            Ok(standing) => standing,
            Err(NotCompared::Ledger(
                ref closed @ (LedgerError::Moved { .. } | LedgerError::Filling { .. }),
            )) => {
                if before != Some(Standing::Unknown) {
                    tracing::error!(who = %self.name, %closed, "nothing is executed");
                }
                Standing::Unknown
            }
            Err(ref error) => {
                if before != Some(Standing::Unknown) {
                    tracing::error!(who = %self.name, %error,
                        "nothing is executed, since it is not known whether the store is a restored backup; trying again");
                }
                Standing::Unknown
            }
        };
        if standing == Standing::GoesOn {
            self.covered.store(worked, Ordering::Release);
        }
        self.say(before, standing);
        *last = Some((standing, Instant::now()));
        let goes_on = standing == Standing::GoesOn && doubted == self.doubted.load(Ordering::Acquire);
        self.open.store(goes_on, Ordering::Release);
        goes_on
    }

    async fn compare(&self, worked: bool) -> Result<Standing, NotCompared> {
        // Before a claim of a store that has moved is refused, and a worker with nothing to do would never know.
        if let Some(closed) = self.ledger.standing().await?.refusal() {
            return Err(closed.into());
        }
        match &self.file {
            Some(file) => compare(&*self.ledger, file, worked).await,
            None => Ok(if self.ledger.mark().await?.held_since.is_some() {
                Standing::HeldBack
            } else {
                Standing::GoesOn
            }),
        }
    }

    fn say(&self, before: Option<Standing>, now: Standing) {
        if before == Some(now) {
            return;
        }
        match now {
            Standing::HeldBack => tracing::error!(who = %self.name,
                "nothing is executed: the store is behind what was seen of it, so a backup was restored, and what was sent \
                 since it was taken would be sent again. Look at what the destinations have, then run \
                 `ratchet acknowledge-restore`"),
            Standing::GoesOn if before.is_some() => {
                tracing::info!(who = %self.name, "records are executed again");
            }
            Standing::GoesOn | Standing::Unknown => {}
        }
    }
}

async fn compare(ledger: &dyn Ledger, file: &HighWaterFile, worked: bool) -> Result<Standing, NotCompared> {
    // Read before the store, whose mark others raise meanwhile.
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

#[cfg(all(test, feature = "testing"))]
mod tests {
    use std::future::{Future, ready};
    use std::pin::Pin;
    use std::sync::mpsc::{Sender, channel};

    use super::*;
    use crate::ledger::MemoryLedger;

    fn guard(ledger: &Arc<MemoryLedger>) -> (RestoreGuard, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let file = HighWaterFile::new(folder.path().join("store.mark"));
        (RestoreGuard::new(ledger.clone(), Some(file), "a test"), folder)
    }

    async fn raised(ledger: &MemoryLedger) -> u64 {
        ledger.mark().await.unwrap().mark.raised
    }

    /// A look that has begun and waits for the file, which somebody else keeps busy until the end of the test.
    async fn waiting(guard: &RestoreGuard) -> (Pin<Box<impl Future<Output = bool>>>, Sender<()>) {
        let (done, busy) = channel();
        drop(spawn_blocking(move || busy.recv()));
        let mut look = Box::pin(guard.look());
        tokio::select! {
            biased;
            _ = &mut look => panic!("it waits"),
            () = ready(()) => {}
        }
        (look, done)
    }

    /// With one thread for what blocks.
    fn run(test: impl Future<Output = ()>) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().max_blocking_threads(1).build().unwrap().block_on(test);
    }

    #[test]
    fn what_a_look_that_was_given_up_did_not_cover_the_next_one_covers() {
        run(async {
            let ledger = MemoryLedger::new();
            let (guard, _folder) = guard(&ledger);
            drop(waiting(&guard).await);
            assert_eq!(raised(&ledger).await, 0);
            assert!(guard.look().await);
            assert_eq!(raised(&ledger).await, 1);
            // Nothing was executed since.
            assert!(guard.look().await);
            assert_eq!(raised(&ledger).await, 1);
            guard.worked();
            guard.finish().await;
            assert_eq!(raised(&ledger).await, 2);
        });
    }

    #[test]
    fn after_a_failure_of_the_ledger_nothing_is_executed_before_another_look() {
        run(async {
            let ledger = MemoryLedger::new();
            let (guard, _folder) = guard(&ledger);
            assert!(guard.look().await && guard.is_open());
            guard.doubts();
            assert!(!guard.is_open());
            // One that began before the failure says nothing about what came after.
            let (look, done) = waiting(&guard).await;
            guard.doubts();
            drop(done);
            assert!(!look.await && !guard.is_open());
            assert!(guard.look().await && guard.is_open());
        });
    }
}
