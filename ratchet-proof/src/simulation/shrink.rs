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

    const BROKEN: Option<Mutation> = Some(Mutation::NoDeduplication);

    #[test]
    fn a_wrong_life_becomes_the_least_that_is_wrong() {
        let is_wrong =
            |seed, script: &Script, broken| !live(seed, script, broken).verdicts.findings.is_empty();
        let seed = (0..100).find(|seed| is_wrong(*seed, &Script::default(), BROKEN));
        let Some(seed) = seed else { panic!("the bug does not show") };
        let script = shrink(seed, BROKEN).unwrap_or_default();
        let names = script.to_string();
        println!("{}", script.command(seed, BROKEN));
        // A number is submitted, and no more than a few of its calls go wrong.
        assert!(names.starts_with('d') && names.contains(",send@"), "{names}");
        assert!(names.split(',').count() <= 4, "{names}");
        assert_eq!(
            script.command(seed, BROKEN),
            format!("cargo xtask prove --seed {seed} --only {names} --broken no-deduplication")
        );
        let read = names.parse().unwrap_or_default();
        assert!(is_wrong(seed, &read, BROKEN), "what is printed is not what was found");
        assert!(!is_wrong(seed, &script, None), "something else shows than the bug");
        for name in names.split(',') {
            let less = names.split(',').filter(|other| *other != name).map(str::to_owned);
            assert!(!is_wrong(seed, &Script::only(less), BROKEN), "{name} is needless");
        }
    }

    #[test]
    fn a_sound_life_is_not_shrunk() {
        assert_eq!(shrink(0, None), None);
    }
}
