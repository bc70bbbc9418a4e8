//! A process of a user's: it submits, executes, and dies where it is told to.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use ratchet::sqlite::SqliteOptions;
use ratchet::{EnqueueError, Enqueued, Ratchet, Worker};
use ratchet_core::ledger::Count;
use ratchet_core::{LedgerError, State};
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::time::sleep;

use super::marks::{Marked, Marks, append};
use super::operations::{self, Bill, book, deliver, flash, pay, print};
use super::plant::plant;
use super::till::Till;
use crate::planted::Mutation;
use crate::way::Through;

/// The shortest that takes over quickly and is still renewed in time by a process that runs.
pub(super) const LEASE: Duration = Duration::from_millis(300);

/// What the process is to do; for the suite that starts it.
#[derive(Debug, Args)]
pub struct Child {
    /// The store.
    #[arg(long)]
    pub(super) store: String,
    /// Where destination and logs are.
    #[arg(long)]
    pub(super) folder: PathBuf,
    /// The first number that it submits.
    #[arg(long)]
    pub(super) from: u64,
    /// How many it submits.
    #[arg(long)]
    pub(super) count: u64,
    /// The step at which it dies.
    #[arg(long)]
    pub(super) die_at: Option<u64>,
    /// Only steps of this name count.
    #[arg(long)]
    pub(super) step: Option<String>,
    /// By how many microseconds it dies later.
    #[arg(long, default_value_t = 0)]
    pub(super) late_by: u64,
    /// It submits nothing more once a submission was refused.
    #[arg(long)]
    pub(super) until_refused: bool,
    /// It submits a number until that is acknowledged.
    #[arg(long)]
    pub(super) insists: bool,
    /// It is paused instead.
    #[arg(long)]
    pub(super) pauses: bool,
    /// For how many seconds it waits until everything has come to an end.
    #[arg(long, default_value_t = 120)]
    pub(super) patience: u64,
    /// Which rule is broken.
    #[arg(long)]
    pub(super) broken: Option<String>,
}

/// At which step a process dies, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Death {
    pub(super) at: u64,
    pub(super) late_by: Duration,
    pub(super) pauses: bool,
}

impl Child {
    /// Lives until everything on record has come to an end, or it dies.
    #[must_use]
    pub fn live(&self) -> ExitCode {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let lived = runtime.map(|runtime| runtime.block_on(self.live_on()));
        match lived {
            Ok(Ok(true)) => ExitCode::SUCCESS,
            Ok(Ok(false)) => {
                eprintln!("error: not everything came to an end");
                ExitCode::FAILURE
            }
            Ok(Err(error)) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        }
    }

    async fn live_on(&self) -> Result<bool, LedgerError> {
        let death = self.die_at.map(|at| Death {
            at,
            late_by: Duration::from_micros(self.late_by),
            pauses: self.pauses,
        });
        let marks = Arc::new(Marks::new(death, self.step.clone(), self.folder.join("deaths")));
        marks.pass("before open");
        let opened = self.open().await.inspect_err(|error| {
            append(&self.folder.join("refused"), &error.to_string());
        })?;
        plant(&self.store, self.mutation()).await?;
        marks.pass("after open");
        let store = opened.ledger().clone();
        let ratchet =
            Ratchet::with_ledger(Arc::new(Through(Arc::new(Marked { store, marks: marks.clone() }))));
        let till = Till::new(self.folder.join("effects"), marks, self.mutation());
        let (stop, stopped) = oneshot::channel::<()>();
        let at_work = ratchet.clone();
        let working = tokio::spawn(work(move || worker(&at_work, till.clone()), stopped));
        self.submit(&ratchet).await;
        let ended = all_ended(&ratchet, Duration::from_secs(self.patience)).await?;
        let _still_there = stop.send(());
        let _ended = working.await;
        Ok(ended)
    }

    async fn open(&self) -> Result<Ratchet, LedgerError> {
        if self.mutation() == Some(Mutation::CommitsUnsynced) {
            let store = SqliteOptions::new().without_sync().open(&self.store).await?;
            return Ok(Ratchet::with_ledger(store));
        }
        Ratchet::open(&self.store).await
    }

    fn mutation(&self) -> Option<Mutation> {
        Mutation::named(self.broken.as_deref()?)
    }

    /// Submits its numbers, and those before them that nobody acknowledged. Never one that was: that would hide a loss.
    async fn submit(&self, ratchet: &Ratchet) {
        let log = self.folder.join("acknowledged");
        let known = fs::read_to_string(&log).unwrap_or_default();
        let known: HashSet<u64> =
            known.lines().filter_map(|key| key.split(':').nth(1)?.parse().ok()).collect();
        let early = self.mutation() == Some(Mutation::EarlyAcknowledgement);
        let numbers = self.from.saturating_sub(self.count).max(1)..self.from + self.count;
        for id in numbers.filter(|id| !known.contains(id)) {
            let enqueued = async || {
                if early {
                    enqueue_early(ratchet, id, &self.folder).await
                } else {
                    enqueue(ratchet, id, &self.folder).await
                }
            };
            while let Err(error) = enqueued().await {
                append(&self.folder.join("refused"), &error.to_string());
                if self.until_refused {
                    return;
                }
                if !self.insists {
                    break;
                }
                sleep(Duration::from_millis(5)).await;
            }
        }
    }
}

/// Submits a number, and notes it if it is acknowledged.
pub(crate) async fn enqueue(ratchet: &Ratchet, id: u64, folder: &Path) -> Result<(), EnqueueError> {
    if is_put(ratchet, id).await? {
        append(&folder.join("acknowledged"), &format!("{}:{id}", name_of(id)));
    }
    Ok(())
}

/// The planted bug: it is noted first.
pub(crate) async fn enqueue_early(ratchet: &Ratchet, id: u64, folder: &Path) -> Result<(), EnqueueError> {
    append(&folder.join("acknowledged"), &format!("{}:{id}", name_of(id)));
    is_put(ratchet, id).await.map(drop)
}

/// Whether it is on record for certain.
async fn is_put(ratchet: &Ratchet, id: u64) -> Result<bool, EnqueueError> {
    let bill = Bill { id };
    let answer = match id % 5 {
        0 => pay::enqueue(ratchet, bill).await,
        1 => print::enqueue(ratchet, bill).await,
        2 => book::enqueue(ratchet, bill).await,
        3 => flash::enqueue(ratchet, bill).await,
        _ => deliver::enqueue(ratchet, bill).await,
    }?;
    Ok(matches!(answer, Enqueued::New { .. } | Enqueued::Existing { .. } | Enqueued::Ended { .. }))
}

fn worker(ratchet: &Ratchet, till: Till) -> Option<Worker> {
    let worker = ratchet.worker(operations::registry()).state(till).lease(LEASE);
    worker.poll_interval(Duration::from_millis(20)).build().ok()
}

/// Executes inside of this process until it is told to stop; nothing happens at its steps.
pub(crate) async fn work_undisturbed(
    ratchet: Ratchet,
    folder: PathBuf,
    broken: Option<Mutation>,
    stopped: oneshot::Receiver<()>,
) {
    let marks = Arc::new(Marks::new(None, None, folder.join("deaths")));
    let till = Till::new(folder.join("effects"), marks, broken);
    work(move || worker(&ratchet, till.clone()), stopped).await;
}

/// A worker ends at its start if the store fails then, and is started again, as by whoever looks after any program.
async fn work(worker: impl Fn() -> Option<Worker>, mut stopped: oneshot::Receiver<()>) {
    while let Some(worker) = worker() {
        let run = worker.run(async {
            let _stopped = (&mut stopped).await;
        });
        if run.await.is_ok() || !matches!(stopped.try_recv(), Err(TryRecvError::Empty)) {
            return;
        }
        sleep(Duration::from_millis(5)).await;
    }
}

fn name_of(id: u64) -> &'static str {
    match id % 5 {
        0 => "pay",
        1 => "print",
        2 => "book",
        3 => "flash",
        _ => "deliver",
    }
}

/// Waits until nothing is left to do.
pub(crate) async fn all_ended(ratchet: &Ratchet, patience: Duration) -> Result<bool, LedgerError> {
    let started = Instant::now();
    loop {
        // Only an error that is there at the end is one.
        let ended = match is_anything_open(ratchet).await {
            Ok(open) => !open,
            Err(error) if started.elapsed() > patience => return Err(error),
            Err(_) => false,
        };
        if ended || started.elapsed() > patience {
            return Ok(ended);
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// One look, since a record moves between two.
async fn is_anything_open(ratchet: &Ratchet) -> Result<bool, LedgerError> {
    let is_open = |count: &Count| match count.state {
        State::Waiting | State::Pending | State::Running => true,
        // What is asked about by itself is not at its end.
        State::Uncertain => count.of.operation.as_str() == operations::IS_ASKED_ABOUT,
        _ => false,
    };
    Ok(ratchet.census().await?.iter().any(is_open))
}
