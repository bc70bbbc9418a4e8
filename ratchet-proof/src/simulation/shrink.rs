//! From a life in which something is wrong to the least that must happen for it.

use super::script::Script;
use super::{Lived, live};
use crate::planted::Mutation;

/// For how many lives one looks for less.
const MOST_LIVES: usize = 2_000;

/// The fewest deeds and faults found with which the life of a seed is still wrong, or nothing if it is not wrong at all.
#[must_use]
pub fn shrink(seed: u64, broken: Option<Mutation>) -> Option<Script> {
    let mut shrinking = Shrinking { seed, broken, lives: 0, least: Vec::new() };
    if !shrinking.is_wrong(&Script::default()) {
        return None;
    }
    // With less of one thing less of another comes up, so all of it is tried again until nothing goes.
    let mut before = usize::MAX;
    while shrinking.least.len() < before && shrinking.lives < MOST_LIVES {
        before = shrinking.least.len();
        shrinking.take_away();
    }
    Some(Script::only(shrinking.least))
}

struct Shrinking {
    seed: u64,
    broken: Option<Mutation>,
    lives: usize,
    /// What happened in the smallest life so far that is wrong.
    least: Vec<String>,
}

impl Shrinking {
    /// Takes away half of all, then quarters, and in the end one by one: the last first, on which nothing else depends.
    fn take_away(&mut self) {
        let mut size = self.least.len().div_ceil(2);
        while size > 0 {
            let mut end = self.least.len();
            while end > 0 && self.lives < MOST_LIVES {
                let start = end.saturating_sub(size);
                let less = self.least.iter().take(start).chain(self.least.iter().skip(end)).cloned();
                self.is_wrong(&Script::only(less));
                end = start.min(self.least.len());
            }
            size /= 2;
        }
    }

    fn is_wrong(&mut self, script: &Script) -> bool {
        self.lives += 1;
        let Lived { verdicts, incidents, .. } = live(self.seed, script, self.broken);
        let is_wrong = !verdicts.findings.is_empty();
        if is_wrong {
            // What did not come up is not needed either.
            self.least = incidents.into_iter().map(|incident| incident.name).collect();
        }
        is_wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_life_becomes_the_least_that_is_wrong() {
        let broken = Some(Mutation::NoDeduplication);
        let is_wrong = |script: &Script, broken| !live(SEED, script, broken).verdicts.findings.is_empty();
        assert!(is_wrong(&Script::default(), broken), "the bug does not show");
        let script = shrink(SEED, broken).unwrap_or_default();
        assert_eq!(
            script.command(SEED, broken),
            "cargo xtask prove --seed 0 --only none --broken no-deduplication"
        );
        assert!(is_wrong(&script, broken));
        assert!(!is_wrong(&script, None), "something else shows than the bug");
        assert_eq!(script.to_string().parse(), Ok(script.clone()));
        // None of it can be missed.
        let names = script.to_string();
        for name in names.split(',') {
            let less = names.split(',').filter(|other| *other != name).map(str::to_owned);
            assert!(!is_wrong(&Script::only(less), broken), "{name} is needless");
        }
    }

    const SEED: u64 = 0;
}
