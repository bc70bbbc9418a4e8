//! What the lexicons are made of: phrases, rules, topics.

use crate::finding::Code;
use crate::lexicon::Category;
use crate::lexicon::entities::{NOT_PERSONS, PERSONS, QUALIFIERS, TRANSPARENT};
use crate::lexicon::name::Name;

/// Words or phrases (`* ` for any one word), separated by a comma and a space: a whole lexicon stays readable at a glance.
pub(crate) type List = &'static str;

/// The entries of a list.
pub(super) fn entries(list: List) -> impl Iterator<Item = &'static str> {
    list.split(", ")
}

/// Whether a word is listed.
pub(super) fn contains(list: List, word: &str) -> bool {
    entries(list).any(|entry| entry == word)
}

/// When a rule applies.
#[derive(Clone, Copy)]
pub(super) enum Scope {
    /// At the end of any name.
    Anywhere,
    /// At the end of any name, unless one of these words stands in the name or the entity.
    Unless(List),
    /// At the end of any name, unless one of these words is part of the phrase that ends it.
    UnlessPart(List),
    /// Only as the whole name, and only where it belongs to nothing.
    Alone,
    /// As the whole name of something that is a person, or right after a word for one.
    OfPerson,
    /// As the whole name of one of these entities, or right after one of these words.
    Of(List),
    /// At the end of any name of one of these entities.
    In(List),
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

impl Scope {
    /// Whether a phrase counts that ends the name, with `before` in front of it.
    pub(super) fn allows(self, name: &Name, before: &str, phrase: &str) -> bool {
        let is_silenced = |by: List| {
            let is_own = |word: &str| phrase.split(' ').any(|own| own == word);
            entries(by).any(|word| name.holds(word) && !is_own(word))
        };
        match self {
            Self::Anywhere => true,
            Self::Unless(silencers) => !is_silenced(silencers),
            Self::UnlessPart(silencers) => !phrase.split(' ').any(|word| contains(silencers, word)),
            Self::Alone => before.is_empty() && name.entity.is_empty(),
            Self::OfPerson => {
                PERSONS.iter().any(|persons| is_said_of(name, before, persons))
                    && !is_said_of(name, before, NOT_PERSONS)
            }
            Self::Of(owners) => is_said_of(name, before, owners),
            Self::In(entities) => is_said_of(name, "", entities),
            Self::OfBut(owners, silencers) => is_said_of(name, before, owners) && !is_silenced(silencers),
            Self::NotOf(owners) => !is_said_of(name, before, owners),
            Self::After(words, things) => is_one_of(before, words) && !is_one_of(&name.entity, things),
        }
    }
}

/// What stands before a listed phrase at the end of `text`, at a word border.
///
/// A phrase that begins with `* ` takes one more word, whichever it is.
pub(super) fn before<'a>(text: &'a str, phrase: &str) -> Option<&'a str> {
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
