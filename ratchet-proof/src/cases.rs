//! Suites of cases that are alike but for a number, several at the same time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use crate::planted::Mutation;
use crate::processes::{Broken, Findings};
use crate::suite::{Effort, Planted, Report, progress};

/// How many cases run at the same time, since most of each is waiting for leases to end.
pub(crate) const AT_ONCE: u64 = 6;

/// In so many rounds of a few cases a planted bug has to show.
const ROUNDS_FOR_A_BUG: u64 = 20;
const BUGS_AT_ONCE: u64 = 3;

/// After so many violations there is enough to look at.
const ENOUGH_VIOLATIONS: usize = 20;

/// What came of a case: what was found wrong, and which faults happened.
pub(crate) struct Seen {
    pub(crate) findings: Findings,
    pub(crate) faults: Vec<String>,
}

/// What a suite of such cases has to say of itself.
pub(crate) trait Cases: Sync {
    fn name(&self) -> &'static str;

    /// How many faults a short run makes.
    fn short(&self) -> u64;

    /// The rules that can be broken here.
    fn planted(&self) -> &'static [Mutation];

    /// Why this machine cannot run it, if that is so.
    fn obstacle(&self) -> Option<String> {
        None
    }

    fn case(&self, number: u64, broken: Option<Mutation>) -> Result<Seen, Broken>;

    /// What else is to be told of all cases together.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Plants the bugs, then goes on with sound cases until there are enough.
pub(crate) fn run(suite: &impl Cases, effort: Effort) -> Report {
    let started = Instant::now();
    let mut report = Report::new(suite.name());
    report.skipped = suite.obstacle();
    if report.skipped.is_some() {
        return report;
    }
    report.planted.extend(suite.planted().iter().map(|mutation| planted(suite, *mutation)));
    let mut faults = BTreeMap::<String, u64>::new();
    let mut number = 0;
    // A round is finished, so one begins only if there is time for about one more.
    let mut longest = Duration::ZERO;
    while report.violations.len() < ENOUGH_VIOLATIONS {
        let enough = match effort {
            Effort::Short => report.cases >= suite.short(),
            Effort::For(_) => number > 0 && effort.left(started) < longest,
        };
        if enough {
            break;
        }
        let began = Instant::now();
        let known = report.violations.len();
        for (number, seen) in look_at(suite, number..number + AT_ONCE, None) {
            match seen {
                Ok(seen) => note(&mut report, &mut faults, number, seen),
                Err(error) => report.violations.push(format!("case {number}: {error}")),
            }
        }
        // Whoever waits for a long run wants to know at once.
        report.violations.iter().skip(known).for_each(|violation| progress(suite.name(), violation));
        longest = longest.max(began.elapsed());
        number += AT_ONCE;
        progress(suite.name(), &format!("{} faults in {number} cases", report.cases));
    }
    report.notes.push(format!("{} faults in {number} cases", report.cases));
    report.notes.extend(faults.into_iter().map(|(fault, times)| format!("{fault}: {times}")));
    report.notes.extend(suite.notes());
    report
}

fn note(report: &mut Report, faults: &mut BTreeMap<String, u64>, number: u64, seen: Seen) {
    report.cases += seen.faults.len() as u64;
    for fault in seen.faults {
        *faults.entry(fault).or_default() += 1;
    }
    report.lost += seen.findings.lost;
    report.doubled += seen.findings.doubled;
    report.stale_accepted += seen.findings.stale;
    let said = seen.findings.said.into_iter();
    report.violations.extend(said.map(|said| format!("case {number}: {said}")));
}

fn look_at(
    suite: &impl Cases,
    numbers: Range<u64>,
    broken: Option<Mutation>,
) -> Vec<(u64, Result<Seen, Broken>)> {
    thread::scope(|scope| {
        let running: Vec<_> =
            numbers.map(|number| (number, scope.spawn(move || suite.case(number, broken)))).collect();
        let panicked = || Err(Broken::Nothing("the suite itself panicked"));
        running
            .into_iter()
            .map(|(number, running)| (number, running.join().unwrap_or_else(|_| panicked())))
            .collect()
    })
}

fn planted(suite: &impl Cases, mutation: Mutation) -> Planted {
    for round in 0..ROUNDS_FOR_A_BUG {
        let first = round * BUGS_AT_ONCE;
        for (number, seen) in look_at(suite, first..first + BUGS_AT_ONCE, Some(mutation)) {
            let said = match seen {
                Ok(seen) => seen.findings.said.into_iter().next(),
                Err(error) => {
                    progress(suite.name(), &format!("{}, case {number}: {error}", mutation.name()));
                    None
                }
            };
            if let Some(said) = said {
                progress(suite.name(), &format!("{} was noticed: {said}", mutation.name()));
                return Planted::caught(mutation.name(), said, format!("case {number}"));
            }
        }
    }
    Planted::missed(mutation.name())
}
