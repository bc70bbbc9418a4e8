//! An answer that says that the effect happened.

use std::fmt;

use bytes::Bytes;
use ratchet_core::{Cause, CauseKind, Failure, Outcome};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;

/// An answer that says that the effect happened. `Debug` shows the status and the length, never the content.
#[derive(Clone)]
pub struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    pub(crate) fn new(status: StatusCode, headers: HeaderMap, body: Bytes) -> Self {
        Self { status, headers, body }
    }

    /// 200, 201 or 204.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// A header as text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// A failure with an unknown outcome: the destination said that it is done, so a body that cannot be read is no
    /// reason to think otherwise.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let place =
                format_args!("the answer does not fit at line {}, column {}", error.line(), error.column());
            Failure::new(Outcome::unknown(Cause::new(CauseKind::UnreadableAnswer, place)))
        })
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({}, {} bytes)", self.status, self.body.len())
    }
}
