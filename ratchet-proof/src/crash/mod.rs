//! Real processes on a real store, killed or paused at their steps.

mod child;
mod judge;
mod marks;
mod operations;
mod till;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child as Process, Command, Stdio};
use std::thread;
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
const STEPS: u64 = 59;

/// The steps at which processes are paused.
const PAUSES: [&str; 16] = [
    "before the effect",
    "after the effect",
    "before pin",
    "after pin",
    "before settle",
    "after settle",
    "before claim",
    "after claim",
    "before start",
    "after start",
    "before renew",
    "before begin step",
    "after finish step",
    "before ask",
    "before the question",
    "before resolve",
];

/// How many stores are worked on at the same time.
const AT_ONCE: u64 = 6;

/// In so many rounds of stores a planted bug has to show.
const ROUNDS_FOR_A_BUG: u64 = 10;

/// The rules that can be broken around real processes.
const PLANTED: [Mutation; 3] =
    [Mutation::NoDeduplication, Mutation::EarlyAcknowledgement, Mutation::AttemptInKey];

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
    #[error("a process that nobody killed did not end well: {0}")]
    Unfinished(String),
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
        let (kills, pauses) = self.kind.short();
        let mut tally = Tally::default();
        let mut seed = 0;
        while report.violations.len() < 20 {
            let enough = match effort {
                Effort::Short => tally.killed >= kills && tally.paused >= pauses,
                Effort::For(_) => seed > 0 && effort.left(started).is_zero(),
            };
            if enough {
                break;
            }
            let is_pause = tally.paused * kills < tally.killed * pauses;
            for (seed, looked_at) in self.look_at(seed..seed + AT_ONCE, is_pause, None) {
                tally.add(&mut report, is_pause, seed, looked_at);
            }
            seed += AT_ONCE;
            progress(self.name(), &format!("{} kills and {} pauses", tally.killed, tally.paused));
        }
        report.cases = tally.killed + tally.paused;
        report.notes.push(format!("{} kills and {} pauses on {seed} stores", tally.killed, tally.paused));
        report.notes.extend(tally.steps.iter().map(|(step, deaths)| format!("{step}: {deaths}")));
        report
    }
}

/// What came of a store, and at which steps its processes died.
type LookedAt = Result<(Findings, Vec<String>), Broken>;

impl CrashSuite {
    /// Several stores at once, since most processes wait for leases to end.
    fn look_at(&self, seeds: Range<u64>, is_pause: bool, broken: Option<Mutation>) -> Vec<(u64, LookedAt)> {
        let one = |seed| {
            let store = Store::new(self, seed, broken)?;
            let findings = if is_pause { store.overtake() } else { store.kill() }?;
            Ok((findings, store.deaths()))
        };
        thread::scope(|scope| {
            let running: Vec<_> = seeds.map(|seed| (seed, scope.spawn(move || one(seed)))).collect();
            let joined = |(seed, running): (u64, thread::ScopedJoinHandle<'_, LookedAt>)| {
                (
                    seed,
                    running.join().unwrap_or(Err(Broken::Unfinished("the suite itself panicked".to_owned()))),
                )
            };
            running.into_iter().map(joined).collect()
        })
    }

    fn planted(&self, mutation: Mutation) -> Planted {
        for round in 0..ROUNDS_FOR_A_BUG {
            let seed = round * AT_ONCE;
            for (seed, looked_at) in self.look_at(seed..seed + AT_ONCE, false, Some(mutation)) {
                if let Some(said) = looked_at.ok().and_then(|(findings, _)| findings.said.into_iter().next())
                {
                    progress(self.name(), &format!("{} was noticed: {said}", mutation.name()));
                    return Planted::caught(mutation.name(), said, format!("store {seed}"));
                }
            }
        }
        Planted::missed(mutation.name())
    }
}

/// What is counted over all stores.
#[derive(Debug, Default)]
struct Tally {
    killed: u64,
    paused: u64,
    steps: BTreeMap<String, u64>,
}

impl Tally {
    fn add(&mut self, report: &mut Report, is_pause: bool, seed: u64, looked_at: LookedAt) {
        let (findings, deaths) = match looked_at {
            Ok(looked_at) => looked_at,
            Err(error) => return report.violations.push(format!("store {seed}: {error}")),
        };
        *if is_pause { &mut self.paused } else { &mut self.killed } += deaths.len() as u64;
        for step in deaths {
            *self.steps.entry(step).or_default() += 1;
        }
        report.lost += findings.lost;
        report.doubled += findings.doubled;
        report.stale_accepted += findings.stale;
        report.violations.extend(findings.said.into_iter().map(|said| format!("store {seed}: {said}")));
    }
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
        // What is killed leaves everything to the operating system, so memory is as good as a disk, and quicker.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }?;
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
    fn command(&self, from: u64, count: u64, more: &[String]) -> Command {
        let mut command = Command::new(self.program);
        command.arg("child").args(["--store", &self.url()]).arg("--folder").arg(self.folder.path());
        command.args(["--from", &from.to_string(), "--count", &count.to_string()]);
        if let Some(broken) = self.broken {
            command.args(["--broken", broken.name()]);
        }
        command.args(more).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn start(&self, from: u64, count: u64, more: &[String]) -> io::Result<Process> {
        self.command(from, count, more).spawn()
    }

    /// Kills process after process, and lets the last one live.
    fn kill(&self) -> Result<Findings, Broken> {
        let mut chance = fastrand::Rng::with_seed(self.seed);
        let mut from = 1;
        for death in 0..DEATHS {
            let late_by = if chance.u8(..10) < 3 { chance.u64(1..4_000) } else { 0 };
            // Step by step, so that none is left out.
            let die_at = ((self.seed * DEATHS + death) % STEPS).to_string();
            let more = ["--die-at".to_owned(), die_at, "--late-by".to_owned(), late_by.to_string()];
            self.start(from, 3, &more)?.wait()?;
            from += 3;
        }
        self.finish(from)
    }

    /// Nobody is killed any more.
    fn finish(&self, from: u64) -> Result<Findings, Broken> {
        let last = self.command(from, 0, &[]).stderr(Stdio::piped()).output()?;
        if !last.status.success() {
            return Err(Broken::Unfinished(String::from_utf8_lossy(&last.stderr).trim().to_owned()));
        }
        block_on(judge::judge(&self.url(), self.folder.path()))
    }

    /// Pauses a process, lets another one take over, and wakes the first one again.
    fn overtake(&self) -> Result<Findings, Broken> {
        let (nth, which) = (self.seed / PAUSES.len() as u64, self.seed % PAUSES.len() as u64);
        let step = PAUSES.get(usize::try_from(which).unwrap_or(0)).copied().unwrap_or_default();
        let nth = (nth % 4).to_string();
        let more = ["--die-at", &nth, "--step", step, "--pauses"].map(str::to_owned);
        let mut paused = self.start(1, 3, &more)?;
        let is_paused = wait_for_pause(&paused)?;
        let before = if is_paused {
            // It may hold the store locked; then this one ends without success, which is no fault.
            self.start(4, 1, &["--patience", "4"].map(str::to_owned))?.wait()?;
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
    fn deaths(&self) -> Vec<String> {
        let deaths = fs::read_to_string(self.folder.path().join("deaths")).unwrap_or_default();
        deaths.lines().map(str::to_owned).collect()
    }
}

/// Whether the process was paused, or came to its end before.
fn wait_for_pause(process: &Process) -> io::Result<bool> {
    let Some(pid) = pid(process) else { return Ok(false) };
    let waited = waitpid(Some(pid), WaitOptions::UNTRACED | WaitOptions::NOHANG);
    let mut status = waited?;
    let started = Instant::now();
    while status.is_none() && started.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(2));
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
