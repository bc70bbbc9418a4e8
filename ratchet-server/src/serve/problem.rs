//! What a caller is told who cannot be served.

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use ratchet::LedgerError;
use serde::Serialize;
use utoipa::{IntoResponses, ToSchema};

use super::shelf::KeepError;

/// Why a request was not carried out.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    code: &'static str,
    text: String,
    /// In how many seconds to come again.
    retry_after: Option<u64>,
}

/// The body of every answer that is no success.
#[derive(Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// What is wrong, why, and what to do. It repeats no input, key or credential.
    error: String,
    /// The same for programs.
    code: String,
}

/// What every call can be answered with beside its own answers.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "it describes answers and is never made")]
pub(crate) enum Problems {
    /// The request is malformed.
    #[response(status = 400)]
    Malformed(ErrorBody),
    /// No key, or one that is unknown, expired or revoked.
    #[response(status = 401)]
    NoKey(ErrorBody),
    /// The key does not allow this.
    #[response(status = 403)]
    NotAllowed(ErrorBody),
    /// There is nothing of this name in the key's namespace.
    #[response(status = 404)]
    NotFound(ErrorBody),
    /// The body did not arrive in time.
    #[response(status = 408)]
    TooSlow(ErrorBody),
    /// The body is too large.
    #[response(status = 413)]
    TooLarge(ErrorBody),
    /// The body is not JSON by its type.
    #[response(status = 415)]
    NotJson(ErrorBody),
    /// The request is understood, and refused as things stand.
    #[response(status = 422)]
    Refused(ErrorBody),
    /// The key has asked too often; `Retry-After` says when to come again.
    #[response(status = 429)]
    TooMany(ErrorBody),
    /// The store does not answer, or the server is full; `Retry-After` says when to come again.
    #[response(status = 503)]
    Unavailable(ErrorBody),
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, text: impl Into<String>) -> Self {
        Self { status, code, text: text.into(), retry_after: None }
    }

    /// The request is malformed.
    pub(crate) fn malformed(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID_REQUEST", text)
    }

    /// The request is understood, and refused as things stand.
    pub(crate) fn refused(code: &'static str, text: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, text)
    }

    pub(crate) fn not_found(what: &str) -> Self {
        let text = format!("there is no such {what} in the namespace of this key");
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", text)
    }

    pub(crate) fn forbidden(text: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "FORBIDDEN", text)
    }

    /// It may work a little later.
    pub(crate) fn unavailable(text: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", text).retry_after(1)
    }

    /// The server begins nothing new.
    pub(crate) fn stopping() -> Self {
        let text = "the server is about to stop, and begins nothing new; come again, or ask another one";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "STOPPING", text).retry_after(1)
    }

    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        // What is wrong with the store is for its operator: the caller learns that asking again is safe.
        tracing::error!(%error, "the store failed");
        let text = "the store does not answer; asking again with the same idempotency key is safe";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "STORE_UNAVAILABLE", text).retry_after(1)
    }
}

impl From<KeepError> for Problem {
    fn from(error: KeepError) -> Self {
        match error {
            KeepError::Ledger(error) => error.into(),
            KeepError::Body(error) => Self::malformed(format!("this cannot be kept: {error}")),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = ErrorBody { error: self.text, code: self.code.to_owned() };
        let mut response = (self.status, axum::Json(body)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(axum::http::header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

pub(super) async fn no_such_page() -> Problem {
    let text = "there is nothing at this address; /api/v1/openapi.json describes what there is";
    Problem::new(StatusCode::NOT_FOUND, "NOT_FOUND", text)
}

pub(super) async fn wrong_method() -> Problem {
    let text = "this address does not take this method; the header Allow says which it takes";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", text)
}
