//! Ratios taken in one run: both sides take turns, and the median of each counts.

use std::time::{Duration, Instant};

const ROUNDS: usize = 9;

/// How long `work` takes.
#[allow(dead_code, reason = "not every benchmark measures a plain closure")]
pub(crate) fn time(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

/// Whether this measurement was asked for: `cargo bench --bench NAME -- WORDS` takes those whose names contain the words.
pub(crate) fn wanted(name: &str) -> bool {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    name.contains(&words.join(" "))
}

/// Lets both sides take turns and prints what one unit of work costs each, and the ratio.
pub(crate) fn compare(
    name: &str,
    units: u32,
    mut ours: impl FnMut() -> Duration,
    mut plain: impl FnMut() -> Duration,
) {
    if !wanted(name) {
        return;
    }
    let mut rounds: Vec<(Duration, Duration)> = (0..ROUNDS).map(|_| (ours(), plain())).collect();
    let median = |rounds: &mut Vec<(Duration, Duration)>, of: fn(&(Duration, Duration)) -> Duration| {
        rounds.sort_by_key(of);
        of(&rounds[ROUNDS / 2])
    };
    let ours = median(&mut rounds, |round| round.0);
    let plain = median(&mut rounds, |round| round.1);
    let ratio = ours.as_secs_f64() / plain.as_secs_f64();
    println!("{name:<44} {:>12?} {:>12?} {ratio:>7.2}", ours / units, plain / units);
}

pub(crate) fn header(what: &str) {
    println!("\n{what}\n{:<44} {:>12} {:>12} {:>7}", "", "ours", "plain", "ratio");
}
