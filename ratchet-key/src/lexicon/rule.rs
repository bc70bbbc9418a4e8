//! The mechanism of the lexicons: names as phrases, rules, topics.

use crate::finding::Code;
use crate::lexicon::entities::{NOT_PERSONS, PERSONS, QUALIFIERS, TRANSPARENT};
use crate::lexicon::words::{singular, words};
use crate::lexicon::{Category, NameFinding};

/// Words or phrases (`* ` for any one word), separated by a comma and a space: a whole lexicon stays readable at a glance.
pub(super) type List = &'static str;

/// The entries of a list.
pub(super) fn entries(list: List) -> impl Iterator<Item = &'static str> {
    list.split(", ")
}

/// Whether a word is listed.
pub(super) fn contains(list: List, word: &str) -> bool {
    entries(list).any(|entry| entry == word)
}

/// A name and what it belongs to, as words joined by single spaces.
pub(super) struct Name {
    phrase: String,
    entity: String,
}

/// When a rule applies.
#[derive(Clone, Copy)]
pub(super) enum Scope {
    /// At the end of any name.
    Anywhere,
    /// At the end of any name, unless one of these words stands in the name or the entity.
    Unless(List),
    /// Only as the whole name, and only where it belongs to nothing.
    Alone,
    /// As the whole name of something that is a person, or right after a word for one.
    OfPerson,
    /// As the whole name of one of these entities, or right after one of these words.
    Of(List),
    /// Like `Of`, unless one of these words stands before the phrase or in the entity.
    OfBut(List, List),
    /// At the end of any name that is not said of one of these.
    NotOf(List),
    /// Right after one of these words in the name itself, unless the entity is one of the second list.
    After(List, List),
}

/// Phrases that fire within a scope.
pub(super) struct Rule {
    pub(super) scope: Scope,
    pub(super) phrases: List,
}

/// All rules that lead to one code, with the words that explain it.
pub(super) struct Topic {
    pub(super) code: Code,
    /// Which kind of personal or secret data it is about.
    pub(super) category: Option<Category>,
    /// Words at the end of a name that do not change what the thing is.
    pub(super) neutral_tails: List,
    pub(super) rules: &'static [Rule],
    pub(super) why: &'static str,
    pub(super) help: &'static str,
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
    fn merged_if(&self, neutral: impl Fn(&str) -> bool) -> Option<Self> {
        (!self.entity.is_empty() && self.phrase.split(' ').all(neutral))
            .then(|| Self { phrase: format!("{} {}", self.entity, self.phrase), entity: String::new() })
    }

    fn holds(&self, word: &str) -> bool {
        self.phrase.split(' ').chain(self.entity.split(' ')).any(|held| held == word)
    }
}

impl Topic {
    pub(super) fn judge(&self, name: &Name) -> Option<NameFinding> {
        // `attempt.number` and `email.value` are about the entity: read them as one name.
        let merged = name.merged_if(|word| contains(self.neutral_tails, word));
        let name = merged.as_ref().unwrap_or(name);
        let mut phrase = name.phrase.as_str();
        loop {
            let fired = self.rules.iter().filter_map(|rule| rule.fires(name, phrase));
            // Of `secret` and `client secret` the longer one explains more.
            if let Some(fired) = fired.max_by_key(|fired| fired.len()) {
                return Some(NameFinding {
                    code: self.code,
                    word: fired.replace(' ', "_"),
                    category: self.category,
                    why: self.why,
                    help: self.help,
                });
            }
            phrase = self.without_tail(phrase)?;
        }
    }

    /// The phrase without its last word, if that one is neutral and something is left.
    fn without_tail<'a>(&self, phrase: &'a str) -> Option<&'a str> {
        let (head, tail) = phrase.rsplit_once(' ')?;
        contains(self.neutral_tails, tail).then_some(head)
    }
}

impl Rule {
    /// What fires on the name, of which `phrase` is what is left without neutral tails.
    fn fires<'a>(&self, name: &Name, phrase: &'a str) -> Option<&'a str> {
        // Most rules do not even list the last word.
        if !self.phrases.contains(phrase.rsplit(' ').next()?) {
            return None;
        }
        let fired = entries(self.phrases).filter_map(|entry| {
            let before = before(phrase, entry)?;
            let fired = phrase.get(before.len()..)?.trim_start();
            self.scope.allows(name, before, entry).then_some(fired)
        });
        fired.max_by_key(|fired| fired.len())
    }
}

impl Scope {
    /// Whether a phrase counts that ends the name, with `before` in front of it.
    fn allows(self, name: &Name, before: &str, phrase: &str) -> bool {
        let is_silenced = |by: List| {
            let is_own = |word: &str| phrase.split(' ').any(|own| own == word);
            entries(by).any(|word| name.holds(word) && !is_own(word))
        };
        match self {
            Self::Anywhere => true,
            Self::Unless(silencers) => !is_silenced(silencers),
            Self::Alone => before.is_empty() && name.entity.is_empty(),
            Self::OfPerson => {
                PERSONS.iter().any(|persons| is_said_of(name, before, persons))
                    && !is_said_of(name, before, NOT_PERSONS)
            }
            Self::Of(owners) => is_said_of(name, before, owners),
            Self::OfBut(owners, silencers) => is_said_of(name, before, owners) && !is_silenced(silencers),
            Self::NotOf(owners) => !is_said_of(name, before, owners),
            Self::After(words, things) => is_one_of(before, words) && !is_one_of(&name.entity, things),
        }
    }
}

/// What stands before a listed phrase at the end of `text`, at a word border.
///
/// A phrase that begins with `* ` takes one more word, whichever it is.
fn before<'a>(text: &'a str, phrase: &str) -> Option<&'a str> {
    if let Some(phrase) = phrase.strip_prefix("* ") {
        let before = before(text, phrase).filter(|before| !before.is_empty())?;
        return Some(before.rsplit_once(' ').map_or("", |(before, _)| before));
    }
    let before = text.strip_suffix(phrase)?;
    if before.is_empty() { Some(before) } else { before.strip_suffix(' ') }
}

/// Whether a phrase with `before` in front of it is said of something listed: by those words or, if they leave it
/// open, by the entity.
fn is_said_of(name: &Name, before: &str, listed: List) -> bool {
    let is = |owner: &str| {
        is_one_of(owner, listed)
            || is_one_of(without_tails(owner, |word| contains(TRANSPARENT, word)), listed)
    };
    match without_tails(before, |word| contains(QUALIFIERS, word)) {
        "" => is(&name.entity) || is(before),
        owner => is(owner) || is(before),
    }
}

fn without_tails(mut text: &str, is_tail: impl Fn(&str) -> bool) -> &str {
    while let Some(last) = text.rsplit(' ').next().filter(|word| !word.is_empty() && is_tail(word)) {
        text = text.get(..text.len() - last.len()).unwrap_or_default().trim_end();
    }
    text
}

/// Whether a listed word or phrase ends the owner: `app_user` is a user, `user_group` is a group.
///
/// An entry that begins with `=` must be all of it.
fn is_one_of(owner: &str, listed: List) -> bool {
    let is = |entry: &str| match entry.strip_prefix('=') {
        Some(whole) => owner == whole,
        None => before(owner, entry).is_some(),
    };
    !owner.is_empty() && entries(listed).any(is)
}

/// Words at the start of a name that is a flag, a bound or a count.
const ABOUT: List = "\
    is, has, had, can, should, must, was, will, allow, allows, enable, enables, disable, require, requires, required, show, hide, \
    send, use, uses, needs, need, skip, force, include, exclude, accepts, wants, publish, display if, unique, validate, \
    supports, num, max, min, maximum, minimum, total, count, avg, average, exempt, ignore, notify, auto";

#[cfg(test)]
mod tests {
    use super::{Scope, entries};
    use crate::lexicon::every_topic;
    use crate::lexicon::words::words;

    #[test]
    fn every_entry_is_written_as_names_are_split_and_only_once() {
        for topic in every_topic() {
            let mut unbound = Vec::new();
            for rule in topic.rules {
                for phrase in entries(rule.phrases) {
                    let named = phrase.strip_prefix("* ").unwrap_or(phrase);
                    assert_eq!(words(named).join(" "), named, "can never match a name");
                    if matches!(rule.scope, Scope::Anywhere | Scope::Unless(_)) {
                        assert!(!unbound.contains(&phrase), "`{phrase}` is listed twice");
                        unbound.push(phrase);
                    }
                }
            }
        }
    }

    #[test]
    fn every_neutral_tail_is_one_word() {
        for topic in every_topic() {
            for tail in entries(topic.neutral_tails).filter(|tail| !tail.is_empty()) {
                assert_eq!(words(tail), [tail]);
            }
        }
    }
}
