//! The model as a suite: every scenario within growing bounds, and every planted bug.

use std::time::{Duration, Instant};

use super::properties::Promise;
use super::scenario::{Bounds, Scenario};
use super::{Explored, Protocol, any_failure, nothing};
use crate::planted::Mutation;
use crate::suite::{Effort, Planted, Report, Suite, progress};

/// The most steps of one exploration: what fits into a few gigabytes.
const MOST_STEPS: usize = 8_000_000;

/// The most steps of one exploration that every change can bear.
const MOST_STEPS_IN_SHORT: usize = 3_000_000;

/// The decision function under a model checker.
#[derive(Debug, Clone, Copy)]
pub struct ModelSuite;

impl Suite for ModelSuite {
    fn name(&self) -> &'static str {
        "model"
    }

    fn what(&self) -> &'static str {
        "states of the decision function with workers, a store and a destination"
    }

    fn run(&self, effort: Effort) -> Report {
        let started = Instant::now();
        let mut report = Report::new(self.name());
        for mutation in Mutation::OF_THE_MODEL {
            let planted = planted(mutation);
            progress(self.name(), &format!("{} was noticed by: {:?}", planted.bug, planted.caught_by));
            report.planted.push(planted);
        }
        let most = if effort == Effort::Short { MOST_STEPS_IN_SHORT } else { MOST_STEPS };
        for (level, bounds) in levels().enumerate() {
            if effort == Effort::Short && level >= Bounds::SHORT.len() {
                break;
            }
            for scenario in Scenario::all(bounds) {
                let left = effort.left(started);
                if left.is_zero() && report.cases > 0 {
                    return report;
                }
                let name = scenario.name;
                let explored = Protocol::new(scenario, None).explore(left, most, nothing());
                note(&mut report, name, bounds, explored);
            }
        }
        report
    }
}

/// The bounds of one run after the other.
fn levels() -> impl Iterator<Item = Bounds> {
    let more = |workers, faults, orders, ticks| Bounds { workers, faults, orders, ticks, thorough: true };
    let more = [
        more(2, 1, 1, 12),
        more(2, 2, 1, 12),
        more(3, 2, 1, 12),
        more(2, 3, 1, 13),
        more(2, 2, 2, 13),
        more(3, 3, 2, 14),
    ];
    Bounds::SHORT.into_iter().chain(more)
}

fn note(report: &mut Report, name: &str, bounds: Bounds, explored: Explored) {
    for (property, way) in &explored.violations {
        progress(report.name, &format!("{name}: {property}: {way}"));
    }
    report.cases += explored.states;
    let complete = if explored.complete { "all" } else { "stopped at" };
    let Bounds { workers, faults, orders, ticks, thorough } = bounds;
    let more = if thorough { ", thorough" } else { "" };
    let note = format!(
        "{name}: {complete} {} states ({workers} workers, {faults} faults, {orders} orders, {ticks} ticks{more})",
        explored.states
    );
    progress(report.name, &note);
    report.notes.push(note);
    for (property, way) in explored.violations {
        match Promise::of(property) {
            Promise::Doubled => report.doubled += 1,
            Promise::Lost => report.lost += 1,
            Promise::Stale => report.stale_accepted += 1,
            Promise::Other => {}
        }
        report.violations.push(format!("{name}: not so: {property}: {way}"));
    }
    for property in explored.never.into_iter().filter(|_| explored.complete) {
        report.violations.push(format!("{name}: never seen: {property}"));
    }
}

/// Breaks one rule, and looks for the scenario in which it shows: the smallest bounds first.
pub(crate) fn planted(mutation: Mutation) -> Planted {
    let most = Bounds { orders: 1, ..Bounds::SHORT[1] };
    for bounds in Bounds::SHORT.into_iter().chain([most]) {
        let mut scenarios = Scenario::all(bounds);
        // The one in which it shows comes first.
        scenarios.sort_by_key(|scenario| scenario.name != shows_in(mutation));
        for scenario in scenarios {
            let name = scenario.name;
            let protocol = Protocol::new(scenario, Some(mutation));
            let explored = protocol.explore(Duration::from_mins(10), MOST_STEPS, any_failure());
            if let Some((property, way)) = explored.violations.into_iter().next() {
                return Planted::caught(mutation.name(), format!("{property} ({name})"), way);
            }
        }
    }
    Planted::missed(mutation.name())
}

/// Where a broken rule is most likely to be missed.
fn shows_in(mutation: Mutation) -> &'static str {
    match mutation {
        Mutation::RescueByIdOnly | Mutation::TradeoffIgnored => "no memory, parks",
        Mutation::AskWithoutClosing => "no memory, is asked and closes",
        Mutation::StaleVerdict => "no memory, refuses old calls",
        Mutation::RefusalNotKept => "remembers for ever",
        _ => "remembers for a while",
    }
}
