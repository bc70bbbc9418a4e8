//! What programs said about failures, as people may see it: an error often repeats what it is about.

use std::collections::HashMap;

use ratchet::ledger::{Served, SharedLedger};
use ratchet::{Cause, CauseKind, HiddenPaths, LedgerError, Payload, Record};
use serde_json::Value;

use crate::terminal::harmless;

/// What stands in the place of what is hidden.
pub(crate) const HIDDEN: &str = "[redacted]";

/// Shorter words than this stand in texts by chance.
const SHORTEST_WORD: usize = 3;

/// Shows the texts of one record without what is hidden of its input and result. Where no worker has declared what that is,
/// only the words of our own are shown.
///
/// Every way out goes through here: the pages, the commands for people and for programs, and the answers to operators.
pub(crate) struct Said {
    /// The words that are hidden, in lower case; `None` where it is not known which.
    hidden: Option<Vec<String>>,
}

/// The same for several records: each operation and version is asked about once.
pub(crate) struct Declarations<'a> {
    ledger: &'a SharedLedger,
    known: HashMap<Served, Option<HiddenPaths>>,
}

impl<'a> Declarations<'a> {
    pub(crate) fn of(ledger: &'a SharedLedger) -> Self {
        Self { ledger, known: HashMap::new() }
    }

    pub(crate) async fn said(&mut self, record: &Record) -> Result<Said, LedgerError> {
        let served = record.served();
        if !self.known.contains_key(&served) {
            let declared = self.ledger.hidden(served.clone()).await?;
            self.known.insert(served.clone(), declared);
        }
        Ok(Said::of(record, self.known.get(&served).and_then(Option::as_ref)))
    }
}

impl Said {
    pub(crate) fn of(record: &Record, declared: Option<&HiddenPaths>) -> Self {
        let hidden = declared.map(|paths| {
            let mut words = Vec::new();
            for payload in std::iter::once(&record.input).chain(&record.result) {
                words.extend(hidden_words(payload, paths));
            }
            // Longer ones may hold shorter ones.
            words.sort_by_key(|word| std::cmp::Reverse(word.len()));
            words.dedup();
            words
        });
        Self { hidden }
    }

    /// What was said; `None` if it may not be shown.
    pub(crate) fn told(&self, cause: &Cause) -> Option<String> {
        match &self.hidden {
            Some(words) => Some(harmless(&without(cause.detail(), words))),
            None if is_ours(cause.kind()) || cause.detail().is_empty() => Some(harmless(cause.detail())),
            None => None,
        }
    }

    /// The same with a mark in the place of what may not be shown.
    pub(crate) fn told_or_hidden(&self, cause: &Cause) -> String {
        self.told(cause).unwrap_or_else(|| HIDDEN.to_owned())
    }
}

/// Whether the text is made here, and repeats nothing of an input.
const fn is_ours(kind: CauseKind) -> bool {
    matches!(
        kind,
        CauseKind::Panic
            | CauseKind::Timeout
            | CauseKind::Shutdown
            | CauseKind::LeaseLost
            | CauseKind::Cancelled
            | CauseKind::NotAdmitted
            | CauseKind::RequestChanged
            | CauseKind::UnstorableResult
            | CauseKind::ReportedLate
            | CauseKind::Resolved
    )
}

fn hidden_words(payload: &Payload, paths: &HiddenPaths) -> Vec<String> {
    let mut words = Vec::new();
    if let Ok(whole) = payload.decode::<Value>() {
        let mut shown = whole.clone();
        paths.hide(&mut shown);
        gather(&whole, Some(&shown), &mut words);
    }
    words
}

/// The words of what stands in `whole` and not in `shown`.
fn gather(whole: &Value, shown: Option<&Value>, words: &mut Vec<String>) {
    match (whole, shown) {
        (Value::Array(items), _) => {
            let shown = shown.and_then(Value::as_array);
            for (at, item) in items.iter().enumerate() {
                gather(item, shown.and_then(|shown| shown.get(at)), words);
            }
        }
        (Value::Object(fields), _) => {
            for (name, field) in fields {
                gather(field, shown.and_then(|shown| shown.get(name)), words);
            }
        }
        (value, Some(same)) if value == same => {}
        (Value::String(text), _) => words.extend(words_of(text)),
        (Value::Number(number), _) => words.extend(words_of(&number.to_string())),
        _ => {}
    }
}

/// A text as a whole, and each word of it: errors cut texts to pieces.
fn words_of(text: &str) -> Vec<String> {
    let lower = text.to_ascii_lowercase();
    let parts = lower.split_whitespace().chain([lower.trim()]);
    parts.filter(|part| part.len() >= SHORTEST_WORD).map(str::to_owned).collect()
}

fn without(text: &str, hidden: &[String]) -> String {
    hidden.iter().fold(text.to_owned(), |text, word| replaced(&text, word))
}

/// The text with a mark for each of the word, whatever its case, and for a beginning of it where the text is cut off.
fn replaced(text: &str, word: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let (mut shown, mut at) = (String::with_capacity(text.len()), 0);
    for (found, _) in lower.match_indices(word) {
        shown.push_str(&text[at..found]);
        shown.push_str(HIDDEN);
        at = found + word.len();
    }
    let rest = &text[at..];
    let begun = rest.strip_suffix('…').and_then(|cut| {
        let cut = cut.to_ascii_lowercase();
        let ends = word.char_indices().map(|(end, _)| &word[..end]).filter(|end| end.len() >= SHORTEST_WORD);
        ends.filter(|end| cut.ends_with(end)).map(|end| cut.len() - end.len()).min()
    });
    match begun {
        Some(end) => shown + &rest[..end] + HIDDEN,
        None => shown + rest,
    }
}

#[cfg(test)]
mod tests {
    use ratchet::HiddenPath;

    use super::*;

    fn shown(text: &str) -> String {
        let paths =
            HiddenPaths::new([HiddenPath::default().field("email"), HiddenPath::default().field("who")]);
        let input = Payload::from_stored(
            r#"{"email":"Ada@example.com","who":{"name":"Ada Lovelace","card":4242424242},"invoice":"inv_1"}"#,
        );
        let mut words = hidden_words(&input, &paths);
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        without(text, &words)
    }

    #[test]
    fn what_is_hidden_of_an_input_is_hidden_where_an_error_repeats_it() {
        for (text, expected) in [
            ("no mailbox ada@EXAMPLE.com for inv_1", "no mailbox [redacted] for inv_1"),
            ("Ada Lovelace: card 4242424242 declined", "[redacted]: card [redacted] declined"),
            ("Mrs. Lovelace is unknown", "Mrs. [redacted] is unknown"),
            ("it goes on and on about ada@exam…", "it goes on and on about [redacted]"),
            ("nothing of it", "nothing of it"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn where_nothing_is_declared_only_our_own_words_are_shown() {
        let said = Said { hidden: None };
        assert_eq!(said.told(&Cause::new(CauseKind::Failed, "ada@example.com")), None);
        assert_eq!(said.told_or_hidden(&Cause::new(CauseKind::Failed, "ada@example.com")), "[redacted]");
        assert_eq!(said.told_or_hidden(&Cause::new(CauseKind::Failed, "")), "");
        assert_eq!(said.told(&Cause::new(CauseKind::LeaseLost, "no report")).as_deref(), Some("no report"));
    }
}
