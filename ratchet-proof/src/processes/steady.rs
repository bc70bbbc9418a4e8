//! A process of a user's that is never killed: it submits at a steady rate, executes, and measures itself.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use ratchet::Ratchet;
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::child::{enqueue, work_undisturbed};
use super::marks::append;

/// Between two submissions.
const EVERY: Duration = Duration::from_millis(50);

/// Beyond the numbers of all other processes.
const FIRST: u64 = 10_000_000;

/// What the process is to do; for the suite that starts it.
#[derive(Debug, Args)]
pub struct Steady {
    /// The store.
    #[arg(long)]
    store: String,
    /// Where destination and logs are.
    #[arg(long)]
    folder: PathBuf,
    /// For how long it lives, in seconds.
    #[arg(long)]
    seconds: u64,
    /// How often it writes a sample, in seconds.
    #[arg(long)]
    period: u64,
}

/// What the process measured in one period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Of a hundred submissions, 99 were acknowledged within this time, in microseconds.
    pub(crate) p99: u64,
    /// Kilobytes of memory at its end.
    pub(crate) memory: u64,
}

impl Sample {
    pub(crate) fn read(line: &str) -> Option<Self> {
        let (p99, memory) = line.split_once(' ')?;
        Some(Self { p99: p99.parse().ok()?, memory: memory.parse().ok()? })
    }
}

impl Steady {
    /// Lives for its time.
    #[must_use]
    pub fn live(&self) -> ExitCode {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        match runtime.map(|runtime| runtime.block_on(self.live_on())) {
            Ok(Ok(())) => ExitCode::SUCCESS,
            Ok(Err(error)) => failed(&error),
            Err(error) => failed(&error),
        }
    }

    async fn live_on(&self) -> Result<(), ratchet_core::LedgerError> {
        let ratchet = Ratchet::open(&self.store).await?;
        let (stop, stopped) = oneshot::channel::<()>();
        let working = tokio::spawn(work_undisturbed(ratchet.clone(), self.folder.clone(), None, stopped));
        let mut next = FIRST;
        for _ in 0..self.seconds / self.period {
            let taken = self.one_period(&ratchet, &mut next).await;
            let sample = Sample { p99: p99(taken), memory: memory() };
            append(&self.folder.join("samples"), &format!("{} {}", sample.p99, sample.memory));
        }
        let _still_there = stop.send(());
        let _ended = working.await;
        Ok(())
    }

    /// How long each submission took until it was acknowledged.
    async fn one_period(&self, ratchet: &Ratchet, next: &mut u64) -> Vec<Duration> {
        let (mut ticks, mut taken) = (interval(EVERY), Vec::new());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(self.period) {
            ticks.tick().await;
            let started = Instant::now();
            while enqueue(ratchet, *next, &self.folder).await.is_err() {
                sleep(Duration::from_millis(5)).await;
            }
            taken.push(started.elapsed());
            *next += 1;
        }
        taken
    }
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

fn p99(mut taken: Vec<Duration>) -> u64 {
    taken.sort_unstable();
    let at = taken.len() * 99 / 100;
    taken.get(at).map_or(0, |time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

/// Kilobytes that this process has in memory.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
