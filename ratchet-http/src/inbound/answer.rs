//! The answer to a request: what the handler gave, what is kept of it, and what it says about the effect.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_LENGTH, DATE, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, SET_COOKIE, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode, response};
use ratchet_core::{Cause, CauseKind, Outcome, Payload, PayloadError};
use serde::{Deserialize, Serialize};

use super::body::{Body, whole};

/// Says that the request was certainly not executed, so that a repetition of it is.
///
/// A handler puts it into the extensions of its answer, in axum as `(Extension(NotExecuted), StatusCode::…)`. It says so
/// of the whole handler: nothing that was asked for has happened, or will.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotExecuted;

/// What a handler's answer says about its effect.
pub(super) enum Verdict {
    /// It is the answer from now on.
    Answered,
    /// The handler says that nothing happened.
    NotExecuted,
    /// Nobody knows what happened.
    Unknown,
}

impl Verdict {
    pub(super) fn of(parts: &response::Parts) -> Self {
        let says_nothing = |status: StatusCode| {
            let passing = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];
            status.is_server_error() || passing.contains(&status)
        };
        match parts.extensions.get::<NotExecuted>() {
            Some(NotExecuted) => Self::NotExecuted,
            None if says_nothing(parts.status) => Self::Unknown,
            None => Self::Answered,
        }
    }

    /// How the attempt ended. `kept` is only asked for where the answer is kept.
    pub(super) fn outcome(&self, status: StatusCode, kept: impl FnOnce() -> Outcome) -> Outcome {
        let cause = |what: &str| Cause::new(CauseKind::Status(status.as_u16()), what);
        match self {
            Self::Answered => kept(),
            // To wait for no time spends no attempt: a repetition may come at once, and as often as it likes.
            Self::NotExecuted => Outcome::NotApplied {
                cause: cause("the handler said that nothing was executed"),
                retry_after: Some(Duration::ZERO),
            },
            Self::Unknown => Outcome::unknown(cause("the handler failed")),
        }
    }
}

/// What is kept of an answer.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// `None` if it was too large.
    body: Option<KeptBody>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptBody {
    Text(String),
    Base64(String),
}

impl Kept {
    /// What is kept of an answer whose body is at hand, or else too large.
    pub(super) fn of(parts: &response::Parts, body: Option<&Bytes>, names: &[HeaderName]) -> Self {
        let text = |value: &HeaderValue| String::from_utf8(value.as_bytes().to_vec()).ok();
        let kept = parts
            .headers
            .iter()
            .filter(|(name, _)| names.contains(name) && may_be_repeated(name, &parts.headers));
        let headers = kept.filter_map(|(name, value)| Some((name.as_str().to_owned(), text(value)?)));
        Self { status: parts.status.as_u16(), headers: headers.collect(), body: body.map(KeptBody::of) }
    }

    /// The end of an attempt that has this answer. It is done however little of it can be kept.
    pub(super) fn outcome(mut self) -> Outcome {
        let too_large = || Cause::new(CauseKind::UnstorableResult, "the answer is too large to be kept");
        match self.payload() {
            Ok(result) => {
                Outcome::Done { result: Some(result), missing: self.body.is_none().then(too_large) }
            }
            Err(_) if self.body.take().is_some() => self.outcome(),
            Err(error) => {
                let missing = Cause::new(CauseKind::UnstorableResult, error);
                Outcome::Done { result: None, missing: Some(missing) }
            }
        }
    }

    fn payload(&self) -> Result<Payload, PayloadError> {
        Payload::encode(self, Payload::LARGEST_RESULT)
    }

    /// The answer again; without one, there is no body to repeat.
    pub(super) fn into_response(self) -> Result<Response<Body>, Self> {
        let Some(body) = self.body.as_ref().and_then(KeptBody::bytes) else { return Err(self) };
        let Ok(status) = StatusCode::from_u16(self.status) else { return Err(self) };
        let mut response = Response::new(whole(body));
        *response.status_mut() = status;
        *response.headers_mut() = header_map(&self.headers);
        Ok(response)
    }
}

fn header_map(headers: &[(String, String)]) -> HeaderMap {
    headers.iter().filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?))).collect()
}

/// Headers of one exchange, or of one client.
static NEVER_REPEATED: [HeaderName; 14] = [
    SET_COOKIE,
    DATE,
    CONTENT_LENGTH,
    // Those of one connection (RFC 9110, section 7.6.1).
    CONNECTION,
    TRANSFER_ENCODING,
    UPGRADE,
    TE,
    TRAILER,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    // What this layer says itself.
    HeaderName::from_static("idempotent-replayed"),
    HeaderName::from_static("idempotency-key-lifetime"),
];

/// Whether a header of an answer may be repeated, however much a service wants it. `Connection` can name more of those that
/// must not be.
fn may_be_repeated(name: &HeaderName, all: &HeaderMap) -> bool {
    let options = all.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let mut named = options.flat_map(|value| value.split(',')).map(str::trim);
    !NEVER_REPEATED.contains(name) && !named.any(|option| option.eq_ignore_ascii_case(name.as_str()))
}

impl KeptBody {
    fn of(bytes: &Bytes) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(BASE64.encode(bytes)),
        }
    }

    fn bytes(&self) -> Option<Bytes> {
        match self {
            Self::Text(text) => Some(Bytes::copy_from_slice(text.as_bytes())),
            Self::Base64(text) => BASE64.decode(text).ok().map(Bytes::from),
        }
    }
}
