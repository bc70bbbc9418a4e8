//! What programs said about failures, as people may see it: an error often repeats what it is about.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use ratchet::ledger::{Served, SharedLedger};
use ratchet::{Cause, CauseKind, HiddenPaths, LedgerError, Payload, Record};
use serde_json::Value;

use crate::terminal::harmless;

/// What stands in the place of what is hidden.
pub(crate) const HIDDEN: &str = "[redacted]";

/// Shorter words than this stand in texts by chance.
const SHORTEST_WORD: usize = 3;

/// Shows the texts of one record without what is hidden of its input and result. Where no worker has declared what that is,
/// or it cannot be read, only the words of our own are shown.
///
/// Every way out goes through here: the pages, the commands for people and for programs, and the answers to operators.
pub(crate) struct Said {
    /// The words that are hidden, as they are compared, sorted; `None` where it is not known which.
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
        let payloads = std::iter::once(&record.input).chain(&record.result);
        Self { hidden: declared.and_then(|paths| hidden_words(payloads, paths)) }
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

/// The words that are hidden, sorted, each once; `None` if a payload cannot be read.
fn hidden_words<'a>(
    payloads: impl IntoIterator<Item = &'a Payload>,
    paths: &HiddenPaths,
) -> Option<Vec<String>> {
    let mut words = Vec::new();
    for payload in payloads {
        let whole: Value = payload.decode().ok()?;
        let mut shown = whole.clone();
        paths.hide(&mut shown);
        gather(&whole, Some(&shown), &mut words);
    }
    words.sort_unstable();
    words.dedup();
    Some(words)
}

/// The words of what stands in `whole` and not in `shown`, and the names of fields within that: they may be of people.
fn gather(whole: &Value, shown: Option<&Value>, words: &mut Vec<String>) {
    match (whole, shown) {
        (Value::Array(items), _) => {
            let shown = shown.and_then(Value::as_array);
            for (at, item) in items.iter().enumerate() {
                gather(item, shown.and_then(|shown| shown.get(at)), words);
            }
        }
        (Value::Object(fields), _) => {
            let shown = shown.and_then(Value::as_object);
            for (name, field) in fields {
                if shown.is_none() {
                    words.extend(words_of(name));
                }
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
    let text = Compared::of(text).text;
    let parts = text.split_whitespace().chain([text.trim()]);
    parts.filter(|part| part.len() >= SHORTEST_WORD).map(str::to_owned).collect()
}

/// The text with a mark for each of the words, and for the beginning of one where the text is cut off.
fn without(said: &str, hidden: &[String]) -> String {
    let cut = before_the_cut(said);
    let whole = cut.unwrap_or(said);
    let compared = Compared::of(whole);
    let mut present: Vec<&String> = hidden.iter().filter(|word| compared.text.contains(*word)).collect();
    // Longer ones may hold shorter ones.
    present.sort_by_key(|word| Reverse(word.len()));
    let (mut shown, mut shown_to, mut at) = (String::with_capacity(said.len()), 0, 0);
    while let Some(char) = compared.text[at..].chars().next() {
        let rest = &compared.text[at..];
        let found = if cut.is_some() && is_beginning(rest, hidden) {
            Some(rest.len())
        } else {
            present.iter().find(|word| rest.starts_with(**word)).map(|word| word.len())
        };
        if let Some(length) = found {
            shown.push_str(whole.get(shown_to..compared.from[at].start).unwrap_or_default());
            shown.push_str(HIDDEN);
            shown_to = compared.from[at + length - 1].end;
        }
        at += found.unwrap_or(char.len_utf8());
    }
    shown.push_str(&whole[shown_to..]);
    shown + if cut.is_some() { CUT_OFF } else { "" }
}

/// What stands at the end of a text that is cut off.
const CUT_OFF: &str = "…";

/// What is there of a text that is cut off, without half a character.
fn before_the_cut(said: &str) -> Option<&str> {
    let cut = said.strip_suffix(CUT_OFF)?;
    let half = cut.rfind(['%', '\\']).filter(|at| {
        let begun = &cut[*at..];
        let may_go_on = begun.bytes().skip(1).all(|byte| byte.is_ascii_hexdigit() || byte == b'u');
        begun.len() < 6 && may_go_on && spelled(begun).is_some_and(|(_, length)| length == 1)
    });
    Some(half.map_or(cut, |at| &cut[..at]))
}

/// Whether one of the words, which are sorted, begins so.
fn is_beginning(text: &str, words: &[String]) -> bool {
    let first = words.partition_point(|word| word.as_str() < text);
    text.len() >= SHORTEST_WORD && words.get(first).is_some_and(|word| word.starts_with(text))
}

/// A text as it is compared: without case, and with the characters that it spells as addresses (`%40`) or JSON (`\u0040`) do.
#[derive(Default)]
struct Compared {
    text: String,
    /// For each byte of it, what it stands for.
    from: Vec<Range<usize>>,
}

impl Compared {
    fn of(said: &str) -> Self {
        let (mut compared, mut at) = (Self::default(), 0);
        while let Some((char, length)) = spelled(&said[at..]) {
            // By way of upper case, so that all forms of a letter are one.
            compared.text.extend(char.to_uppercase().flat_map(char::to_lowercase));
            compared.from.resize(compared.text.len(), at..at + length);
            at += length;
        }
        compared
    }
}

/// The first character of a text, and how many bytes spell it.
fn spelled(text: &str) -> Option<(char, usize)> {
    let first = text.chars().next()?;
    let special = match first {
        '%' => of_address(text),
        '\\' => of_json(text),
        _ => None,
    };
    Some(special.unwrap_or((first, first.len_utf8())))
}

/// `%40`, or up to four of them for one character.
fn of_address(text: &str) -> Option<(char, usize)> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let byte = |part: &[u8]| match *part {
        [b'%', high, low] => Some((digit(high)? << 4) | digit(low)?),
        _ => None,
    };
    let bytes: Vec<u8> = text.as_bytes().chunks(3).take(4).map_while(byte).collect();
    (1..=bytes.len()).find_map(|length| {
        let char = str::from_utf8(&bytes[..length]).ok()?.chars().next()?;
        Some((char, 3 * length))
    })
}

/// `\u0040`, two of them for one character, or `\/`.
fn of_json(text: &str) -> Option<(char, usize)> {
    if let Some(same) = text.chars().nth(1).filter(|char| matches!(char, '"' | '\\' | '/')) {
        return Some((same, 2));
    }
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
    };
    let first = unit(0)?;
    let of = |units: &[u16]| char::decode_utf16(units.iter().copied()).next()?.ok();
    match of(&[first]) {
        Some(char) => Some((char, 6)),
        None => Some((of(&[first, unit(6)?])?, 12)),
    }
}

#[cfg(test)]
mod tests {
    use ratchet::HiddenPath;

    use super::*;

    fn hidden(input: &str) -> Option<Vec<String>> {
        let paths =
            HiddenPaths::new([HiddenPath::default().field("email"), HiddenPath::default().field("who")]);
        hidden_words([&Payload::from_stored(input)], &paths)
    }

    fn shown(text: &str) -> String {
        let input = r#"{"email":"Ada@example.com","who":{"name":"Ada Lovelace","card":4242424242},"invoice":"inv_1"}"#;
        without(text, &hidden(input).unwrap())
    }

    #[test]
    fn what_is_hidden_of_an_input_is_hidden_where_an_error_repeats_it() {
        for (text, expected) in [
            ("no mailbox ada@EXAMPLE.com for inv_1", "no mailbox [redacted] for inv_1"),
            ("Ada Lovelace: card 4242424242 declined", "[redacted]: [redacted] [redacted] declined"),
            ("Mrs. Lovelace is unknown", "Mrs. [redacted] is unknown"),
            ("it goes on and on about ada@exam…", "it goes on and on about [redacted]…"),
            ("about ada@example.com…", "about [redacted]…"),
            ("nothing of it is 50% of…", "nothing of it is 50% of…"),
            ("nothing of it", "nothing of it"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn what_is_hidden_is_found_in_other_spellings_and_in_any_case() {
        let words =
            hidden(r#"{"email":"ada+1@example.com","who":["MÜLLER Straße","🦀crab","a%40b.example"]}"#);
        for (text, expected) in [
            ("GET /?to=ada%2B1%40example.com&n=1", "GET /?to=[redacted]&n=1"),
            (r#"{"to":"ada+1\u0040example.com"}"#, r#"{"to":"[redacted]"}"#),
            ("müller, M%c3%BCller, M\\u00fcller", "[redacted], [redacted], [redacted]"),
            ("Herr müller%20STRASSE 7", "Herr [redacted] 7"),
            (r"\ud83e\udd80CRAB and %F0%9F%A6%80crab", "[redacted] and [redacted]"),
            ("a@b.example and a%40b.example", "[redacted] and [redacted]"),
            ("cut at ada%2B1%4…", "cut at [redacted]…"),
            (r"cut at m\u00fcl…", "cut at [redacted]…"),
            (r"C:\users 100% \u00zz %C3%28", r"C:\users 100% \u00zz %C3%28"),
        ] {
            assert_eq!(without(text, words.as_ref().unwrap()), expected);
        }
    }

    #[test]
    fn names_of_fields_are_hidden_below_what_is_hidden_only() {
        let words = hidden(r#"{"who":{"ada@example.com":[{"Lovelace":1}]},"invoice":{"number":7}}"#).unwrap();
        let text = "no number in invoice of ada@example.com (lovelace) in who";
        assert_eq!(without(text, &words), "no number in invoice of [redacted] ([redacted]) in who");
    }

    #[test]
    fn the_mark_itself_is_left_alone() {
        let words = hidden(r#"{"who":"redacted act ada"}"#).unwrap();
        assert_eq!(without("ada and act", &words), "[redacted] and [redacted]");
    }

    #[test]
    fn where_it_cannot_be_read_what_is_hidden_nothing_is_known_of_it() {
        assert_eq!(hidden("{"), None);
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
