//! What handlers report. Some peers have handlers without state, so there is one board in a process.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

static BOARD: OnceLock<Board> = OnceLock::new();

struct Board {
    epoch: Instant,
    /// Nanoseconds since the epoch, by the job's id; 0 where nothing happened yet.
    sent: Vec<AtomicU64>,
    started: Vec<AtomicU64>,
    /// Jobs that ran at least once, and runs.
    jobs: AtomicU64,
    runs: AtomicU64,
    all: Notify,
}

impl Board {
    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).map_or(u64::MAX, |now| now.max(1))
    }
}

fn board() -> Option<&'static Board> {
    BOARD.get()
}

/// Expects the jobs from 0 to `jobs`. Jobs with a higher id are not counted.
pub(crate) fn expect(jobs: u64) {
    let times = || (0..jobs).map(|_| AtomicU64::new(0)).collect();
    let board = Board {
        epoch: Instant::now(),
        sent: times(),
        started: times(),
        jobs: AtomicU64::new(0),
        runs: AtomicU64::new(0),
        all: Notify::new(),
    };
    assert!(BOARD.set(board).is_ok(), "a process does one work");
}

fn slot(times: &[AtomicU64], id: u64) -> Option<&AtomicU64> {
    times.get(usize::try_from(id).ok()?)
}

/// The call of enqueue begins.
pub(crate) fn sent(id: u64) {
    if let Some(board) = board()
        && let Some(slot) = slot(&board.sent, id)
    {
        slot.store(board.now(), Ordering::Relaxed);
    }
}

/// The handler is entered.
pub(crate) fn started(id: u64) {
    let Some(board) = board() else { return };
    let Some(slot) = slot(&board.started, id) else { return };
    board.runs.fetch_add(1, Ordering::Relaxed);
    if slot.compare_exchange(0, board.now(), Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        let jobs = board.jobs.fetch_add(1, Ordering::Relaxed) + 1;
        if usize::try_from(jobs) == Ok(board.started.len()) {
            board.all.notify_one();
        }
    }
}

/// Waits until every expected job ran, or the time is up.
pub(crate) async fn all_ran(limit: Duration) {
    if let Some(board) = board() {
        let _ = tokio::time::timeout(limit, board.all.notified()).await;
    }
}

/// Runs beyond the first of each job.
pub(crate) fn repeated_runs() -> u64 {
    board().map_or(0, |board| board.runs.load(Ordering::Relaxed) - board.jobs.load(Ordering::Relaxed))
}

/// From the call of enqueue to the start of the handler, for the jobs from `first` on that ran.
pub(crate) fn latencies(first: usize) -> Vec<Duration> {
    let Some(board) = board() else { return Vec::new() };
    let times = board.sent.iter().zip(&board.started).skip(first);
    times
        .map(|(sent, started)| (sent.load(Ordering::Relaxed), started.load(Ordering::Relaxed)))
        .filter(|(_, started)| *started != 0)
        .map(|(sent, started)| Duration::from_nanos(started.saturating_sub(sent)))
        .collect()
}
