//! Machines that lose their power: what is not on the disk is gone.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use crate::cases::{self, Cases, Seen};
use crate::planted::Mutation;
use crate::processes::{Bench, Broken, Findings, is_stopped_soon};
use crate::suite::{Effort, Report, Suite};
use crate::volumes::Disk;

/// How often one machine loses its power.
const CUTS: u64 = 10;

/// Past the last step of most lives.
const STEPS: u64 = 59;

/// How many numbers a machine submits at the most before its power is lost.
const NUMBERS: u64 = 40;

/// The power is lost while a process works on `SQLite`, at one of its steps or at any time.
#[derive(Debug, Clone)]
pub struct PowerSuite {
    /// This program, which is started again with `child`.
    program: PathBuf,
}

impl PowerSuite {
    /// A suite whose processes are this program, the one of this crate.
    #[must_use]
    pub const fn new(program: PathBuf) -> Self {
        Self { program }
    }
}

impl Suite for PowerSuite {
    fn name(&self) -> &'static str {
        "power"
    }

    fn what(&self) -> &'static str {
        "losses of power while processes work on SQLite, at their steps and at any time"
    }

    fn run(&self, effort: Effort) -> Report {
        cases::run(self, effort)
    }
}

impl Cases for PowerSuite {
    fn name(&self) -> &'static str {
        Suite::name(self)
    }

    fn short(&self) -> u64 {
        50
    }

    fn planted(&self) -> &'static [Mutation] {
        &[Mutation::CommitsUnsynced]
    }

    fn obstacle(&self) -> Option<String> {
        Disk::obstacle()
    }

    fn case(&self, number: u64, broken: Option<Mutation>) -> Result<Seen, Broken> {
        let disk = Disk::new()?;
        let bench = Bench::new(&self.program, broken)?.in_folder(&disk.folder());
        if number.is_multiple_of(2) {
            at_steps(&bench, &disk, number)
        } else {
            at_any_time(&bench, &disk, number)
        }
    }
}

/// The process stands still at a step, so that nothing happens between the cut and its end.
fn at_steps(bench: &Bench<'_>, disk: &Disk, number: u64) -> Result<Seen, Broken> {
    let mut faults = Vec::new();
    for cut in 0..CUTS {
        // Step by step, so that none is left out.
        let die_at = ((number / 2 * CUTS + cut) % STEPS).to_string();
        let mut process = bench.start(1 + 3 * cut, 3, &["--die-at", &die_at, "--pauses"])?;
        if is_stopped_soon(&process)? {
            disk.cut()?;
            process.kill();
            disk.restart()?;
            faults.push("at a step".to_owned());
        }
    }
    Ok(Seen { findings: bench.finish()?, faults })
}

/// In the middle of commits, of checkpoints, of the making of the tables. What the process does between the cut and its end
/// never happened, and the destination cannot know that: only losses are looked for.
fn at_any_time(bench: &Bench<'_>, disk: &Disk, number: u64) -> Result<Seen, Broken> {
    let mut chance = fastrand::Rng::with_seed(number);
    let (mut faults, mut findings) = (Vec::new(), Findings::default());
    for cut in 0..CUTS {
        let before = bench.acknowledged().len();
        let mut process = bench.start(1 + NUMBERS * cut, NUMBERS, &[])?;
        // The first cut may come before anything was acknowledged.
        let more = if cut == 0 { 0 } else { chance.usize(1..10) };
        if !bench.sees(|bench| bench.acknowledged().len() >= before + more) {
            return Err(Broken::Nothing("a process acknowledges nothing"));
        }
        thread::sleep(Duration::from_micros(chance.u64(..40_000)));
        let acknowledged = bench.acknowledged();
        disk.cut()?;
        process.kill();
        bench.forget_acknowledged_after(&acknowledged)?;
        disk.restart()?;
        findings = bench.look_for_losses()?;
        if findings.lost > 0 {
            break;
        }
        faults.push("at any time".to_owned());
    }
    Ok(Seen { findings, faults })
}
