//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser};

use crate::subject::Store;
use crate::work::Work;

/// Measures the same work for Ratchet, its peers, and bare SQL on one server in one run, and prints a table.
#[derive(Debug, Clone, Parser)]
pub(crate) struct Options {
    /// Where the jobs are.
    #[arg(long, value_enum, default_value = "postgres")]
    pub(crate) store: Store,
    /// The kinds of work; all of them by default.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) works: Vec<Work>,
    /// Words in the names of the subjects; all of them by default.
    #[arg(long, value_delimiter = ',')]
    pub(crate) subjects: Vec<String>,
    /// How often each measurement is taken, in turns; medians count.
    #[arg(long)]
    rounds: Option<usize>,
    /// The number of single enqueues; other kinds of work are scaled by it.
    #[arg(long)]
    jobs: Option<u64>,
    /// For how many seconds jobs arrive when pick-up is measured.
    #[arg(long)]
    seconds: Option<u64>,
    /// After how many seconds a measurement is broken off.
    #[arg(long)]
    limit: Option<u64>,
    /// A smoke run: one round, few jobs.
    #[arg(long)]
    quick: bool,
    /// The folder with `initdb` and `postgres`; by default the newest one found.
    #[arg(long)]
    pub(crate) postgres_bin: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) one: Option<One>,
}

/// What the driver asks of a process for one measurement.
#[derive(Debug, Clone, Args)]
#[group(requires_all = ["subject", "work", "url"])]
pub(crate) struct One {
    #[arg(long, hide = true, required = false)]
    pub(crate) subject: String,
    #[arg(long, value_enum, hide = true, required = false)]
    pub(crate) work: Work,
    #[arg(long, hide = true, required = false)]
    pub(crate) url: String,
    #[arg(long, hide = true)]
    pub(crate) server: Option<u32>,
}

impl Options {
    pub(crate) fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 1 } else { 3 }).max(1)
    }

    pub(crate) fn jobs(&self) -> u64 {
        self.jobs.unwrap_or(if self.quick { 1_000 } else { 20_000 }).max(1_000)
    }

    pub(crate) fn seconds(&self) -> u64 {
        self.seconds.unwrap_or(if self.quick { 2 } else { 10 }).max(1)
    }

    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs(self.limit.unwrap_or(if self.quick { 5 } else { 15 }).max(1))
    }

    pub(crate) fn works(&self) -> Vec<Work> {
        Work::ALL.into_iter().filter(|work| self.works.is_empty() || self.works.contains(work)).collect()
    }

    pub(crate) fn wants(&self, subject: &str) -> bool {
        self.subjects.is_empty() || self.subjects.iter().any(|word| subject.contains(word.as_str()))
    }
}
