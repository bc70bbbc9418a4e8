//! Real processes on a real store, killed or paused at their steps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ratchet_test_postgres::Database;
use rustix::process::Signal;

use crate::cases::{self, AT_ONCE, Cases, Seen};
use crate::planted::Mutation;
use crate::processes::{Bench, Broken, Findings, block_on, definite, is_stopped_soon, state_of};
use crate::suite::{Effort, Report, Suite};

/// How many processes die on one store before it is looked at.
const DEATHS: u64 = 8;

/// Past the last step of most lives.
const STEPS: u64 = 59;

/// The longest that a process is killed after the step, in microseconds.
const LATEST: u64 = 4_000;

/// How long the making of the tables takes, about; in microseconds.
const MIGRATION: u64 = 40_000;

/// The steps at which processes are paused.
const PAUSES: [&str; 18] = [
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
    "before expire",
    "before purge",
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
        cases::run(self, effort)
    }
}

impl Cases for CrashSuite {
    fn name(&self) -> &'static str {
        Suite::name(self)
    }

    fn short(&self) -> u64 {
        match self.kind {
            StoreKind::Sqlite => 320,
            StoreKind::Postgres => 100,
        }
    }

    fn planted(&self) -> &'static [Mutation] {
        match self.kind {
            StoreKind::Sqlite => &[
                Mutation::NoDeduplication,
                Mutation::EarlyAcknowledgement,
                Mutation::AttemptInKey,
                Mutation::NoStartMark,
                Mutation::KeyFreedOnFailure,
            ],
            StoreKind::Postgres => {
                &[Mutation::NoDeduplication, Mutation::EarlyAcknowledgement, Mutation::AttemptInKey]
            }
        }
    }

    fn case(&self, number: u64, broken: Option<Mutation>) -> Result<Seen, Broken> {
        let store = Store::new(&self.program, self.kind, number, broken)?;
        let round = number / AT_ONCE;
        // Every third round of cases pauses.
        let findings = match broken {
            Some(broken) => store.die_where_it_shows(broken),
            None if round % 3 == 2 => store.overtake((round / 3) * AT_ONCE + number % AT_ONCE),
            None => store.kill(),
        }?;
        Ok(Seen { findings, faults: store.bench.deaths() })
    }
}

/// A store, and the processes that work on it one after the other.
struct Store<'a> {
    bench: Bench<'a>,
    /// Empty again for the next store when this one is dropped.
    _database: Option<Database<'static>>,
    seed: u64,
}

impl<'a> Store<'a> {
    fn new(program: &'a Path, kind: StoreKind, seed: u64, broken: Option<Mutation>) -> Result<Self, Broken> {
        let bench = Bench::new(program, broken)?;
        let (bench, database) = match kind {
            StoreKind::Sqlite => (bench, None),
            StoreKind::Postgres => {
                let database =
                    block_on(async { Ok::<_, Broken>(ratchet_test_postgres::shared().database().await) })?;
                (bench.on(database.url()), Some(database))
            }
        };
        Ok(Self { bench, _database: database, seed })
    }

    /// Kills process after process, and lets the last one live.
    fn kill(&self) -> Result<Findings, Broken> {
        let mut chance = fastrand::Rng::with_seed(self.seed);
        // The first one makes the tables, and dies of it.
        let late_by = chance.u64(1..MIGRATION);
        self.die(0, 0, late_by, Some("before open"))?;
        for death in 1..DEATHS {
            let late_by = if chance.u8(..10) < 3 { chance.u64(1..LATEST) } else { 0 };
            // Step by step, so that none is left out.
            self.die(death, (self.seed * DEATHS + death) % STEPS, late_by, None)?;
        }
        self.bench.finish()
    }

    /// Only a few steps tell a rule that is kept from one that is broken.
    fn die_where_it_shows(&self, broken: Mutation) -> Result<Findings, Broken> {
        let step = match broken {
            Mutation::EarlyAcknowledgement => "before submit",
            // Asked about, an operation that had no effect is closed, and then refused.
            Mutation::KeyFreedOnFailure => "before the effect",
            _ => "after the effect",
        };
        // One of every kind of operation.
        let nth = (self.seed % 5).to_string();
        self.bench.start(1, 5, &["--die-at", &nth, "--step", step])?.wait();
        self.bench.finish()
    }

    fn die(&self, death: u64, die_at: u64, late_by: u64, step: Option<&str>) -> Result<(), Broken> {
        let (die_at, late_by) = (die_at.to_string(), late_by.to_string());
        let mut more = vec!["--die-at", &die_at, "--late-by", &late_by];
        more.extend(step.iter().flat_map(|step| ["--step", step]));
        self.bench.start(1 + 3 * death, 3, &more)?.wait();
        Ok(())
    }

    /// Pauses a process, lets another one take over, and wakes the first one again.
    fn overtake(&self, pause: u64) -> Result<Findings, Broken> {
        let (nth, which) = (pause / PAUSES.len() as u64, pause % PAUSES.len() as u64);
        let step = PAUSES.get(usize::try_from(which).unwrap_or(0)).copied().unwrap_or_default();
        let nth = (nth % 4).to_string();
        let mut paused = self.bench.start(1, 3, &["--die-at", &nth, "--step", step, "--pauses"])?;
        let before = if is_stopped_soon(&paused)? {
            // It may hold the store locked; then this one ends without success, which is no fault.
            self.bench.start(4, 1, &["--patience", "4"])?.wait();
            block_on(definite(self.bench.url()))?
        } else {
            BTreeMap::new()
        };
        paused.signal(Signal::CONT);
        paused.wait();
        let mut findings = self.bench.finish()?;
        for (key, state) in before {
            let now = block_on(state_of(self.bench.url(), &key))?;
            if now != Some(state) {
                findings.stale += 1;
                findings.said.push(format!("{key} was {state}, and an overtaken process changed it"));
            }
        }
        Ok(findings)
    }
}
