//! A name, split into words.

use crate::lexicon::rule::{List, contains};
use crate::lexicon::words::{singular, words};

/// A name and what it belongs to, as words joined by single spaces.
pub(super) struct Name {
    pub(super) phrase: String,
    pub(super) entity: String,
}

impl Name {
    pub(super) fn new(entity: Option<&str>, name: &str) -> Self {
        // Tables are often named in the plural.
        let entity: Vec<String> = entity.map(words).unwrap_or_default().into_iter().map(singular).collect();
        Self { phrase: words(name).join(" "), entity: entity.join(" ") }
    }

    /// Whether the name says something about a thing instead of holding it: `has_password`, `min_age`.
    pub(super) fn is_about(&self) -> bool {
        self.phrase.split_once(' ').is_some_and(|(head, _)| contains(ABOUT, head))
    }

    /// The name without what it repeats of its entity, if it does: `name` of `m_name` and `name_mem` in `member`.
    pub(super) fn bare(&self) -> Option<Self> {
        let entity = self.entity.rsplit(' ').next().unwrap_or_default();
        let is_part = |word: &str, least: usize| word.len() >= least && entity.starts_with(word);
        let mut bare = self.phrase.as_str();
        if let Some((_, rest)) = bare.split_once(' ').filter(|(head, _)| is_part(head, 1)) {
            bare = rest;
        }
        if let Some((rest, _)) = bare.rsplit_once(' ').filter(|(_, tail)| is_part(tail, 3)) {
            bare = rest;
        }
        (bare.len() < self.phrase.len())
            .then(|| Self { phrase: bare.to_owned(), entity: self.entity.clone() })
    }

    /// Entity and name as one name, if all words of the name are `neutral`.
    pub(super) fn merged_if(&self, neutral: impl Fn(&str) -> bool) -> Option<Self> {
        (!self.entity.is_empty() && self.phrase.split(' ').all(neutral))
            .then(|| Self { phrase: format!("{} {}", self.entity, self.phrase), entity: String::new() })
    }

    pub(super) fn holds(&self, word: &str) -> bool {
        self.phrase.split(' ').chain(self.entity.split(' ')).any(|held| held == word)
    }
}

/// Words at the start of a name that is a flag, a bound or a count.
const ABOUT: List = "\
    is, has, had, can, should, must, was, will, allow, allows, enable, enables, disable, require, requires, \
    required, show, hide, send, use, uses, need, needs, skip, force, include, exclude, accepts, wants, \
    publish, unique, validate, supports, exempt, ignore, notify, auto, by, sort, sorted, num, max, min, maximum, minimum, \
    total, count, avg, average";
