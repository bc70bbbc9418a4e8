//! What destinations answer.

use std::str::from_utf8;
use std::time::Duration;

use ratchet_core::contract::{Contract, Signal};
use ratchet_core::{Outcome, OutcomeKind, contracts};
use ratchet_http::classify;
use ratchet_http::reqwest::StatusCode;
use ratchet_http::reqwest::header::{DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};

use crate::cut;
use crate::dates::is_http_date;

/// The first line is `Retry-After`, the rest `Date`. A wait is read where the grammar of RFC 9110 has one, and nowhere else.
pub fn retry_after(input: &[u8]) {
    let (value, date) = cut(input, b'\n');
    let Ok(value) = HeaderValue::from_bytes(value) else { return };
    let mut headers = HeaderMap::from_iter([(RETRY_AFTER, value.clone())]);
    headers.extend(HeaderValue::from_bytes(date).map(|date| (DATE, date)));
    let waits = match classify(StatusCode::SERVICE_UNAVAILABLE, &headers, None, &Contract::NONE) {
        Err(failure) => match failure.into_outcome() {
            Outcome::Unknown { retry_after, .. } => retry_after,
            other => panic!("{other:?}"),
        },
        Ok(answer) => panic!("{answer:?}"),
    };
    // White space around a field's value is no part of it.
    let text = from_utf8(value.as_bytes()).unwrap_or_default().trim_matches([' ', '\t']);
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match waits {
        Some(wait) if is_number => {
            // More than there are: as long as can be said.
            assert_eq!(wait, Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
        }
        Some(_) => assert!(is_http_date(text), "{text:?} is neither a number nor a date"),
        None => assert!(!is_number, "{text:?} was ignored"),
    }
}

/// Contracts whose answers are told apart by everything that a contract can name.
const FURTHER: [Contract; 2] = [
    Contract::NONE,
    Contract::header("K").signals(&[
        Signal::done(409).when_field("a.*.b", "x").naming("a.0.id"),
        Signal::in_flight(400).to(499).when_field("a.b", "1"),
        Signal::not_applied(503).when_header("k", "v"),
        Signal::done(500).naming("id"),
    ]),
];

/// The first byte chooses a contract, the two that follow a status. Then come headers, each on a line, an empty line, and the
/// body.
///
/// Every answer has a meaning. A body that was not read to its end makes no answer certain that the whole body leaves
/// unknown, nor certain of the opposite.
pub fn classification(input: &[u8]) {
    let [contract, high, low, rest @ ..] = input else { return };
    let number = 100 + (u16::from(*high) << 8 | u16::from(*low)) % 500;
    let status = StatusCode::from_u16(number).expect("from 100 to 599");
    let (contracts, at) = (contracts::ALL.len() + FURTHER.len(), usize::from(*contract));
    let contract = contracts::ALL.iter().chain(&FURTHER).nth(at % contracts).expect("a contract");
    let (headers, body) = message(rest);
    let read = |body: Option<&[u8]>| Meaning::of(status, &headers, body, contract);

    let whole = read(Some(body));
    assert_eq!(whole, read(Some(body)));
    if contract.all_signals().is_empty() {
        assert!(whole != Meaning::Of(OutcomeKind::NotApplied), "nobody said so");
    }
    let unread = read(None);
    unread.must_not_contradict(whole);
    if status.is_success() {
        let is_open = matches!(unread, Meaning::Of(OutcomeKind::Unknown));
        assert!(is_open || !contract.all_signals().is_empty(), "{unread:?}");
    }
    if is_document(body) {
        // All places of a short body, and some of a long one.
        for end in (1..body.len()).step_by(1 + body.len() / 64) {
            read(Some(&body[..end])).must_not_contradict(whole);
        }
    }
}

fn message(text: &[u8]) -> (HeaderMap, &[u8]) {
    let (mut headers, mut rest) = (HeaderMap::new(), text);
    loop {
        let (line, after) = cut(rest, b'\n');
        rest = after;
        let (name, value) = cut(line, b':');
        match (HeaderName::from_bytes(name), HeaderValue::from_bytes(value.trim_ascii())) {
            (Ok(name), Ok(value)) => drop(headers.append(name, value)),
            _ => return (headers, rest),
        }
    }
}

/// JSON with fields, or XML as errors have it: what is cut from the end of it is neither.
fn is_document(body: &[u8]) -> bool {
    let is_whole = body.trim_ascii().len() == body.len();
    let has_fields = |value: serde_json::Value| value.is_object() || value.is_array();
    let is_xml = || {
        let text = from_utf8(body).unwrap_or_default();
        let text = text.strip_prefix("<?xml version=\"1.0\"?>").unwrap_or(text);
        text.starts_with("<Response>") && text.find("</Response>") == text.len().checked_sub(11)
    };
    is_whole && (serde_json::from_slice(body).is_ok_and(has_fields) || is_xml())
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Meaning {
    Done,
    Of(OutcomeKind),
}

impl Meaning {
    fn of(status: StatusCode, headers: &HeaderMap, body: Option<&[u8]>, contract: &Contract) -> Self {
        match classify(status, headers, body, contract) {
            Ok(_) => Self::Done,
            Err(failure) => Self::Of(failure.into_outcome().kind()),
        }
    }

    fn must_not_contradict(self, whole: Self) {
        assert!(
            self == Self::Of(OutcomeKind::Unknown) || self == whole,
            "{self:?} of a part, {whole:?} of all"
        );
    }
}
