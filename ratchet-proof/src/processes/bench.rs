//! A store, a destination, and the processes that work with both.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ratchet_core::LedgerError;

use super::judge::{self, Findings};
use super::{Process, Sample};
use crate::planted::Mutation;

/// How long one waits for processes to get somewhere.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a suite could not do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] LedgerError),
    #[error("a process that nobody disturbed did not end well: {0}")]
    Unfinished(String),
    #[error("nothing came of it: {0}")]
    Nothing(&'static str),
    #[error("{0}")]
    Tool(String),
}

/// Where processes work. The destination and the logs are files that no fault reaches.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    program: &'a Path,
    folder: tempfile::TempDir,
    url: String,
    broken: Option<Mutation>,
}

impl<'a> Bench<'a> {
    /// A store in a new folder.
    pub(crate) fn new(program: &'a Path, broken: Option<Mutation>) -> io::Result<Self> {
        // What is killed leaves everything to the operating system, so memory is as good as a disk, and quicker.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }?;
        fs::create_dir(folder.path().join("effects"))?;
        let url = sqlite(folder.path());
        Ok(Self { program, folder, url, broken })
    }

    /// The same with a store elsewhere.
    pub(crate) fn on(mut self, url: String) -> Self {
        self.url = url;
        self
    }

    pub(crate) fn in_folder(self, folder: &Path) -> Self {
        self.on(sqlite(folder))
    }

    pub(crate) const fn broken(&self) -> Option<Mutation> {
        self.broken
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A process that submits `count` numbers from `from` on, and lives until all on record is at its end.
    pub(crate) fn command(&self, from: u64, count: u64, more: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.arg("child").args(["--store", &self.url]).arg("--folder").arg(self.folder());
        command.args(["--from", &from.to_string(), "--count", &count.to_string()]);
        if let Some(broken) = self.broken {
            command.args(["--broken", broken.name()]);
        }
        command.args(more).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub(crate) fn start(&self, from: u64, count: u64, more: &[&str]) -> io::Result<Process> {
        Process::start(self.command(from, count, more))
    }

    /// A process that lives for so many seconds, and writes down what it measures.
    pub(crate) fn steady(&self, seconds: u64, period: u64) -> Command {
        let mut command = Command::new(self.program);
        command.arg("steady").args(["--store", &self.url]).arg("--folder").arg(self.folder());
        command.args(["--seconds", &seconds.to_string(), "--period", &period.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.lines("samples").iter().filter_map(|line| Sample::read(line)).collect()
    }

    /// Nothing happens any more: one process brings everything to its end, and all is counted again.
    pub(crate) fn finish(&self) -> Result<Findings, Broken> {
        self.finish_by(self.last())
    }

    /// The process that comes last. It submits nothing, so it meets no number twice.
    pub(crate) fn last(&self) -> Command {
        // Where a rule is broken something may never end.
        let patience = if self.broken.is_some() { "20" } else { "120" };
        self.command(1_000_000, 0, &["--patience", patience])
    }

    pub(crate) fn finish_by(&self, mut last: Command) -> Result<Findings, Broken> {
        let last = last.stderr(Stdio::piped()).output()?;
        match (last.status.success(), self.broken) {
            (true, _) => {}
            // What is not at its end says nothing of effects.
            (false, Some(_)) => return self.look_for_losses(),
            (false, None) => {
                return Err(Broken::Unfinished(String::from_utf8_lossy(&last.stderr).trim().to_owned()));
            }
        }
        block_on(judge::judge(&self.url, self.folder()))
    }

    /// Looks only for what was acknowledged and is gone: the destination may know more than the store.
    pub(crate) fn look_for_losses(&self) -> Result<Findings, Broken> {
        block_on(judge::losses(&self.url, self.folder()))
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// What was acknowledged so far.
    pub(crate) fn acknowledged(&self) -> Vec<String> {
        self.lines("acknowledged")
    }

    /// Replaces what was acknowledged, by what was so at an earlier time.
    pub(crate) fn forget_acknowledged_after(&self, known: &[String]) -> io::Result<()> {
        let mut text = known.join("\n");
        text.push('\n');
        fs::write(self.log("acknowledged"), text)
    }

    /// The errors that submissions ended in.
    pub(crate) fn refusals(&self) -> Vec<String> {
        self.lines("refused")
    }

    /// At which steps processes died, or were paused.
    pub(crate) fn deaths(&self) -> Vec<String> {
        self.lines("deaths")
    }

    fn lines(&self, log: &str) -> Vec<String> {
        let text = fs::read_to_string(self.log(log)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until processes got somewhere. False if they do not.
    pub(crate) fn sees(&self, what: impl Fn(&Self) -> bool) -> bool {
        let started = Instant::now();
        while !what(self) {
            if started.elapsed() > PATIENCE {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
        true
    }
}

fn sqlite(folder: &Path) -> String {
    format!("sqlite:{}?mode=rwc", folder.join("ratchet.db").display())
}

pub(crate) fn block_on<T, E>(work: impl Future<Output = Result<T, E>>) -> Result<T, Broken>
where
    Broken: From<E>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(work)?)
}
