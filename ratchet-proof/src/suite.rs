//! What a suite is, and what it reports.

use std::time::{Duration, Instant};

use serde::Serialize;

/// Something that tries to break the promise, for as long as one likes.
pub trait Suite: Send + Sync {
    /// The name in tables, and after `--suite`.
    fn name(&self) -> &'static str;

    /// What its cases are.
    fn what(&self) -> &'static str;

    /// Whether it runs where no suite is asked for by name.
    fn is_usual(&self) -> bool {
        true
    }

    /// Tries, and says what came of it. It includes the planted bugs that the suite must notice.
    fn run(&self, effort: Effort) -> Report;
}

/// How long a suite may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// A fixed number of cases, as many as a test of every change can bear.
    Short,
    /// As many cases as fit into this time. What belongs to one case is finished.
    For(Duration),
}

impl Effort {
    /// How much of the time is left. A short run takes what it needs.
    #[must_use]
    pub fn left(self, started: Instant) -> Duration {
        match self {
            Self::Short => Duration::from_hours(1),
            Self::For(span) => span.saturating_sub(started.elapsed()),
        }
    }
}

/// What came of a suite.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Which suite.
    pub name: &'static str,
    /// How many cases were tried: states, seeds, kills.
    pub cases: u64,
    /// Acknowledged submissions that are gone.
    pub lost: u64,
    /// Second effects where there may be one.
    pub doubled: u64,
    /// Outcomes of superseded attempts that changed a record.
    pub stale_accepted: u64,
    /// How many of the planted bugs were noticed.
    pub planted_bugs_caught: usize,
    /// Why this machine could not run it. Then nothing is known of it, and it has not passed.
    pub skipped: Option<String>,
    /// How long it took, in seconds.
    pub seconds: u64,
    /// What was found, with what it takes to see it again.
    pub violations: Vec<String>,
    /// The planted bugs.
    pub planted: Vec<Planted>,
    /// Counts of the parts.
    pub notes: Vec<String>,
}

impl Report {
    /// Nothing tried so far.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            cases: 0,
            lost: 0,
            doubled: 0,
            stale_accepted: 0,
            planted_bugs_caught: 0,
            skipped: None,
            seconds: 0,
            violations: Vec::new(),
            planted: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Whether nothing was found, and every planted bug was noticed. That is also so of a suite that could not run:
    /// [`skipped`](Self::skipped) tells.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.violations.is_empty() && self.planted.iter().all(|planted| planted.caught_by.is_some())
    }
}

/// A bug that was planted, and who noticed it.
#[derive(Debug, Clone, Serialize)]
pub struct Planted {
    /// Which bug.
    pub bug: &'static str,
    /// What noticed it; `None` if nothing did.
    pub caught_by: Option<String>,
    /// The way to where it shows.
    pub way: String,
}

impl Planted {
    /// Something noticed it.
    #[must_use]
    pub const fn caught(bug: &'static str, by: String, way: String) -> Self {
        Self { bug, caught_by: Some(by), way }
    }

    /// Nothing noticed it.
    #[must_use]
    pub const fn missed(bug: &'static str) -> Self {
        Self { bug, caught_by: None, way: String::new() }
    }
}

/// Says how far a suite has come, to whoever waits for it.
pub(crate) fn progress(suite: &str, text: &str) {
    eprintln!("{suite}: {text}");
}

/// Runs suites one after the other, each for its share of the time.
#[must_use]
pub fn run_all(suites: &[Box<dyn Suite>], effort: Effort) -> Vec<Report> {
    let started = Instant::now();
    let mut reports = Vec::new();
    for (place, suite) in suites.iter().enumerate() {
        let left = u32::try_from(suites.len() - place).unwrap_or(1);
        let share = match effort {
            Effort::Short => Effort::Short,
            // What one suite does not need is the others'.
            Effort::For(_) => Effort::For(effort.left(started) / left),
        };
        reports.push(run(&**suite, share));
    }
    reports
}

/// Runs one suite.
#[must_use]
pub fn run(suite: &dyn Suite, effort: Effort) -> Report {
    let started = Instant::now();
    let mut report = suite.run(effort);
    report.seconds = started.elapsed().as_secs();
    report.planted_bugs_caught = report.planted.iter().filter(|planted| planted.caught_by.is_some()).count();
    report
}
