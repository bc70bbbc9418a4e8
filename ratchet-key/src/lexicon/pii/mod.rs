//! R004 and R013: personal data, a file for each category, and three for what is said of a person.

mod direct;
mod financial;
mod health;
mod indirect;
mod records;
mod whereabouts;
mod work;

pub(super) use direct::ACCOUNT_LINKS;
pub(super) use records::{CARE_DATES, CLINICAL_CONTENT, EMPLOYMENT};

use crate::finding::Code;
use crate::lexicon::Category;
use crate::lexicon::rule::{List, Rule, Topic};

/// Personal data in a key or an input. What a phrase names more closely is asked first: a card before a name.
pub(super) const TOPICS: [&Topic; 6] =
    [&financial::TOPIC, &health::TOPIC, &direct::TOPIC, &indirect::TOPIC, &whereabouts::TOPIC, &work::TOPIC];

const fn topic(category: Category, neutral_tails: List, rules: &'static [Rule]) -> Topic {
    Topic { code: Code::R004, category: Some(category), neutral_tails, rules, why: WHY, help: HELP }
}

const WHY: &str = "is personal data, and keys are copied into logs, error reports and the records of the destination, \
                   where it cannot be erased";

const HELP: &str = "an opaque id from your own records, such as `<customer_id>`, tells records apart as well";
