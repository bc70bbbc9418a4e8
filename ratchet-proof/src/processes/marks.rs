//! Steps of a process at which it may die.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use ratchet_core::SharedLedger;
use ratchet_core::ledger::{Ledger, LedgerFuture};
use rustix::process::{Signal, getpid, kill_process};

use super::child::Death;
use crate::way::Way;

/// Counts the steps of this process, and ends it at one of them.
#[derive(Debug)]
pub(super) struct Marks {
    passed: AtomicU64,
    death: Option<Death>,
    /// Only steps of this name count.
    only: Option<String>,
    latest: Mutex<String>,
    /// Where it is written down at which step the process died.
    log: PathBuf,
}

impl Marks {
    pub(super) fn new(death: Option<Death>, only: Option<String>, log: PathBuf) -> Self {
        Self { passed: AtomicU64::new(0), death, only, latest: Mutex::default(), log }
    }

    /// A step is reached.
    pub(super) fn pass(self: &Arc<Self>, step: &str) {
        step.clone_into(&mut self.latest());
        if self.only.as_deref().is_some_and(|only| only != step) {
            return;
        }
        let passed = self.passed.fetch_add(1, Ordering::SeqCst);
        let Some(death) = self.death.filter(|death| death.at == passed) else { return };
        let deadly = if death.pauses { Signal::STOP } else { Signal::KILL };
        if death.late_by.is_zero() {
            append(&self.log, step);
            return signal(deadly);
        }
        // Somewhere inside of what follows.
        let marks = Arc::clone(self);
        thread::spawn(move || {
            thread::sleep(death.late_by);
            let latest = marks.latest().clone();
            append(&marks.log, &format!("past: {latest}"));
            signal(deadly);
        });
    }

    fn latest(&self) -> MutexGuard<'_, String> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn signal(signal: Signal) {
    let _cannot_fail = kill_process(getpid(), signal);
    if signal == Signal::KILL {
        thread::sleep(Duration::from_hours(1));
    }
}

/// Adds a line with one write, so that it is there as a whole or not at all.
pub(super) fn append(file: &PathBuf, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(file);
    let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    assert!(written.is_ok(), "a log of the suite cannot be written");
}

/// A store whose calls are steps.
#[derive(Debug)]
pub(super) struct Marked {
    pub(super) store: SharedLedger,
    pub(super) marks: Arc<Marks>,
}

impl Way for Marked {
    fn store(&self) -> &dyn Ledger {
        &*self.store
    }

    fn carry<'a, T: Send + 'a>(
        &'a self,
        call: &'static str,
        work: LedgerFuture<'a, T>,
    ) -> LedgerFuture<'a, T> {
        if call.starts_with("look") || call == "find" {
            return work;
        }
        Box::pin(async move {
            self.marks.pass(&format!("before {call}"));
            let answer = work.await;
            self.marks.pass(&format!("after {call}"));
            answer
        })
    }
}
