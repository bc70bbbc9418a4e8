//! The mechanism of the lexicons: names as phrases, rules, topics.

use crate::finding::Code;
use crate::lexicon::NameFinding;
use crate::lexicon::words::words;

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
    Unless(&'static [&'static str]),
    /// Only as the whole name, and only where it belongs to nothing.
    Alone,
    /// As the whole name of something that is a person, or right after a word for one.
    OfPerson,
    /// As the whole name of one of these entities, or right after one of these words.
    Of(&'static [&'static str]),
}

/// Phrases that fire within a scope.
pub(super) struct Rule {
    pub(super) scope: Scope,
    pub(super) phrases: &'static [&'static str],
}

/// All rules that lead to one code, with the words that explain it.
pub(super) struct Topic {
    pub(super) code: Code,
    /// Words at the end of a name that do not change what the thing is.
    pub(super) neutral_tails: &'static [&'static str],
    pub(super) rules: &'static [Rule],
    pub(super) why: &'static str,
    pub(super) help: &'static str,
}

impl Name {
    pub(super) fn new(entity: Option<&str>, name: &str) -> Self {
        Self {
            phrase: words(name).join(" "),
            entity: entity.map(words).unwrap_or_default().join(" "),
        }
    }

    fn holds(&self, word: &str) -> bool {
        self.phrase
            .split(' ')
            .chain(self.entity.split(' '))
            .any(|held| held == word)
    }
}

impl Topic {
    pub(super) fn judge(&self, name: &Name) -> Option<NameFinding> {
        let mut phrase = name.phrase.as_str();
        loop {
            if let Some(fired) = self.rules.iter().find_map(|rule| rule.fires(name, phrase)) {
                return Some(NameFinding {
                    code: self.code,
                    word: fired.replace(' ', "_"),
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
        self.neutral_tails.contains(&tail).then_some(head)
    }
}

impl Rule {
    /// The phrase that fires on the name, of which `phrase` is what is left without neutral tails.
    fn fires(&self, name: &Name, phrase: &str) -> Option<&'static str> {
        self.phrases
            .iter()
            .copied()
            .find(|candidate| before(phrase, candidate).is_some_and(|before| self.scope.allows(name, before)))
    }
}

impl Scope {
    /// Whether a phrase counts that ends the name, with `before` in front of it.
    fn allows(self, name: &Name, before: &str) -> bool {
        // What the phrase is said of: the words before it, or the entity if it is the whole name.
        let owner = if before.is_empty() {
            name.entity.as_str()
        } else {
            before
        };
        match self {
            Self::Anywhere => true,
            Self::Unless(silencers) => !silencers.iter().any(|word| name.holds(word)),
            Self::Alone => before.is_empty() && name.entity.is_empty(),
            Self::OfPerson => is_one_of(owner, PERSONS),
            Self::Of(owners) => is_one_of(owner, owners),
        }
    }
}

/// What stands before `phrase` at the end of `text`, at a word border.
fn before<'a>(text: &'a str, phrase: &str) -> Option<&'a str> {
    let before = text.strip_suffix(phrase)?;
    if before.is_empty() {
        Some(before)
    } else {
        before.strip_suffix(' ')
    }
}

/// Whether the last telling word of an entity is listed: `app_user` and `UserProfile` are both a user.
fn is_one_of(owner: &str, listed: &[&str]) -> bool {
    owner
        .split(' ')
        .rev()
        .find(|word| !TRANSPARENT.contains(word))
        .is_some_and(|word| listed.contains(&word))
}

/// Words after an entity that leave it what it is.
const TRANSPARENT: &[&str] = &[
    "profile", "details", "detail", "info", "data", "record", "row", "dto", "input", "request", "model",
    "legal", "new", "old",
];

/// Entities that are persons. Where a word means a company as often as a person, it is left out.
pub(super) const PERSONS: &[&str] = &[
    "applicant",
    "attendee",
    "author",
    "bearer",
    "beneficiary",
    "borrower",
    "buyer",
    "candidate",
    "cardholder",
    "child",
    "citizen",
    "cliente",
    "consignee",
    "contact",
    "customer",
    "doctor",
    "driver",
    "employee",
    "guarantor",
    "guardian",
    "guest",
    "holder",
    "inwoner",
    "kunde",
    "lead",
    "member",
    "nominee",
    "osoba",
    "owner",
    "parent",
    "participant",
    "passenger",
    "patient",
    "payee",
    "payer",
    "person",
    "persona",
    "pessoa",
    "player",
    "prospect",
    "provider_person",
    "recipient",
    "reporter",
    "resident",
    "seller",
    "sender",
    "signer",
    "spouse",
    "staff",
    "student",
    "subscriber",
    "taxpayer",
    "teacher",
    "tenant_contact",
    "traveler",
    "traveller",
    "user",
    "usuario",
    "visitor",
    "worker",
];
