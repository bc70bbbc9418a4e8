//! What came of a run.

use std::fmt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ratchet::RecordState;

use super::destination::Count;
use super::latency::Summary;
use super::server::Usage;
use super::{Plan, Shared};

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Report {
    plan: Plan,
    took: Duration,
    pub(crate) count: Count,
    pub(crate) dropped: u64,
    broken: u64,
    refused: u64,
    states: Vec<(RecordState, u64)>,
    usage: Vec<Usage>,
    latencies: Vec<Summary>,
}

/// Memory may grow by so much after the first two fifths of the run, in which the page caches of `SQLite` fill.
const GROWTH_KIB: u64 = 16 * 1024;

impl Report {
    pub(super) fn of(
        shared: &Shared,
        took: Duration,
        usage: Vec<Usage>,
        states: Vec<(RecordState, u64)>,
    ) -> Self {
        Self {
            plan: shared.plan.clone(),
            took,
            count: shared.destination.count(),
            dropped: shared.dropped.load(Ordering::Relaxed),
            broken: shared.broken.load(Ordering::Relaxed),
            refused: shared.refused.load(Ordering::Relaxed),
            states,
            usage,
            latencies: shared.latencies.summaries(),
        }
    }

    /// What should not be so.
    pub(crate) fn wrong(&self) -> Vec<String> {
        let count = &self.count;
        let succeeded = self.in_state(RecordState::Succeeded);
        let others = self.states.iter().map(|(_, records)| records).sum::<u64>() - succeeded;
        let mut wrong = Vec::new();
        let mut unless = |holds: bool, text: String| {
            if !holds {
                wrong.push(text);
            }
        };
        unless(count.accepted > 0, "nothing was accepted".to_owned());
        unless(count.lost == 0, format!("{} accepted orders had no effect", count.lost));
        unless(count.doubled == 0, format!("{} orders had more than one effect", count.doubled));
        unless(count.applied == count.accepted, format!("{count:?}"));
        unless(
            succeeded == count.accepted && others == 0,
            format!("{succeeded} records succeeded, {others} did not"),
        );
        let grown = self.grown_kib();
        unless(grown <= GROWTH_KIB, format!("the server's memory grew by {} MiB", grown / 1024));
        wrong
    }

    fn in_state(&self, wanted: RecordState) -> u64 {
        self.states.iter().filter(|(state, _)| *state == wanted).map(|(_, records)| records).sum()
    }

    /// From the end of the first fifth to the end of the run.
    fn grown_kib(&self) -> u64 {
        let early = self.usage.get((self.usage.len() * 2).div_ceil(5)).map_or(0, |usage| usage.memory_kib);
        self.usage.last().map_or(0, |usage| usage.memory_kib).saturating_sub(early)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { store, workers, producers, .. } = &self.plan;
        let seconds = self.took.as_secs_f64();
        writeln!(f, "{store:?}: {workers} workers, {producers} producers, {seconds:.0} s")?;
        let Count { accepted, applied, lost, doubled, repeated, settled } = self.count;
        writeln!(
            f,
            "orders accepted {accepted}, applied {applied}, reported {settled}, lost {lost}, doubled {doubled}"
        )?;
        writeln!(f, "calls that the destination knew again {repeated}, after {} dropped jobs", self.dropped)?;
        writeln!(f, "requests told to come again {}, connections broken {}", self.refused, self.broken)?;
        let memory: Vec<_> = self.usage.iter().map(|usage| (usage.memory_kib / 1024).to_string()).collect();
        writeln!(f, "memory in MiB: {}", memory.join(" "))?;
        let cpu = self.usage.last().map_or(0.0, |usage| usage.seconds);
        writeln!(f, "processor time of the server: {cpu:.1} s")?;
        writeln!(f, "| call | count | p50 ms | p99 ms | longest ms |\n|---|---|---|---|---|")?;
        for Summary { call, count, half, most, longest } in &self.latencies {
            let [half, most, longest] = [half, most, longest].map(|span| span.as_secs_f64() * 1000.0);
            writeln!(f, "| {call} | {count} | {half:.1} | {most:.1} | {longest:.1} |")?;
        }
        for wrong in self.wrong() {
            writeln!(f, "WRONG: {wrong}")?;
        }
        Ok(())
    }
}
