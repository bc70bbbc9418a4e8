//! What this layer answers by itself: problem documents (RFC 9457).

use bytes::Bytes;
use http::header::{CONTENT_TYPE, LINK, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use ratchet_core::Timestamp;
use ratchet_core::model::State;
use serde_json::{Value, json};

use super::answer::Kept;
use super::body::{Body, whole};
use super::settings::Settings;

/// Why a request is answered by this layer and not by the handler.
pub(super) enum Problem {
    KeyMissing,
    KeyMalformed(&'static str),
    NoPrincipal,
    RequestTooLarge,
    RequestUnreadable,
    InFlight,
    /// Another execution of the same request has taken over.
    Superseded,
    KeyReused,
    /// An earlier execution ended so.
    OutcomeUnknown,
    /// This execution ended so.
    Interrupted,
    AnswerNotKept(Option<Kept>),
    Expired {
        ended: Timestamp,
        state: State,
    },
    Closed,
    StoreUnavailable,
    /// The store is a restored backup, or it is not known whether it is one.
    HeldBack,
    NotRecorded,
}

/// What is known about the request that was sent.
#[derive(Clone, Copy)]
enum Execution {
    Executed,
    NotExecuted,
    InFlight,
    Unknown,
}

impl Problem {
    fn status(&self) -> StatusCode {
        match self {
            Self::KeyMissing | Self::KeyMalformed(_) | Self::RequestUnreadable => StatusCode::BAD_REQUEST,
            Self::NoPrincipal => StatusCode::FORBIDDEN,
            Self::RequestTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Interrupted => StatusCode::INTERNAL_SERVER_ERROR,
            Self::StoreUnavailable | Self::HeldBack | Self::NotRecorded => StatusCode::SERVICE_UNAVAILABLE,
            Self::InFlight
            | Self::Superseded
            | Self::OutcomeUnknown
            | Self::AnswerNotKept(_)
            | Self::Expired { .. }
            | Self::Closed => StatusCode::CONFLICT,
        }
    }

    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::KeyMissing => "key-missing",
            Self::KeyMalformed(_) => "key-malformed",
            Self::NoPrincipal => "no-principal",
            Self::RequestTooLarge => "request-too-large",
            Self::RequestUnreadable => "request-unreadable",
            Self::InFlight | Self::Superseded => "in-flight",
            Self::KeyReused => "key-reused",
            Self::OutcomeUnknown | Self::Interrupted => "outcome-unknown",
            Self::AnswerNotKept(_) => "answer-not-kept",
            Self::Expired { .. } => "key-expired",
            Self::Closed => "key-closed",
            Self::StoreUnavailable => "store-unavailable",
            Self::HeldBack => "store-restored",
            Self::NotRecorded => "answer-not-recorded",
        }
    }

    fn execution(&self) -> Execution {
        match self {
            Self::InFlight | Self::Superseded => Execution::InFlight,
            Self::OutcomeUnknown
            | Self::Interrupted
            | Self::StoreUnavailable
            | Self::HeldBack
            | Self::NotRecorded => Execution::Unknown,
            Self::AnswerNotKept(_) => Execution::Executed,
            Self::Expired { state, .. } => match state {
                State::Succeeded => Execution::Executed,
                state if state.is_definite() => Execution::NotExecuted,
                _ => Execution::Unknown,
            },
            _ => Execution::NotExecuted,
        }
    }

    fn detail(&self, settings: &Settings) -> String {
        match self {
            Self::KeyMissing => {
                "This request needs the header Idempotency-Key: send one key for each intended \
                                 action, and the same one whenever the action is sent again."
                    .to_owned()
            }
            Self::KeyMalformed(why) => format!(
                "The Idempotency-Key cannot be used: {why}. It has 1 to {} visible ASCII characters, in \
                 quotation marks or without.",
                settings.longest_key
            ),
            Self::NoPrincipal => "It is not known who sends this request.".to_owned(),
            Self::RequestTooLarge => format!(
                "A request with an Idempotency-Key has a body of at most {} bytes here.",
                settings.largest_request
            ),
            Self::RequestUnreadable => "The body of the request broke off.".to_owned(),
            Self::InFlight => {
                "A request with this key is being executed. Send it again in a while, with the same \
                               key, to receive its answer."
                    .to_owned()
            }
            Self::Superseded => {
                "This request took longer than its lease, and another execution of it has taken \
                                 over. Send it again, with the same key, to receive the answer."
                    .to_owned()
            }
            Self::KeyReused => {
                "This key was sent with another request before. Use a new key for a new action; \
                                the earlier request was received."
                    .to_owned()
            }
            Self::OutcomeUnknown => {
                "The request was executed, and it is not known how that ended. It is not \
                                     executed again: ask for its effect, or the operators of this service."
                    .to_owned()
            }
            Self::Interrupted => {
                "The execution of the request was cut off, and it is not known what came of it.".to_owned()
            }
            Self::AnswerNotKept(_) => {
                "The request was executed, and its answer is too large to be repeated.".to_owned()
            }
            Self::Expired { ended, .. } => {
                format!("This key was used up by a request that ended at {ended}.")
            }
            Self::Closed => {
                "The request was not executed, and this key is closed. Use a new key to ask again.".to_owned()
            }
            Self::StoreUnavailable => {
                "It cannot be looked up whether this request was executed before, so it is \
                                       not executed now. Send it again in a while, with the same key."
                    .to_owned()
            }
            Self::HeldBack => {
                "What this service knows about earlier requests may be incomplete, so nothing new is executed until its operators \
                 have looked into it. Send it again later, with the same key."
                    .to_owned()
            }
            Self::NotRecorded => {
                "The request was executed, and what came of it could not be written down. Send \
                                  it again, with the same key."
                    .to_owned()
            }
        }
    }

    /// Whether the same request is worth sending again soon.
    fn passes(&self) -> bool {
        matches!(
            self,
            Self::InFlight | Self::Superseded | Self::StoreUnavailable | Self::HeldBack | Self::NotRecorded
        )
    }

    pub(super) fn into_response(self, settings: &Settings) -> Response<Body> {
        let status = self.status();
        let document = self.document(settings, status);
        let mut response = Response::new(whole(Bytes::from(document.to_string())));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.passes() {
            headers.insert(RETRY_AFTER, HeaderValue::from(settings.retry_after.as_secs().max(1)));
        }
        let link = settings.documentation.as_ref().map(|page| format!("<{page}>; rel=\"describedby\""));
        if let Some(link) = link.and_then(|link| link.parse().ok()) {
            headers.insert(LINK, link);
        }
        settings.advertise(headers);
        response
    }

    fn document(&self, settings: &Settings, status: StatusCode) -> Value {
        let code = self.code();
        let (kind, title) = match &settings.documentation {
            Some(page) => (format!("{page}#{code}"), code),
            None => ("about:blank".to_owned(), status.canonical_reason().unwrap_or(code)),
        };
        let mut document = json!({
            "type": kind,
            "title": title,
            "status": status.as_u16(),
            "detail": self.detail(settings),
            "code": code,
            "execution": self.execution().as_str(),
        });
        if let Self::AnswerNotKept(Some(kept)) = self {
            document["answer"] = json!({ "status": kept.status, "headers": kept.headers });
        }
        document
    }
}

impl Execution {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::NotExecuted => "not_executed",
            Self::InFlight => "in_flight",
            Self::Unknown => "unknown",
        }
    }
}
