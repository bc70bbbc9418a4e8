//! Runs the compiler and says what it took.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::Failed;
use crate::prepare::Ground;
use crate::subject::Subject;

/// What the compiler is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// `cargo check` of a crate that declares the functions, without a former run to build on.
    Check,
    /// The same after a function of one line was appended.
    Incremental,
    /// `cargo check` of a crate that also has what calls the functions.
    CheckCalled,
    /// The same after a function of one line was appended.
    IncrementalCalled,
    /// `cargo build` of that crate in the dev profile, without a former run to build on.
    BuildCalled,
}

pub(crate) const WORKS: [Work; 5] =
    [Work::Check, Work::Incremental, Work::CheckCalled, Work::IncrementalCalled, Work::BuildCalled];

impl Work {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Incremental => "incremental check",
            Self::CheckCalled => "check, called",
            Self::IncrementalCalled => "incremental check, called",
            Self::BuildCalled => "dev build, called",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Incremental => "incremental",
            Self::CheckCalled => "check_called",
            Self::IncrementalCalled => "incremental_called",
            Self::BuildCalled => "build_called",
        }
    }

    fn is_called(self) -> bool {
        matches!(self, Self::CheckCalled | Self::IncrementalCalled | Self::BuildCalled)
    }

    fn is_incremental(self) -> bool {
        matches!(self, Self::Incremental | Self::IncrementalCalled)
    }
}

/// What one run took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// Processor time of the compiler, in the program and in the kernel for it. Only their sum is exact on Linux.
    pub(crate) processor: Duration,
    /// Time that passed.
    pub(crate) wall: Duration,
}

/// One generated crate and what is done with it.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) subject: Subject,
    pub(crate) items: usize,
    pub(crate) work: Work,
}

impl Case {
    fn folder(&self, ground: &Ground) -> PathBuf {
        let name = format!("{}_{}_{}", self.subject.name(), self.items, self.work.name());
        ground.folder.join("crates").join(name)
    }

    /// Writes the crate; `round` makes it differ from that of the round before by one line.
    fn write(&self, ground: &Ground, round: usize) -> Result<PathBuf, Failed> {
        let folder = self.folder(ground);
        fs::create_dir_all(&folder)?;
        let path = folder.join("lib.rs");
        let source = self.subject.source(self.items, self.work.is_called());
        fs::write(&path, format!("{source}pub fn appended_{round}() {{}}\n"))?;
        Ok(path)
    }

    /// What cargo passes on in the dev profile.
    fn arguments(&self, command: &mut Command, ground: &Ground, path: &Path) {
        let folder = self.folder(ground);
        let emit = if self.work == Work::BuildCalled { "--emit=metadata,link" } else { "--emit=metadata" };
        command
            .args(["--edition=2024", "--crate-type=lib", "--crate-name=subject", "-Cdebuginfo=2", emit])
            .arg("--out-dir")
            .arg(&folder)
            .arg(path);
        if self.work.is_incremental() {
            command.arg(format!("-Cincremental={}", folder.join("incremental").display()));
        }
    }

    /// Forgets the runs of former calls of this program.
    pub(crate) fn clear(&self, ground: &Ground) -> Result<(), Failed> {
        match fs::remove_dir_all(self.folder(ground)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// One run.
    pub(crate) fn run(&self, ground: &Ground, round: usize) -> Result<Cost, Failed> {
        let path = self.write(ground, round)?;
        let mut command = ground.compiler();
        self.arguments(&mut command, ground, &path);
        let (before, started) = (processor_time()?, Instant::now());
        run(&mut command)?;
        Ok(Cost { processor: processor_time()?.saturating_sub(before), wall: started.elapsed() })
    }

    /// The instructions of one run, in millions, as valgrind counts them.
    pub(crate) fn instructions(&self, ground: &Ground, round: usize) -> Result<f64, Failed> {
        let path = self.write(ground, round)?;
        let mut command = Command::new("valgrind");
        command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
        command.arg(&ground.rustc);
        ground.link(&mut command);
        self.arguments(&mut command, ground, &path);
        let printed = run(&mut command)?;
        let count = printed.lines().find_map(|line| line.split_once("refs:")).map(|(_, count)| count);
        let count =
            count.map(|count| count.trim().replace(',', "")).and_then(|count| count.parse::<f64>().ok());
        count.map(|count| count / 1e6).ok_or_else(|| Failed::Command("valgrind".to_owned()))
    }

    /// The crate as the compiler sees it, macros expanded.
    pub(crate) fn expanded(&self, ground: &Ground) -> Result<String, Failed> {
        let path = self.write(ground, 0)?;
        let mut command = ground.compiler();
        self.arguments(&mut command, ground, &path);
        command.arg("-Zunpretty=expanded").env("RUSTC_BOOTSTRAP", "1");
        let output = command.stderr(Stdio::null()).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Processor time of all children that have ended.
fn processor_time() -> Result<Duration, Failed> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(std::io::Error::from)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(micros.unsigned_abs()))
}

/// Runs a command to its end and gives what it wrote about itself.
fn run(command: &mut Command) -> Result<String, Failed> {
    let output = command.stdout(Stdio::null()).output()?;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(printed) } else { Err(Failed::Compiler(printed)) }
}
