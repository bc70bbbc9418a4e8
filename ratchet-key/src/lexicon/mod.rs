//! The naming lexicons: which names betray a value that defeats deduplication or must not be in a key.
//!
//! How a name is judged:
//!
//! 1. It is split into words at case changes, digits and separators; only whole words count.
//! 2. A rule is a phrase that must END the name, since the last word of an English name says what the thing
//!    is: an `attempt_id` is an id and an `email_template` is a template, whatever stands before. This one
//!    principle replaces most lists of exceptions.
//! 3. Before that, words at the end that do not change what the thing is are dropped (`retry_count` counts
//!    retries, `phone_number` is a phone).
//! 4. A rule may ask for an entity (`customer.name`, not `product.name`) or be silenced by other words
//!    (`exam_attempt` is a business fact).
//!
//! Each topic has its own file, which holds the rules and the words that explain them.

mod attempt;
mod category;
mod credential;
mod pii;
mod random;
mod rule;
mod time;
mod types;
mod words;

pub use category::Category;
pub use types::judge_type;

use crate::finding::Code;
pub(crate) use rule::List;
use rule::{Name, Topic};

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

/// The topics in the order in which they are asked: what must not leak first, then what defeats deduplication.
const TOPICS: [&Topic; 6] =
    [&credential::TOPIC, &pii::TOPIC, &attempt::TOPIC, &attempt::TOKENS, &random::TOPIC, &time::TOPIC];

/// Judges one name: the last name of a placeholder, or a field of a struct.
///
/// `entity` is what the name belongs to: the name before it in the path, or the struct. For a field of an
/// input only `R004` and `R005` matter; the other codes are about keys.
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
    TOPICS.iter().find_map(|topic| topic.judge(&name))
}

/// The finding of a code on something that is known by other means than its name, such as a call.
pub(crate) fn found(code: Code, word: String) -> Option<NameFinding> {
    let topic = TOPICS.iter().find(|topic| topic.code == code)?;
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
pub fn judge_field(entity: Option<&str>, name: &str, _type_name: Option<&str>) -> Option<NameFinding> {
    let mut found = judge_name(entity, name).filter(|found| matches!(found.code, Code::R004 | Code::R005))?;
    if found.code == Code::R004 {
        found.code = Code::R013;
    }
    Some(found)
}
