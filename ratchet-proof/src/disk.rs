//! Disks that run full or can no longer be written, files that go away, and two programs on one file.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cases::{self, Cases, Seen};
use crate::planted::Mutation;
use crate::processes::{Bench, Broken, Findings};
use crate::suite::{Effort, Report, Suite};
use crate::volumes::{Disk, SmallVolume};

/// How many numbers a process submits: more than any of the small disks holds.
const NUMBERS: u64 = 3_000;

/// The sizes of disks that run full, in kilobytes; the tables alone do not fit on the first ones.
const SIZES: [u64; 10] = [64, 256, 512, 640, 768, 896, 1_024, 1_280, 1_536, 2_048];

const ENOUGH: u64 = 128 << 10;

/// What happens to the file under processes that work on `SQLite`.
#[derive(Debug, Clone)]
pub struct DiskSuite {
    /// This program, which is started again with `child`.
    program: PathBuf,
}

impl DiskSuite {
    /// A suite whose processes are this program, the one of this crate.
    #[must_use]
    pub const fn new(program: PathBuf) -> Self {
        Self { program }
    }
}

impl Suite for DiskSuite {
    fn name(&self) -> &'static str {
        "disk"
    }

    fn what(&self) -> &'static str {
        "disks of SQLite that ran full or became read-only, files that went away, two programs on one file"
    }

    fn run(&self, effort: Effort) -> Report {
        cases::run(self, effort)
    }
}

impl Cases for DiskSuite {
    fn name(&self) -> &'static str {
        Suite::name(self)
    }

    fn short(&self) -> u64 {
        30
    }

    fn planted(&self) -> &'static [Mutation] {
        &[Mutation::EarlyAcknowledgement]
    }

    fn obstacle(&self) -> Option<String> {
        Disk::obstacle().or_else(SmallVolume::obstacle)
    }

    fn case(&self, number: u64, broken: Option<Mutation>) -> Result<Seen, Broken> {
        let bench = Bench::new(&self.program, broken)?;
        let round = number / 5;
        match number % 5 {
            0 => full(bench, round, Room::ForTheLiving),
            1 => full(bench, round, Room::ForTheNext),
            2 => read_only(bench),
            3 => moved(&bench, round),
            _ => two_programs(&bench, number),
        }
    }
}

/// To whom a full disk gives room again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    ForTheLiving,
    ForTheNext,
}

fn full(bench: Bench<'_>, round: u64, room: Room) -> Result<Seen, Broken> {
    let size = SIZES[usize::try_from(round).unwrap_or(0) % SIZES.len()];
    let volume = SmallVolume::of_kilobytes(size)?;
    let bench = bench.in_folder(&volume.folder());
    let mut process = bench.start(1, NUMBERS, &["--until-refused"])?;
    let told = bench.sees(|bench| !bench.refusals().is_empty());
    if !told {
        return Err(Broken::Nothing("a full disk was told to nobody"));
    }
    let (lives_on, before) = (process.is_alive(), bench.acknowledged().len());
    if room == Room::ForTheNext {
        process.kill();
    }
    volume.grow_to_kilobytes(ENOUGH)?;
    if room == Room::ForTheLiving && lives_on {
        // The same process goes on, as its queue and its worker do.
        bench.start(NUMBERS + 1, 5, &[])?.wait();
        process.wait();
        if bench.acknowledged().len() < before + 5 {
            return Err(Broken::Nothing("nothing is acknowledged when there is room again"));
        }
    }
    let mut findings = bench.finish()?;
    expect_told(&bench, &mut findings, "the disk that holds the store is full");
    Ok(Seen { findings, faults: vec![format!("full, {}", described(room))] })
}

const fn described(room: Room) -> &'static str {
    match room {
        Room::ForTheLiving => "and the process goes on when there is room",
        Room::ForTheNext => "and the next process has room",
    }
}

/// Every error says what is wrong, so that somebody can do something about it.
fn expect_told(bench: &Bench<'_>, findings: &mut Findings, words: &str) {
    for refusal in bench.refusals() {
        if !refusal.contains(words) {
            findings.said.push(format!("the caller was told `{refusal}` and not that {words}"));
        }
    }
}

/// As operating systems do with a disk that fails.
fn read_only(bench: Bench<'_>) -> Result<Seen, Broken> {
    let disk = Disk::new()?;
    let bench = bench.in_folder(&disk.folder());
    let mut process = bench.start(1, NUMBERS, &["--until-refused"])?;
    if !bench.sees(|bench| bench.acknowledged().len() >= 10) {
        return Err(Broken::Nothing("a process acknowledges nothing"));
    }
    disk.turn_read_only()?;
    if !bench.sees(|bench| !bench.refusals().is_empty()) {
        return Err(Broken::Nothing("a disk that cannot be written was told to nobody"));
    }
    process.kill();
    disk.repair()?;
    Ok(Seen { findings: bench.finish()?, faults: vec!["read-only under a process".to_owned()] })
}

/// What is acknowledged is in the file, wherever that is; and nothing is once the file is not in its place.
fn moved(bench: &Bench<'_>, round: u64) -> Result<Seen, Broken> {
    let mut process = bench.start(1, NUMBERS, &["--until-refused"])?;
    let before = usize::try_from(5 + round % 20).unwrap_or(5);
    if !bench.sees(|bench| bench.acknowledged().len() >= before) {
        return Err(Broken::Nothing("a process acknowledges nothing"));
    }
    let aside = bench.folder().join("aside");
    fs::create_dir(&aside)?;
    move_files(bench.folder(), &aside)?;
    if !bench.sees(|bench| !bench.refusals().is_empty()) {
        return Err(Broken::Nothing("a file that is gone was told to nobody"));
    }
    process.kill();
    let mut findings = Findings::default();
    if bench.folder().join("ratchet.db").exists() {
        findings.said.push("a new file was made in the place of one that is gone".to_owned());
    }
    move_files(&aside, bench.folder())?;
    findings.add(bench.finish()?);
    Ok(Seen { findings, faults: vec!["file taken away under a process".to_owned()] })
}

fn move_files(from: &Path, to: &Path) -> Result<(), Broken> {
    for name in ["ratchet.db", "ratchet.db-wal", "ratchet.db-shm"] {
        match fs::rename(from.join(name), to.join(name)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            renamed => renamed?,
        }
    }
    Ok(())
}

/// Two at once, of which one dies.
fn two_programs(bench: &Bench<'_>, number: u64) -> Result<Seen, Broken> {
    let mut chance = fastrand::Rng::with_seed(number);
    for pair in 0..4 {
        let from = 1 + 20 * pair;
        let die_at = chance.u64(..59).to_string();
        let mut dies = bench.start(from, 3, &["--die-at", &die_at])?;
        // What the other one did not see acknowledged it submits again.
        let mut lives = bench.start(from + 10, 3, &["--patience", "1"])?;
        dies.wait();
        lives.wait();
    }
    let findings = bench.finish()?;
    Ok(Seen { findings, faults: vec!["two programs on one file".to_owned(); 4] })
}
