//! The mechanism of the lexicons: names as phrases, rules, topics.

use crate::finding::Code;
use crate::lexicon::words::words;
use crate::lexicon::{Category, NameFinding};

/// Words or phrases (`* ` for any one word), separated by a comma and a space: a whole lexicon stays readable at a glance.
pub(crate) type List = &'static str;

/// The entries of a list.
fn entries(list: List) -> impl Iterator<Item = &'static str> {
    list.split(", ")
}

fn contains(list: List, word: &str) -> bool {
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
    /// At the end of any name, unless one of these words is part of the phrase that ends it.
    UnlessPart(List),
    /// Only as the whole name, and only where it belongs to nothing.
    Alone,
    /// As the whole name of something that is a person, or right after a word for one.
    OfPerson,
    /// As the whole name of one of these entities, or right after one of these words.
    Of(List),
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
        Self { phrase: words(name).join(" "), entity: entity.map(words).unwrap_or_default().join(" ") }
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
            if let Some(fired) = self.rules.iter().find_map(|rule| rule.fires(name, phrase)) {
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
        let fired = entries(self.phrases).filter_map(|entry| {
            let before = before(phrase, entry)?;
            let fired = phrase.get(before.len()..)?.trim_start();
            self.scope.allows(name, before).then_some(fired)
        });
        // Of `secret` and `client secret` the longer one explains more.
        fired.max_by_key(|fired| fired.len())
    }
}

impl Scope {
    /// Whether a phrase counts that ends the name, with `before` in front of it.
    fn allows(self, name: &Name, before: &str) -> bool {
        // What the phrase is said of: the words before it, or the entity if it is the whole name.
        let owner = if before.is_empty() { name.entity.as_str() } else { before };
        match self {
            Self::Anywhere => true,
            Self::Unless(silencers) => !entries(silencers).any(|word| name.holds(word)),
            Self::UnlessPart(silencers) => {
                let ending = name.phrase.get(before.len()..).unwrap_or_default();
                !ending.split(' ').any(|word| contains(silencers, word))
            }
            Self::Alone => before.is_empty() && name.entity.is_empty(),
            Self::OfPerson => is_one_of(owner, PERSONS),
            Self::Of(owners) => is_one_of(owner, owners),
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

/// Whether the last telling word of an entity is listed: `app_user` and `UserProfile` are both a user.
fn is_one_of(owner: &str, listed: List) -> bool {
    owner
        .split(' ')
        .rev()
        .find(|word| !contains(TRANSPARENT, word))
        .is_some_and(|word| contains(listed, word))
}

/// Words after an entity that leave it what it is.
const TRANSPARENT: List = "\
    profile, details, detail, info, data, record, row, dto, input, request, model, legal, new, old";

/// Entities that are persons. Where a word means a company as often as a person, it is left out.
const PERSONS: List = "\
    applicant, attendee, author, beneficiary, borrower, buyer, candidate, cardholder, citizen, cliente, \
    consignee, contact, customer, doctor, driver, employee, guarantor, guardian, guest, holder, inwoner, \
    kunde, lead, member, nominee, osoba, owner, participant, passenger, patient, payee, payer, person, \
    persona, pessoa, player, prospect, recipient, reporter, resident, seller, sender, signer, spouse, \
    staff, student, subscriber, taxpayer, teacher, traveler, traveller, user, usuario, visitor";

#[cfg(test)]
mod tests {
    use super::{Scope, entries};
    use crate::lexicon::TOPICS;
    use crate::lexicon::words::words;

    #[test]
    fn every_entry_is_written_as_names_are_split_and_only_once() {
        for topic in TOPICS {
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
        for topic in TOPICS {
            for tail in entries(topic.neutral_tails) {
                assert_eq!(words(tail), [tail]);
            }
        }
    }
}
