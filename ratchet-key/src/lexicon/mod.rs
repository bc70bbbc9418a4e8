//! The naming lexicons: which names betray a value that defeats deduplication or must not be in a key.
//!
//! How a name is judged:
//!
//! 1. It is split into words at case changes, digits and separators; only whole words count.
//! 2. A rule is a phrase that must END the name, since the last word of an English name says what the thing
//!    is: an `attempt_id` is an id and an `email_template` is a template, whatever stands before. This one
//!    principle replaces most lists of exceptions.
//! 3. Before that, words at the end that do not change what the thing is are dropped (`retry_count` counts
//!    retries, `phone_number` is a phone), and so are those that repeat the entity (`m_name` of a `member`).
//! 4. A rule may ask what the phrase is said of (`customer.name` or `customer_name`, not `product.name`) or be
//!    silenced by other words (`exam_attempt` is a business fact). Words that leave this open are skipped: the
//!    `permanent_city` of an employee is the city of an employee.
//! 5. Of a field, the type has its say: a flag or a time is no address, and few numbers are.
//!
//! Each topic has its own file, which holds the rules and the words that explain them; `entities` lists what
//! names belong to, and `value` what types can hold.

mod attempt;
mod category;
mod credential;
mod entities;
mod index;
mod name;
mod pii;
mod random;
mod rule;
mod time;
mod types;
mod value;
mod words;

pub use category::Category;
pub use types::judge_type;

use std::sync::LazyLock;

use crate::finding::Code;
use index::Lexicon;
use name::Name;
pub(crate) use rule::List;
use rule::Topic;
use value::Value;

/// The judgement on one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameFinding {
    /// Which kind of finding: `R001` to `R005` for names, `R002`, `R005` or `R008` for types.
    pub code: Code,
    /// The word or phrase that fired, in the form `first_name`; for a type, the type's name.
    pub word: String,
    /// Which kind of personal or secret data it is, for `R004`, `R005` and `R013`.
    pub category: Option<Category>,
    /// Why it is a fault in a key: a clause whose subject is the word.
    pub why: &'static str,
    /// What to do instead: a clause of its own.
    pub help: &'static str,
}

/// What must not leak, in the order in which it is asked.
static LEAKS: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::new(leaks()));

/// What makes every attempt another action.
static DEDUPLICATION: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::new(deduplication()));

/// What is personal in a record only because of what the record is about.
static RECORDS: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::new(records()));

/// What is known by a mail address.
static LINKS: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::new(std::iter::once(&pii::ACCOUNT_LINKS)));

fn leaks() -> impl Iterator<Item = &'static Topic> {
    std::iter::once(&credential::TOPIC).chain(pii::TOPICS)
}

fn deduplication() -> impl Iterator<Item = &'static Topic> {
    [&attempt::TOPIC, &attempt::TOKENS, &attempt::RUNS, &random::TOPIC, &time::TOPIC].into_iter()
}

fn records() -> impl Iterator<Item = &'static Topic> {
    [&pii::CLINICAL_CONTENT, &pii::CARE_DATES, &pii::EMPLOYMENT].into_iter()
}

#[cfg(test)]
fn every_topic() -> impl Iterator<Item = &'static Topic> {
    leaks().chain(records()).chain([&pii::ACCOUNT_LINKS]).chain(deduplication())
}

/// Judges one name in a key: the last name of a placeholder, or a field of a struct that is in it.
///
/// `entity` is what the name belongs to: the name before it in the path, or the struct. Fields of an input that
/// are in no key are for [`judge_field`].
///
/// ```
/// use ratchet_key::{Code, judge_name};
///
/// assert_eq!(judge_name(Some("customer"), "name").map(|found| found.code), Some(Code::R004));
/// assert_eq!(judge_name(Some("product"), "name"), None);
/// assert_eq!(judge_name(None, "retryCount").map(|found| found.word), Some("retry_count".to_owned()));
/// assert_eq!(judge_name(None, "retry_queue_id"), None);
/// ```
#[must_use]
pub fn judge_name(entity: Option<&str>, name: &str) -> Option<NameFinding> {
    let name = Name::new(entity, name);
    let leak = |name: &Name| LEAKS.judge(name).next();
    let found = if name.is_about() { None } else { leak(&name).or_else(|| leak(&name.bare()?)) };
    found.or_else(|| DEDUPLICATION.judge(&name).next())
}

/// The finding of a code on something that is known by other means than its name, such as a call.
pub(crate) fn found(code: Code, word: String) -> Option<NameFinding> {
    let topic = leaks().chain(deduplication()).find(|topic| topic.code == code)?;
    Some(NameFinding { code, word, category: topic.category, why: topic.why, help: topic.help })
}

/// Judges a field of an input: `R013` for personal data, `R005` for a credential.
///
/// `entity` is the struct or table, `type_name` the type as it is written there, in any language, if it is known: a
/// flag, a count or a time *about* personal data is none.
///
/// ```
/// use ratchet_key::{Category, Code, judge_field};
///
/// let found = judge_field(Some("customer"), "email", Some("String")).expect("personal data");
/// assert_eq!((found.code, found.category), (Code::R013, Some(Category::DirectPii)));
/// assert_eq!(judge_field(Some("customer"), "email_verified", Some("bool")), None);
/// ```
#[must_use]
pub fn judge_field(entity: Option<&str>, name: &str, type_name: Option<&str>) -> Option<NameFinding> {
    let name = Name::new(entity, name);
    let value = type_name.map_or(Value::Open, Value::of);
    if value == Value::Flag || name.is_about() {
        return None;
    }
    let find = |name: &Name| {
        let can_be = |found: &NameFinding| found.category.is_none_or(|it| value.can_be(it, &found.word));
        // A link that is known by its mail address holds more than its name says.
        let link = if value == Value::Link { LINKS.judge(name).next() } else { None };
        link.or_else(|| LEAKS.judge(name).chain(RECORDS.judge(name)).find(can_be))
    };
    find(&name).or_else(|| find(&name.bare()?)).map(in_input)
}

/// Says of a field what was said of a key.
fn in_input(found: NameFinding) -> NameFinding {
    let why = match found.category {
        _ if found.code == Code::R005 => {
            "is a credential, and inputs are stored with the record and shown to operators"
        }
        Some(Category::IndirectPii) => {
            "says something about a person, and inputs are stored with the record and shown to operators"
        }
        Some(Category::FinancialAccount) => {
            "leads to a card or a bank account, and inputs are stored with the record and shown to operators"
        }
        Some(Category::Health) => {
            "speaks of somebody's health, and inputs are stored with the record and shown to operators"
        }
        _ => "is personal data, and inputs are stored with the record and shown to operators",
    };
    let (code, help) = match found.code {
        Code::R005 => {
            (Code::R005, "store it elsewhere and pass its id, or take it from the worker as `ratchet::State`")
        }
        _ => (
            Code::R013,
            "mark it `#[pii]`, and it is shown as `[redacted]`; or pass the id of the record that holds it",
        ),
    };
    NameFinding { code, why, help, ..found }
}
