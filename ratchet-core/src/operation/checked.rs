//! What is checked of one operation while compiling: its key, and how long is retried, remembered, kept and replayed.

use super::text::Text;
use super::{Codec, Kind, Operation, Spec};
use crate::contract::{Mechanism, Retention};
use crate::key_part::Form;

/// Stops the compiler if the destination may forget the key before the last automatic retry (R009).
///
/// # Panics
/// If it may.
#[must_use]
pub const fn checked_window(spec: Spec) -> Spec {
    let last = spec.policy.retry.longest_span(spec.policy.timeout);
    if let (Some(window), Retention::For(memory)) = (spec.contract.window(), spec.contract.retention())
        && last.as_nanos() > window.as_nanos()
    {
        let text = names(&spec, "R009")
                .push(" may be sent again up to ")
                .push_duration(last)
                .push(" after its first send, and its destination is sure to recognise the key for ")
                .push_duration(window)
                .push(" only (it remembers for ")
                .push_duration(memory)
                .push(", less a margin), so a late retry could act a second time\nhelp: ")
                .push("end the retries sooner with a `retry` of your own, such as `RetryPolicy::doubling(3, Duration::from_secs(5), Duration::from_secs(30))`, and a shorter `timeout`; or say with `remembers_for` how ")
                .push("long the destination is documented to remember");
        panic!("{}", text.as_str());
    }
    spec
}

/// Stops the compiler if our own record may be purged while it is still retried or replayed (R010).
///
/// # Panics
/// If it may.
#[must_use]
pub const fn checked_retention(spec: Spec) -> Spec {
    let kept = spec.policy.retention;
    let last = spec.policy.retry.longest_span(spec.policy.timeout);
    if let Some(replayed) = spec.policy.replay_within
        && replayed.as_nanos() > kept.as_nanos()
    {
        let text = names(&spec, "R010")
            .push(" may be replayed for ")
            .push_duration(replayed)
            .push(" after its end, and its record is purged after ")
            .push_duration(kept)
            .push(": there would be nothing to replay\nhelp: raise `retention`, or lower `replay_within`");
        panic!("{}", text.as_str());
    }
    if last.as_nanos() > kept.as_nanos() {
        let text = names(&spec, "R010")
                .push(" may be retried for ")
                .push_duration(last)
                .push(" after its first send, and a settled record is purged after ")
                .push_duration(kept)
                .push(": what happened would be forgotten too early\nhelp: raise `retention`, or end the retries sooner");
        panic!("{}", text.as_str());
    }
    spec
}

/// Stops the compiler if the destination does not deduplicate, for an attribute that does not say what is done about
/// an unknown outcome (R011).
///
/// # Panics
/// If it does not.
#[must_use]
pub const fn checked_tradeoff(spec: Spec) -> Spec {
    if spec.contract.recognises_for_unstated_time() {
        let text = Text::new()
                .push("R011: the destination of `")
                .push(spec.name.literal())
                .push("` recognises a repeated request and does not say for how long, and the attribute does not say what to do when ")
                .push("it is unknown whether one took effect\nhelp: say how long it is with `.remembers_for(…)` on the contract, ")
                .push("if you know, or add ")
                .push(WAYS_OUT);
        panic!("{}", text.as_str());
    }
    if matches!(spec.contract.mechanism(), Mechanism::None) {
        let text = Text::new()
                .push("R011: the destination of `")
                .push(spec.name.literal())
                .push("` does not recognise a repeated request, and the attribute does not say what to do when it is ")
                .push("unknown whether one took effect\nhelp: add ")
                .push(WAYS_OUT);
        panic!("{}", text.as_str());
    }
    spec
}

/// What to say about an unknown outcome.
const WAYS_OUT: &str = "`on_unknown = park` (somebody looks into it), `may_duplicate` (send again) or `may_lose` (give up); or \
    `reconcile = ask_the_destination`, a function that finds out what happened";

const fn names(spec: &Spec, code: &str) -> Text {
    Text::new().push(code).push(": `").push(spec.name.literal()).push("`")
}

/// Stops the compiler if no part of a key tells records apart.
///
/// # Panics
/// If none does.
pub(super) const fn require_distinguishing(parts: &[Kind]) {
    let mut at = 0;
    while at < parts.len() {
        if parts[at].distinguishes {
            return;
        }
        at += 1;
    }
    panic!(
        "R006: no placeholder of this key tells records apart: a `bool` or an enum has a few values, so nearly everyone shares one key; add the id of the record"
    );
}

/// Stops the compiler where an amount stands in the key as a text (R008).
///
/// # Panics
/// If one does.
pub(super) const fn require_amounts_as_numbers(template: &str, parts: &[Kind]) {
    let mut rest = template.as_bytes();
    let mut at = 0;
    while let Some((path, after)) = next_placeholder(rest) {
        if at < parts.len() && matches!(parts[at].form, Form::Text) && is_amount(path) {
            let text = Text::new()
                .push("R008: an amount in the key is a text, and one amount has several texts, such as `10` and `10.00`, so one action ")
                .push("could have several keys\nhelp: use an integer in the smallest unit, such as `amount_cents: u64`, or the id of the ")
                .push("record; a type of your own that implements `KeyPart` can hold texts of one form only");
            panic!("{}", text.as_str());
        }
        at += 1;
        rest = after;
    }
}

/// What stands in the next `<…>`, and what comes after it.
const fn next_placeholder(template: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut start = 0;
    while start < template.len() && template[start] != b'<' {
        start += 1;
    }
    let mut end = start;
    while end < template.len() && template[end] != b'>' {
        end += 1;
    }
    if end >= template.len() {
        return None;
    }
    let (until, after) = template.split_at(end);
    Some((until.split_at(start).1, after))
}

/// Whether the last word of a path says that it is an amount.
const fn is_amount(path: &[u8]) -> bool {
    let word = b"amount";
    if path.len() <= word.len() {
        return false;
    }
    let start = path.len() - word.len();
    matches!(path[start - 1], b'<' | b'.' | b'_') && starts_at(word, path, start)
}

/// Stops the compiler where a key needs no permission to be the same for everyone, since it is not.
///
/// # Panics
/// If a part tells records apart.
pub(super) const fn require_indistinct(parts: &[Kind]) {
    let mut at = 0;
    while at < parts.len() {
        assert!(
            !parts[at].distinguishes,
            "R015: there is nothing to allow: a placeholder of this key tells records apart; remove `allow(R006 = …)`"
        );
        at += 1;
    }
}

/// Stops the compiler if the template contradicts the marks of the input's fields.
pub(super) const fn require_marks<O: Operation>() {
    let [_, _, template] = O::TEXTS;
    let keys = O::Codec::KEYS;
    let mut at = 0;
    while at < keys.len() {
        if !is_named(keys[at], template) {
            let why = "` of the input is marked `#[key]`, and the key template does not name it\nhelp: add it to the template, or remove `#[key]`";
            panic!("{}", Text::new().push("R007: the field `").push(keys[at]).push(why).as_str());
        }
        at += 1;
    }
    let marks = O::Codec::MARKS;
    let mut personal = false;
    let mut at = 0;
    while at < marks.len() {
        let mark = marks[at];
        if is_named(mark.field, template) {
            if mark.volatile {
                let why = "` of the input is marked `#[volatile]` and stands in the key: what differs from one attempt to the next gives each another key\nhelp: take it out of the template, or remove `#[volatile]`";
                panic!("{}", Text::new().push("R015: the field `").push(mark.field).push(why).as_str());
            }
            if mark.personal && !O::PERSONAL_KEY {
                let why = "` of the input is marked `#[pii]` and stands in the key, which is copied into logs and the records of the destination\nhelp: name an opaque id from your own records in its place";
                panic!("{}", Text::new().push("R004: the field `").push(mark.field).push(why).as_str());
            }
            personal |= mark.personal;
        }
        at += 1;
    }
    assert!(
        personal || !O::PERSONAL_KEY,
        "R015: there is nothing to allow: R004 was not found here\nhelp: remove this permission"
    );
}

/// Whether a placeholder is this field, or leads through it.
const fn is_named(field: &str, template: &str) -> bool {
    let (field, template) = (field.as_bytes(), template.as_bytes());
    let mut at = 0;
    while at + field.len() + 1 < template.len() {
        if template[at] == b'<' && starts_at(field, template, at + 1) {
            let after = template[at + 1 + field.len()];
            if after == b'>' || after == b'.' {
                return true;
            }
        }
        at += 1;
    }
    false
}

const fn starts_at(field: &[u8], template: &[u8], from: usize) -> bool {
    let mut at = 0;
    while at < field.len() {
        if template[from + at] != field[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::{is_amount, is_named, next_placeholder};

    #[test]
    fn a_field_is_named_by_a_placeholder_that_is_it_or_leads_through_it() {
        let template = "invoice:<customer.id>:<invoice_id>";
        assert!(is_named("customer", template) && is_named("invoice_id", template));
        for absent in ["id", "invoice", "custom", "", "a_very_long_name_of_a_field_in_an_input"] {
            assert!(!is_named(absent, template), "{absent}");
        }
    }

    #[test]
    fn an_amount_is_known_by_the_last_word_of_its_path() {
        let amounts = |template: &str| {
            let mut rest = template.as_bytes();
            let mut found = Vec::new();
            while let Some((path, after)) = next_placeholder(rest) {
                found.push(is_amount(path));
                rest = after;
            }
            found
        };
        assert_eq!(amounts("pay:<amount>:<total_amount>:<money.amount>"), [true, true, true]);
        assert_eq!(amounts("amount:<amount_type>:<amount.currency>:<paramount>"), [false, false, false]);
        assert_eq!(amounts("amount"), [false; 0]);
    }
}
