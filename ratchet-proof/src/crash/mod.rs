//! Real processes on a real store, killed or paused at their steps.

mod child;
mod judge;
mod marks;
mod operations;
mod till;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child as Process, Command, Stdio};
use std::time::{Duration, Instant};

use ratchet_core::LedgerError;
use ratchet_test_postgres::Database;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

pub use child::Child;

use crate::planted::Mutation;
use crate::suite::{Effort, Planted, Report, Suite, progress};
use judge::Findings;

/// How many processes die on one store before it is looked at.
const DEATHS: u64 = 8;

/// Past the last step of most lives.
const STEPS: u64 = 70;

/// On how many stores a planted bug has to show.
const STORES_FOR_A_BUG: u64 = 30;

/// The rules that can be broken around real processes.
const PLANTED: [Mutation; 4] = [
    Mutation::NoDeduplication,
    Mutation::EarlyAcknowledgement,
    Mutation::AskWithoutClosing,
    Mutation::AttemptInKey,
];

/// SIGKILL and SIGSTOP at every step of processes that work on one store.
#[derive(Debug, Clone)]
pub struct CrashSuite {
    /// This program, which is started again with `child`.
    program: PathBuf,
    kind: StoreKind,
}

/// Which store the processes work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// A file.
    Sqlite,
    /// A database of a server that the suite starts.
    Postgres,
}

impl StoreKind {
    /// How many kills, and how many pauses, a short run makes.
    const fn short(self) -> (u64, u64) {
        match self {
            Self::Sqlite => (304, 24),
            Self::Postgres => (80, 8),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] LedgerError),
    #[error("a process that nobody killed did not end well")]
    Unfinished,
}

impl CrashSuite {
    /// A suite whose processes are this program, the one of this crate.
    #[must_use]
    pub const fn new(program: PathBuf, kind: StoreKind) -> Self {
        Self { program, kind }
    }
}

impl Suite for CrashSuite {
    fn name(&self) -> &'static str {
        match self.kind {
            StoreKind::Sqlite => "crash-sqlite",
            StoreKind::Postgres => "crash-postgres",
        }
    }

    fn what(&self) -> &'static str {
        "processes on one store that were killed, or paused and overtaken, at one of their steps"
    }

    fn run(&self, effort: Effort) -> Report {
        let started = Instant::now();
        let mut report = Report::new(self.name());
        report.planted.extend(PLANTED.map(|mutation| self.planted(mutation)));
        let mut steps = BTreeMap::new();
        let (kills, pauses) = self.kind.short();
        let (mut killed, mut paused, mut seed) = (0, 0, 0);
        loop {
            let enough = killed >= kills && paused >= pauses;
            if enough && (effort == Effort::Short || effort.left(started).is_zero()) {
                break;
            }
            let is_pause = paused * kills < killed * pauses;
            let store = Store::new(self, seed, None);
            let looked_at = store.and_then(|store| {
                let findings = if is_pause { store.overtake() } else { store.kill() }?;
                Ok((findings, store.deaths(&mut steps)))
            });
            match looked_at {
                Ok((findings, deaths)) => {
                    *if is_pause { &mut paused } else { &mut killed } += deaths;
                    note(&mut report, seed, findings);
                }
                Err(error) => report.violations.push(format!("store {seed}: {error}")),
            }
            if report.violations.len() > 20 {
                break;
            }
            progress(self.name(), &format!("{killed} kills and {paused} pauses on {} stores", seed + 1));
            seed += 1;
        }
        report.cases = killed + paused;
        report.notes.push(format!("{killed} kills and {paused} pauses on {seed} stores"));
        report.notes.extend(steps.iter().map(|(step, deaths)| format!("{step}: {deaths}")));
        report
    }
}

impl CrashSuite {
    fn planted(&self, mutation: Mutation) -> Planted {
        for seed in 0..STORES_FOR_A_BUG {
            let found = Store::new(self, seed, Some(mutation)).and_then(|store| store.kill());
            if let Some(said) = found.ok().and_then(|findings| findings.said.into_iter().next()) {
                progress(self.name(), &format!("{} was noticed: {said}", mutation.name()));
                return Planted::caught(mutation.name(), said, format!("store {seed}"));
            }
        }
        Planted::missed(mutation.name())
    }
}

fn note(report: &mut Report, seed: u64, findings: Findings) {
    report.lost += findings.lost;
    report.doubled += findings.doubled;
    report.stale_accepted += findings.stale;
    report.violations.extend(findings.said.into_iter().map(|said| format!("store {seed}: {said}")));
}

/// A store, and the processes that work on it one after the other.
struct Store<'a> {
    program: &'a Path,
    folder: tempfile::TempDir,
    /// Empty again for the next store when this one is dropped.
    database: Option<Database<'static>>,
    seed: u64,
    broken: Option<Mutation>,
}

impl<'a> Store<'a> {
    fn new(suite: &'a CrashSuite, seed: u64, broken: Option<Mutation>) -> Result<Self, Broken> {
        let folder = tempfile::tempdir()?;
        fs::create_dir(folder.path().join("effects"))?;
        let database = match suite.kind {
            StoreKind::Sqlite => None,
            StoreKind::Postgres => {
                Some(block_on(async { Ok(ratchet_test_postgres::shared().database().await) })?)
            }
        };
        Ok(Self { program: &suite.program, folder, database, seed, broken })
    }

    fn url(&self) -> String {
        match &self.database {
            Some(database) => database.url(),
            None => format!("sqlite:{}?mode=rwc", self.folder.path().join("ratchet.db").display()),
        }
    }

    /// A process that submits `count` numbers from `from` on.
    fn start(&self, from: u64, count: u64, more: &[String]) -> io::Result<Process> {
        let mut command = Command::new(self.program);
        command.arg("child").args(["--store", &self.url()]).arg("--folder").arg(self.folder.path());
        command.args(["--from", &from.to_string(), "--count", &count.to_string()]);
        if let Some(broken) = self.broken {
            command.args(["--broken", broken.name()]);
        }
        command.args(more).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }

    /// Kills process after process, and lets the last one live.
    fn kill(&self) -> Result<Findings, Broken> {
        let mut chance = fastrand::Rng::with_seed(self.seed);
        let mut from = 1;
        for _ in 0..DEATHS {
            let late_by = if chance.u8(..10) < 3 { chance.u64(1..4_000) } else { 0 };
            let die_at = chance.u64(..STEPS).to_string();
            let more = ["--die-at".to_owned(), die_at, "--late-by".to_owned(), late_by.to_string()];
            self.start(from, 3, &more)?.wait()?;
            from += 3;
        }
        self.finish(from)
    }

    /// Nobody is killed any more.
    fn finish(&self, from: u64) -> Result<Findings, Broken> {
        if !self.start(from, 0, &[])?.wait()?.success() {
            return Err(Broken::Unfinished);
        }
        block_on(judge::judge(&self.url(), self.folder.path()))
    }

    /// Pauses a process, lets another one take over, and wakes the first one again.
    fn overtake(&self) -> Result<Findings, Broken> {
        let mut chance = fastrand::Rng::with_seed(self.seed);
        let die_at = chance.u64(..STEPS).to_string();
        let mut paused = self.start(1, 3, &["--die-at".to_owned(), die_at, "--pauses".to_owned()])?;
        let is_paused = wait_for_pause(&paused)?;
        let before = if is_paused {
            // It may hold the store locked; then this one ends without success, which is no fault.
            self.start(4, 1, &[])?.wait()?;
            block_on(judge::definite(&self.url()))?
        } else {
            BTreeMap::new()
        };
        signal(&paused, Signal::CONT);
        // It is gone already if it came to its end before it was paused.
        let _status = paused.wait();
        let mut findings = self.finish(5)?;
        for (key, state) in before {
            let now = block_on(judge::state_of(&self.url(), &key))?;
            if now != Some(state) {
                findings.stale += 1;
                findings.said.push(format!("{key} was {state}, and an overtaken process changed it"));
            }
        }
        Ok(findings)
    }

    /// At which steps processes died, or were paused.
    fn deaths(&self, steps: &mut BTreeMap<String, u64>) -> u64 {
        let deaths = fs::read_to_string(self.folder.path().join("deaths")).unwrap_or_default();
        for step in deaths.lines() {
            *steps.entry(step.to_owned()).or_default() += 1;
        }
        deaths.lines().count() as u64
    }
}

/// Whether the process was paused, or came to its end before.
fn wait_for_pause(process: &Process) -> io::Result<bool> {
    let Some(pid) = pid(process) else { return Ok(false) };
    let waited = waitpid(Some(pid), WaitOptions::UNTRACED | WaitOptions::NOHANG);
    let mut status = waited?;
    let started = Instant::now();
    while status.is_none() && started.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(2));
        status = waitpid(Some(pid), WaitOptions::UNTRACED | WaitOptions::NOHANG)?;
    }
    Ok(status.is_some_and(|(_, status)| status.stopped()))
}

fn signal(process: &Process, signal: Signal) {
    if let Some(pid) = pid(process) {
        let _may_be_gone = kill_process(pid, signal);
    }
}

fn pid(process: &Process) -> Option<Pid> {
    i32::try_from(process.id()).ok().and_then(Pid::from_raw)
}

fn block_on<T>(work: impl Future<Output = Result<T, LedgerError>>) -> Result<T, Broken> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(work)?)
}
