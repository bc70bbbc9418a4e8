//! Finds what a name says, by the last word of the listed phrases.

use std::collections::{HashMap, HashSet};

use crate::lexicon::NameFinding;
use crate::lexicon::name::Name;
use crate::lexicon::rule::{Scope, Topic, before, entries};

/// Topics, indexed so that a name is compared with few phrases: most names end in no listed word at all.
pub(super) struct Lexicon(Vec<Indexed>);

struct Indexed {
    topic: &'static Topic,
    by_last_word: HashMap<&'static str, Vec<Phrase>>,
    neutral_tails: HashSet<&'static str>,
}

/// One phrase of a rule.
struct Phrase {
    words: &'static str,
    scope: Scope,
}

impl Lexicon {
    pub(super) fn new(topics: impl Iterator<Item = &'static Topic>) -> Self {
        Self(topics.map(Indexed::new).collect())
    }

    /// What the name betrays, topic by topic.
    pub(super) fn judge(&self, name: &Name) -> impl Iterator<Item = NameFinding> {
        self.0.iter().filter_map(|indexed| indexed.judge(name))
    }
}

impl Indexed {
    fn new(topic: &'static Topic) -> Self {
        let mut by_last_word: HashMap<_, Vec<_>> = HashMap::new();
        for rule in topic.rules {
            for words in entries(rule.phrases) {
                let last = words.rsplit(' ').next().unwrap_or_default();
                by_last_word.entry(last).or_default().push(Phrase { words, scope: rule.scope });
            }
        }
        Self { topic, by_last_word, neutral_tails: entries(topic.neutral_tails).collect() }
    }

    fn judge(&self, name: &Name) -> Option<NameFinding> {
        // `attempt.number` and `email.value` are about the entity: read them as one name.
        let merged = name.merged_if(|word| self.neutral_tails.contains(word));
        let name = merged.as_ref().unwrap_or(name);
        let mut rest = name.phrase.as_str();
        loop {
            let listed = self.by_last_word.get(rest.rsplit(' ').next()?).into_iter().flatten();
            // Of `secret` and `client secret` the longer one explains more.
            if let Some(fired) =
                listed.filter_map(|phrase| phrase.fires(name, rest)).max_by_key(|it| it.len())
            {
                let Topic { code, category, why, help, .. } = *self.topic;
                return Some(NameFinding { code, word: fired.replace(' ', "_"), category, why, help });
            }
            rest = self.without_tail(rest)?;
        }
    }

    /// The phrase without its last word, if that one is neutral and something is left.
    fn without_tail<'a>(&self, phrase: &'a str) -> Option<&'a str> {
        let (head, tail) = phrase.rsplit_once(' ')?;
        self.neutral_tails.contains(tail).then_some(head)
    }
}

impl Phrase {
    /// What fires on the name, of which `rest` is what is left without neutral tails.
    fn fires<'a>(&self, name: &Name, rest: &'a str) -> Option<&'a str> {
        let before = before(rest, self.words)?;
        let fired = rest.get(before.len()..)?.trim_start();
        self.scope.allows(name, before, fired).then_some(fired)
    }
}
