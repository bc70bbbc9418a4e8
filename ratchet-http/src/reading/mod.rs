//! What an answer, or its absence, says about the effect.

mod field;
mod response;
mod retry_after;
mod xml;

use std::fmt;
use std::time::Duration;

use ratchet_core::contract::{Contract, Marker, Meaning, Signal};
use ratchet_core::{Cause, CauseKind, Failure, Outcome};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;

use field::Document;
pub(crate) use response::{read_answer, read_error};
use retry_after::retry_after;

/// An answer that says that the effect happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// The answer is that of an earlier request, as the destination marks it.
    pub replayed: bool,
    /// The effect happened under an earlier request, and this answer, which looks like an error, says so.
    pub duplicate: bool,
    /// What the effect made, as such an answer names it.
    pub resource: Option<String>,
}

/// How long to wait where a request with the key is under way and the destination does not say.
const IN_FLIGHT_WAIT: Duration = Duration::from_secs(1);

/// Reads an answer as its contract says, for those who send with another client: one that follows no redirects and does not
/// try again by itself.
///
/// `body` is `None` if it could not be read to its end, or was too long. What the answer says without a contract is in the
/// [table](crate) of this crate; [`not_connected`] and [`not_answered`] are for requests that got no answer.
///
/// ```
/// use ratchet_core::contracts::gocardless;
/// use ratchet_http::{classify, reqwest::{StatusCode, header::HeaderMap}};
///
/// let body = br#"{"error": {"type": "invalid_state", "errors": [{
///     "reason": "idempotent_creation_conflict", "links": {"conflicting_resource_id": "PM123"}}]}}"#;
/// let confirmed = classify(StatusCode::CONFLICT, &HeaderMap::new(), Some(body), &gocardless::CREATE).unwrap();
/// assert_eq!(confirmed.resource.as_deref(), Some("PM123"));
/// ```
///
/// # Errors
/// A [`Failure`] that says what is known about the effect, for the handler to pass on.
pub fn classify(
    status: StatusCode,
    headers: &HeaderMap,
    body: Option<&[u8]>,
    contract: &Contract,
) -> Result<Confirmed, Failure> {
    Reading::new(status, headers, body, contract).classify()
}

/// No connection was made, so nothing was sent.
pub fn not_connected() -> Failure {
    let cause = Cause::new(CauseKind::Connect, "no connection to the destination");
    Failure::new(Outcome::NotApplied { cause, retry_after: None })
}

/// The connection broke, or time was up, after the request may have left: nobody knows.
pub fn not_answered() -> Failure {
    unknown(CauseKind::Transport, "the connection broke after the request may have left")
}

fn unknown(kind: CauseKind, why: impl fmt::Display) -> Failure {
    Failure::new(Outcome::unknown(Cause::new(kind, why)))
}

/// Whether the meaning of an answer with this status is in its body.
fn depends_on_body(contract: &Contract, status: StatusCode) -> bool {
    contract.all_signals().iter().any(|signal| {
        let names = matches!(signal.meaning(), Meaning::Done { resource: Some(_) });
        signal.is_about(status.as_u16()) && (names || matches!(signal.marker(), Marker::Field(..)))
    })
}

/// An answer on its way to a meaning.
struct Reading<'a> {
    status: StatusCode,
    headers: &'a HeaderMap,
    body: Option<&'a [u8]>,
    document: Option<Document>,
    contract: &'a Contract,
    replayed: bool,
}

impl<'a> Reading<'a> {
    fn new(
        status: StatusCode,
        headers: &'a HeaderMap,
        body: Option<&'a [u8]>,
        contract: &'a Contract,
    ) -> Self {
        let wanted = body.filter(|_| depends_on_body(contract, status));
        let document = wanted.and_then(Document::read);
        let replayed = contract.replay_marker().is_some_and(|(name, value)| has_header(headers, name, value));
        Self { status, headers, body, document, contract, replayed }
    }

    fn classify(&self) -> Result<Confirmed, Failure> {
        for signal in
            self.contract.all_signals().iter().filter(|signal| signal.is_about(self.status.as_u16()))
        {
            match self.has(signal.marker()) {
                Some(true) => return self.read(signal),
                Some(false) => {}
                // It may have been this one.
                None => return Err(self.cannot_tell()),
            }
        }
        self.by_status()
    }

    /// Whether the answer has the mark; `None` if that cannot be known.
    fn has(&self, marker: Marker) -> Option<bool> {
        match marker {
            Marker::None => Some(true),
            Marker::Header(name, value) => Some(has_header(self.headers, name, value)),
            Marker::Field(path, value) => match (self.body, &self.document) {
                (None, _) => None,
                (Some(_), None) => Some(false),
                (Some(_), Some(document)) => document.has(path, value),
            },
        }
    }

    fn read(&self, signal: &Signal) -> Result<Confirmed, Failure> {
        let kind = CauseKind::Status(self.status.as_u16());
        Err(Failure::new(match signal.meaning() {
            Meaning::Done { resource } => {
                let resource = resource.and_then(|path| self.document.as_ref()?.text_at(path));
                return Ok(Confirmed { replayed: self.replayed, duplicate: true, resource });
            }
            Meaning::InFlight => Outcome::Unknown {
                cause: self
                    .cause(CauseKind::InFlight, "a request with this key is under way at the destination"),
                retry_after: self.wait().or(Some(IN_FLIGHT_WAIT)),
            },
            Meaning::Mismatch => Outcome::Unknown {
                cause: self.cause(CauseKind::Mismatch, "the destination knows this key with another request"),
                retry_after: self.wait(),
            },
            Meaning::RefusedAfterLookup => Outcome::Rejected {
                cause: self.cause(kind, "the destination refused, and nothing with this key had an effect"),
                after_lookup: true,
            },
            Meaning::NotApplied => Outcome::NotApplied {
                cause: self.cause(kind, "the destination did not look at the request"),
                retry_after: self.wait(),
            },
            _ => Outcome::unknown(self.cause(kind, "the answer has a meaning that is not known here")),
        }))
    }

    /// What an answer says where the contract knows no more.
    fn by_status(&self) -> Result<Confirmed, Failure> {
        let kind = CauseKind::Status(self.status.as_u16());
        let unknown = |why: &str| {
            Err(Failure::new(Outcome::Unknown { cause: self.cause(kind, why), retry_after: self.wait() }))
        };
        match self.status {
            StatusCode::OK | StatusCode::CREATED | StatusCode::NO_CONTENT if self.body.is_some() => {
                Ok(Confirmed { replayed: self.replayed, duplicate: false, resource: None })
            }
            StatusCode::OK | StatusCode::CREATED | StatusCode::NO_CONTENT => Err(self.cannot_tell()),
            StatusCode::REQUEST_TIMEOUT
            | StatusCode::CONFLICT
            | StatusCode::TOO_EARLY
            | StatusCode::TOO_MANY_REQUESTS => unknown("the destination is not ready to say"),
            status if status.is_client_error() => Err(Failure::new(Outcome::Rejected {
                cause: self.cause(kind, "the destination refused"),
                after_lookup: false,
            })),
            status if status.is_server_error() => unknown("the destination failed"),
            _ => unknown("the answer does not say that it is done"),
        }
    }

    fn cannot_tell(&self) -> Failure {
        let cause =
            self.cause(CauseKind::UnreadableAnswer, "what the answer says could not be read to its end");
        Failure::new(Outcome::Unknown { cause, retry_after: self.wait() })
    }

    fn cause(&self, kind: CauseKind, why: &str) -> Cause {
        let stored = if self.replayed { ", in the answer of an earlier request" } else { "" };
        Cause::new(kind, format_args!("{why}{stored}"))
    }

    fn wait(&self) -> Option<Duration> {
        retry_after(self.headers)
    }
}

fn has_header(headers: &HeaderMap, name: &str, value: &str) -> bool {
    let is_it = |found: &reqwest::header::HeaderValue| {
        found.to_str().is_ok_and(|found| found.trim().eq_ignore_ascii_case(value))
    };
    headers.get_all(name).iter().any(is_it)
}

#[cfg(test)]
mod tests;
