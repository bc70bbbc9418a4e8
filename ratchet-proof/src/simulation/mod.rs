//! The real client and worker in virtual time, over a network, a store and a destination that fail by a seed.

mod bank;
mod chance;
mod clock;
mod judge;
mod life;
mod network;
mod operations;
mod script;
mod shrink;

use std::time::Instant;

use tokio::runtime::Builder;

pub use judge::Verdicts;
pub use script::{Incident, Script};
pub use shrink::shrink;

use crate::planted::Mutation;
use crate::suite::{Effort, Planted, Report, Suite, progress};
use life::Life;

/// How many seeds a short run tries.
const SHORT: u64 = 400;

/// In how many seeds a planted bug has to show.
const SEEDS_FOR_A_BUG: u64 = 300;

/// The rules that can be broken around the real worker, whose decisions cannot.
const PLANTED: [Mutation; 7] = [
    Mutation::NoFence,
    Mutation::NoDeduplication,
    Mutation::EarlyAcknowledgement,
    Mutation::NoRescue,
    Mutation::AskWithoutClosing,
    Mutation::UnknownIsFailure,
    Mutation::AttemptInKey,
];

/// Simulated lives, one for each seed.
#[derive(Debug, Clone, Copy)]
pub struct SimulationSuite;

impl Suite for SimulationSuite {
    fn name(&self) -> &'static str {
        "simulation"
    }

    fn what(&self) -> &'static str {
        "seeds: client and worker in virtual time over a network, a store and a destination that fail"
    }

    fn run(&self, effort: Effort) -> Report {
        let started = Instant::now();
        let mut report = Report::new(self.name());
        report.planted.extend(PLANTED.map(planted));
        // A long run tries other seeds than the one before it.
        let first = if effort == Effort::Short { 0 } else { fastrand::u64(..1 << 48) };
        let mut seed = first;
        let goes_on = |tried| match effort {
            Effort::Short => tried < SHORT,
            Effort::For(_) => tried == 0 || !effort.left(started).is_zero(),
        };
        while goes_on(seed - first) {
            note(&mut report, seed, &live(seed, &Script::default(), None).verdicts);
            seed += 1;
        }
        report.notes.push(format!("seeds {first} to {}", seed - 1));
        report
    }
}

fn note(report: &mut Report, seed: u64, verdicts: &Verdicts) {
    report.cases += 1;
    report.lost += verdicts.lost;
    report.doubled += verdicts.doubled;
    report.stale_accepted += verdicts.stale_accepted;
    let is_first = report.violations.is_empty() && !verdicts.findings.is_empty();
    let violations = verdicts.findings.iter().map(|finding| format!("seed {seed}: {finding}"));
    report.violations.extend(violations);
    // The others are shrunk when they are lived again.
    if let Some(script) = is_first.then(|| shrink(seed, None)).flatten() {
        let command = script.command(seed, None);
        progress("simulation", &command);
        report.violations.push(format!("the least of it: {command}"));
    }
}

fn planted(mutation: Mutation) -> Planted {
    let finding = |seed: u64| {
        let lived = live(seed, &Script::default(), Some(mutation));
        lived.verdicts.findings.into_iter().next().map(|finding| (seed, finding))
    };
    match (0..SEEDS_FOR_A_BUG).find_map(finding) {
        Some((seed, finding)) => Planted::caught(mutation.name(), finding, format!("seed {seed}")),
        None => Planted::missed(mutation.name()),
    }
}

/// What came of one life.
#[derive(Debug)]
pub struct Lived {
    /// What was found wrong.
    pub verdicts: Verdicts,
    /// Tells two lives apart: the same each time a seed lives by the same script.
    pub trace: u64,
    /// What happened, in its order.
    pub incidents: Vec<Incident>,
}

/// Lives the life of a seed, as often as one likes: it is the same each time.
///
/// # Panics
/// If the operating system gives no runtime.
#[must_use]
pub fn live(seed: u64, script: &Script, broken: Option<Mutation>) -> Lived {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
    runtime.block_on(Life::live(seed, script.clone(), broken))
}
