//! The figures as Markdown: medians, ratios to the limit and to the best peer, and what else there is to know.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::driver::Outcomes;
use crate::facts::{Facts, version};
use crate::subject::{Entry, Role};
use crate::work::{Measure, Work};

/// The median of each figure over the rounds.
#[derive(Clone, Copy)]
struct Median {
    per_second: f64,
    p50: Option<f64>,
    p99: Option<f64>,
    program: f64,
    server: f64,
}

impl Median {
    fn of(measures: &[&Measure]) -> Option<Self> {
        let figure = |of: &dyn Fn(&Measure) -> Option<f64>| {
            let mut figures: Vec<f64> = measures.iter().filter_map(|measure| of(measure)).collect();
            figures.sort_by(f64::total_cmp);
            figures.get(figures.len() / 2).copied()
        };
        Some(Self {
            per_second: figure(&|measure| Some(measure.per_second()))?,
            p50: figure(&|measure| measure.p50),
            p99: figure(&|measure| measure.p99),
            program: figure(&|measure| Some(measure.program))?,
            server: figure(&|measure| Some(measure.server))?,
        })
    }
}

struct Table<'a> {
    works: &'a [Work],
    subjects: &'a [Entry],
    medians: Vec<Vec<Option<Median>>>,
}

pub(crate) fn render(facts: &Facts, works: &[Work], subjects: &[Entry], outcomes: &Outcomes) -> String {
    let median = |row: usize, column: usize| {
        let measures: Vec<_> =
            outcomes.get(&(row, column))?.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
        Median::of(&measures)
    };
    let medians =
        (0..works.len()).map(|row| (0..subjects.len()).map(|column| median(row, column)).collect()).collect();
    let table = Table { works, subjects, medians };
    let mut text = format!("{}, {}; {}. {}.\n", facts.date, facts.machine, facts.database, facts.sizes);
    let _ = writeln!(text, "Versions: {}.\n", versions(subjects));
    table.figures(&mut text);
    table.ratios(&mut text);
    notes(&mut text, works, subjects, outcomes);
    text
}

impl Table<'_> {
    fn figures(&self, text: &mut String) {
        text.push_str("| work |");
        for subject in self.subjects {
            let _ = write!(text, " {} |", subject.name);
        }
        let _ = write!(text, "\n|---|{}\n", "---|".repeat(self.subjects.len()));
        for (work, medians) in self.works.iter().zip(&self.medians) {
            let latency = work.is_latency();
            if !latency {
                row(text, &format!("{work}, per second"), medians, |median| count(median.per_second));
            }
            if latency || medians.iter().flatten().any(|median| median.p50.is_some()) {
                let what =
                    if latency { format!("{work}, p50 / p99 ms") } else { "its p50 / p99 ms".to_owned() };
                row(text, &what, medians, |median| match (median.p50, median.p99) {
                    (Some(p50), Some(p99)) => format!("{p50:.2} / {p99:.2}"),
                    _ => "–".to_owned(),
                });
            }
            row(text, "its CPU, program + server, µs", medians, |median| {
                format!("{:.0} + {:.0}", median.program, median.server)
            });
        }
    }

    /// How ours compares. Every ratio is better when it is larger.
    fn ratios(&self, text: &mut String) {
        let Some(ours) = self.subjects.iter().position(|subject| subject.role == Role::Ours) else { return };
        text.push_str("\n| ratchet, larger is better | to the limit | to the best peer |\n|---|---|---|\n");
        for (work, medians) in self.works.iter().zip(&self.medians) {
            if work.is_latency() {
                self.ratio(text, &format!("{work}, p50"), ours, medians, |median| Some(1.0 / median.p50?));
                self.ratio(text, &format!("{work}, p99"), ours, medians, |median| Some(1.0 / median.p99?));
            } else {
                self.ratio(text, &work.to_string(), ours, medians, |median| Some(median.per_second));
            }
            self.ratio(text, "its CPU", ours, medians, |median| Some(1.0 / (median.program + median.server)));
        }
    }

    fn ratio(
        &self,
        text: &mut String,
        what: &str,
        ours: usize,
        medians: &[Option<Median>],
        score: impl Fn(&Median) -> Option<f64>,
    ) {
        let Some(own) = medians.get(ours).and_then(Option::as_ref).and_then(&score) else { return };
        let best = |role: Role| {
            let scores = self.subjects.iter().zip(medians).filter(|(subject, _)| subject.role == role);
            scores
                .filter_map(|(subject, median)| Some((subject.name, score(median.as_ref()?)?)))
                .max_by(|one, other| one.1.total_cmp(&other.1))
                .map(|(name, score)| format!("{:.2} ({name})", own / score))
        };
        let (limit, peer) = (best(Role::Limit), best(Role::Peer));
        if limit.is_some() || peer.is_some() {
            let cell = |best: Option<String>| best.unwrap_or_else(|| "–".to_owned());
            let _ = writeln!(text, "| {what} | {} | {} |", cell(limit), cell(peer));
        }
    }
}

fn versions(subjects: &[Entry]) -> String {
    let packages: BTreeSet<&str> = subjects.iter().map(|subject| subject.package).collect();
    packages.iter().map(|package| format!("{package} {}", version(package))).collect::<Vec<_>>().join(", ")
}

fn row(text: &mut String, what: &str, medians: &[Option<Median>], cell: impl Fn(&Median) -> String) {
    if medians.iter().all(Option::is_none) {
        return;
    }
    let _ = write!(text, "| {what} |");
    for median in medians {
        let _ = write!(text, " {} |", median.as_ref().map_or_else(|| "–".to_owned(), &cell));
    }
    text.push('\n');
}

/// Three digits are all that a noisy machine gives.
fn count(per_second: f64) -> String {
    if per_second >= 9_950.0 {
        format!("{:.0}k", per_second / 1e3)
    } else if per_second >= 995.0 {
        format!("{:.1}k", per_second / 1e3)
    } else {
        format!("{per_second:.0}")
    }
}

/// What failed, was broken off, or ran twice.
fn notes(text: &mut String, works: &[Work], subjects: &[Entry], outcomes: &Outcomes) {
    let mut notes = Vec::new();
    for ((row, column), outcomes) in outcomes {
        for outcome in outcomes {
            let said = match outcome {
                Err(reason) => format!("failed: {reason}"),
                Ok(Measure { note: Some(note), .. }) => note.clone(),
                Ok(_) => continue,
            };
            notes.push(format!("- {}, {}: {said}", subjects[*column].name, works[*row]));
        }
    }
    notes.dedup();
    if !notes.is_empty() {
        let _ = write!(text, "\n{}\n", notes.join("\n"));
    }
}
