//! Reports as text.

use std::fmt::Write as _;

use crate::suite::Report;

/// One line for each suite, then the planted bugs, the counts, and what was found.
#[must_use]
pub fn of(reports: &[Report]) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:<15} {:>12} {:>6} {:>8} {:>6} {:>13} {:>8}",
        "suite", "cases", "lost", "doubled", "stale", "planted bugs", "seconds"
    );
    for report in reports {
        if report.skipped.is_some() {
            let _ = writeln!(text, "{:<15} {:>12}", report.name, "not run");
            continue;
        }
        let bugs = format!("{} of {}", report.planted_bugs_caught, report.planted.len());
        let _ = writeln!(
            text,
            "{:<15} {:>12} {:>6} {:>8} {:>6} {bugs:>13} {:>8}",
            report.name, report.cases, report.lost, report.doubled, report.stale_accepted, report.seconds
        );
    }
    for report in reports {
        part(&mut text, report);
    }
    text
}

fn part(text: &mut String, report: &Report) {
    let _ = writeln!(text, "\n{}", report.name);
    if let Some(why) = &report.skipped {
        let _ = writeln!(text, "  not run: {why}");
    }
    for note in &report.notes {
        let _ = writeln!(text, "  {note}");
    }
    for planted in &report.planted {
        let by = planted.caught_by.as_deref().unwrap_or("NOBODY");
        let _ = writeln!(text, "  planted: {:<28} noticed by: {by}", planted.bug);
    }
    for violation in &report.violations {
        let _ = writeln!(text, "  FAILED: {violation}");
    }
}
