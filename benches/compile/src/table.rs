//! Tables in Markdown.

use std::fmt::Write;
use std::process::Command;
use std::time::Duration;

use crate::measure::{Case, Cost, WORKS, Work};
use crate::prepare::Ground;
use crate::subject::{SUBJECTS, Subject};
use crate::{Failed, Pair};

/// What is taken from the rounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statistic {
    title: &'static str,
    of: fn(&[Cost]) -> f64,
}

pub(crate) const STATISTICS: [Statistic; 3] = [
    Statistic { title: "Processor time, minimum", of: |costs| minimum(costs, |cost| cost.processor) },
    Statistic { title: "Processor time, median", of: |costs| median(costs, |cost| cost.processor) },
    Statistic { title: "Time passed, minimum", of: |costs| minimum(costs, |cost| cost.wall) },
];

fn sorted(costs: &[Cost], of: fn(&Cost) -> Duration) -> Vec<f64> {
    let mut times: Vec<f64> = costs.iter().map(|cost| of(cost).as_secs_f64() * 1e3).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn minimum(costs: &[Cost], of: fn(&Cost) -> Duration) -> f64 {
    sorted(costs, of).first().copied().unwrap_or(f64::NAN)
}

fn median(costs: &[Cost], of: fn(&Cost) -> Duration) -> f64 {
    let times = sorted(costs, of);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// What was compared, with what, and how often.
pub(crate) fn heading(ground: &Ground, items: usize, rounds: usize) -> Result<String, Failed> {
    let version = Command::new(&ground.rustc).arg("--version").output()?;
    Ok(format!(
        "{}; {}; {items} functions, {rounds} rounds",
        String::from_utf8_lossy(&version.stdout).trim(),
        ground.versions.join(", ")
    ))
}

/// Lines and bytes that a use of each macro becomes.
#[allow(clippy::cast_precision_loss, reason = "sizes of source files")]
pub(crate) fn sizes(ground: &Ground, items: usize) -> Result<String, Failed> {
    let mut sizes = Vec::new();
    for subject in SUBJECTS {
        let text = |items| Case { subject, items, work: Work::Check }.expanded(ground);
        let (full, empty) = (text(items)?, text(0)?);
        let each = |of: fn(&str) -> usize| (of(&full) as f64 - of(&empty) as f64) / items as f64;
        sizes.push((subject, each(|text| text.lines().count()), each(printed)));
    }
    let mut table =
        "Expanded source, net of its base, without indentation\n\n| | lines | bytes |\n|---|---|---|\n"
            .to_owned();
    for &(subject, lines, bytes) in &sizes {
        let base = subject.base().and_then(|base| sizes.iter().find(|(subject, ..)| *subject == base));
        let (base_lines, base_bytes) = base.map_or((0.0, 0.0), |&(_, lines, bytes)| (lines, bytes));
        let _ = writeln!(
            table,
            "| {} | {:.0} | {:.0} |",
            subject.title(),
            lines - base_lines,
            bytes - base_bytes
        );
    }
    Ok(table)
}

fn printed(text: &str) -> usize {
    text.lines().map(|line| line.trim_start().len() + 1).sum()
}

/// What one function costs, net of its base, and against `tracing::instrument`.
pub(crate) fn costs(pairs: &[Pair<Vec<Cost>>], statistic: Statistic) -> String {
    table(&format!("{}: milliseconds", statistic.title), pairs, statistic.of_costs())
}

impl Statistic {
    fn of_costs(self) -> impl Fn(&Vec<Cost>) -> f64 {
        move |costs| (self.of)(costs)
    }
}

/// The same in instructions.
pub(crate) fn instructions(pairs: &[Pair<f64>]) -> String {
    table("Instructions: millions", pairs, |count| *count)
}

#[allow(clippy::cast_precision_loss, reason = "a number of functions")]
fn table<T>(title: &str, pairs: &[Pair<T>], of: impl Fn(&T) -> f64) -> String {
    let each = |subject: Subject, work: Work| {
        let pair = pairs.iter().find(|pair| pair.case.subject == subject && pair.case.work == work);
        pair.map_or(f64::NAN, |pair| (of(&pair.full) - of(&pair.empty)) / pair.case.items as f64)
    };
    let net =
        |subject: Subject, work| each(subject, work) - subject.base().map_or(0.0, |base| each(base, work));
    let mut table = format!("{title} for each function, net of its base\n\n|");
    for work in WORKS {
        let _ = write!(table, " | {}", work.title());
    }
    let _ = writeln!(table, " |\n|---{}|", "|---".repeat(WORKS.len()));
    for subject in SUBJECTS {
        let _ = write!(table, "| {}", subject.title());
        for work in WORKS {
            let (own, theirs) = (net(subject, work), net(Subject::Instrument, work));
            let _ = write!(table, " | {own:.2} ({:.0} %)", 100.0 * own / theirs);
        }
        table.push_str(" |\n");
    }
    table
}
