//! Clocks that jump while a process works.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use ratchet_test_postgres::{Database, shared};

use crate::cases::{self, Cases, Seen};
use crate::planted::Mutation;
use crate::processes::{Bench, Broken, Process, block_on};
use crate::suite::{Effort, Report, Suite};

/// By how much clocks are wrong, in seconds, back and forward: a correction, a time zone, a dead battery.
const BACK: [i64; 7] = [-1, -60, -3_600, -86_400, -2_592_000, -34_560_000, -315_360_000];
const FORWARD: [i64; 7] = [1, 60, 3_600, 86_400, 2_592_000, 34_560_000, 315_360_000];

/// What is due, and whose lease is over, `SQLite` is told by the clock of the process. So what a clock that was a day ahead
/// has written waits for a day, and then the rest must end. Further ahead everything would be purged by then.
const FURTHEST_ON_SQLITE: i64 = 86_400;

/// How many processes with a wrong clock work on one store.
const PROCESSES: u64 = 3;

const BETWEEN_JUMPS: Duration = Duration::from_millis(60);

/// Past the last step of most lives.
const STEPS: u64 = 59;

/// Processes whose wall clock jumps, by `libfaketime`; the clock that only runs forward does not.
#[derive(Debug, Clone)]
pub struct ClockSuite {
    /// This program, which is started again with `child`.
    program: PathBuf,
}

impl ClockSuite {
    /// A suite whose processes are this program, the one of this crate.
    #[must_use]
    pub const fn new(program: PathBuf) -> Self {
        Self { program }
    }
}

impl Suite for ClockSuite {
    fn name(&self) -> &'static str {
        "clock"
    }

    fn what(&self) -> &'static str {
        "jumps of the clock of a process, by a second to ten years, forward and back"
    }

    fn run(&self, effort: Effort) -> Report {
        cases::run(self, effort)
    }
}

impl Cases for ClockSuite {
    fn name(&self) -> &'static str {
        Suite::name(self)
    }

    fn short(&self) -> u64 {
        60
    }

    fn planted(&self) -> &'static [Mutation] {
        &[Mutation::NoDeduplication]
    }

    fn obstacle(&self) -> Option<String> {
        library().is_none().then(|| "it needs `libfaketime`, of Debian's package faketime".to_owned())
    }

    fn case(&self, number: u64, broken: Option<Mutation>) -> Result<Seen, Broken> {
        let library = library().ok_or(Broken::Nothing("there is no libfaketime"))?;
        let bench = Bench::new(&self.program, broken)?;
        if broken.is_some() {
            return dies_after_an_effect(&bench, &library, number);
        }
        if number.is_multiple_of(2) {
            return on_sqlite(&bench, &library, number);
        }
        let database: Database<'_> = block_on(async { Ok::<_, Broken>(shared().database().await) })?;
        let bench = bench.on(database.url());
        let all: Vec<i64> = BACK.into_iter().chain(FORWARD).collect();
        let faults = jumps(&bench, &library, number, &all)?;
        // The clock of the server tells what is due, and that was right all the time.
        Ok(Seen { findings: bench.finish()?, faults })
    }
}

fn on_sqlite(bench: &Bench<'_>, library: &Path, number: u64) -> Result<Seen, Broken> {
    let near = FORWARD.into_iter().filter(|jump| *jump <= FURTHEST_ON_SQLITE);
    let faults = jumps(bench, library, number, &BACK.into_iter().chain(near).collect::<Vec<_>>())?;
    let clock = Clock::new(bench, library);
    clock.jump(FURTHEST_ON_SQLITE + 60)?;
    let mut last = bench.last();
    clock.change(&mut last);
    Ok(Seen { findings: bench.finish_by(last)?, faults })
}

/// Where Debian keeps it.
fn library() -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").ok()?.flatten();
    folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1")).find(|file| file.is_file())
}

/// Processes one after the other, and the jumps of their clocks.
fn jumps(bench: &Bench<'_>, library: &Path, number: u64, by: &[i64]) -> Result<Vec<String>, Broken> {
    let mut chance = fastrand::Rng::with_seed(number);
    let clock = Clock::new(bench, library);
    let mut faults = Vec::new();
    for nth in 0..PROCESSES {
        let mut jump = || {
            let jump = chance.choice(by).copied().unwrap_or_default();
            faults.push(described(jump));
            clock.jump(jump)
        };
        jump()?;
        // Half of the processes die, so that leases of a wrong clock are left behind.
        let die_at = ((number * PROCESSES + nth) * 7 % (2 * STEPS)).to_string();
        let command = bench.command(1 + 10 * nth, 6, &["--die-at", &die_at, "--patience", "1"]);
        let mut process = clock.start(command)?;
        while process.is_alive() {
            thread::sleep(BETWEEN_JUMPS);
            jump()?;
        }
        Clock::clean_up(&process);
    }
    Ok(faults)
}

/// Where a wrong clock takes over early, the destination sees a second request.
fn dies_after_an_effect(bench: &Bench<'_>, library: &Path, number: u64) -> Result<Seen, Broken> {
    let clock = Clock::new(bench, library);
    clock.jump(BACK[usize::try_from(number).unwrap_or(0) % BACK.len()])?;
    let nth = (number % 5).to_string();
    let mut process = clock.start(bench.command(1, 5, &["--die-at", &nth, "--step", "after the effect"]))?;
    process.wait();
    Clock::clean_up(&process);
    Ok(Seen { findings: bench.finish()?, faults: Vec::new() })
}

fn described(jump: i64) -> String {
    let direction = if jump < 0 { "back" } else { "forward" };
    let span = match jump.unsigned_abs() {
        0..60 => "a second",
        60..3_600 => "a minute",
        3_600..86_400 => "an hour",
        86_400..2_592_000 => "a day",
        2_592_000..34_560_000 => "30 days",
        34_560_000..315_360_000 => "400 days",
        _ => "ten years",
    };
    format!("{span} {direction}")
}

/// The wall clock of one process.
struct Clock {
    file: PathBuf,
    library: PathBuf,
}

impl Clock {
    fn new(bench: &Bench<'_>, library: &Path) -> Self {
        Self { file: bench.folder().join("clock"), library: library.to_owned() }
    }

    /// Sets it wrong by so many seconds, with one move: a file that is half written would be read.
    fn jump(&self, seconds: i64) -> Result<(), Broken> {
        let next = self.file.with_extension("next");
        fs::write(&next, format!("{seconds:+}\n"))?;
        Ok(fs::rename(next, &self.file)?)
    }

    fn start(&self, mut command: Command) -> Result<Process, Broken> {
        self.change(&mut command);
        Ok(Process::start(command)?)
    }

    fn change(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &self.library).env("FAKETIME_TIMESTAMP_FILE", &self.file);
        command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }

    /// The library leaves its shared memory behind when its process is killed.
    fn clean_up(process: &Process) {
        for name in ["faketime_shm_", "sem.faketime_sem_"] {
            let _may_be_gone = fs::remove_file(format!("/dev/shm/{name}{}", process.id()));
        }
    }
}
