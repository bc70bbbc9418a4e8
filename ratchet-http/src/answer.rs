//! An answer that says that the effect happened.

use std::fmt;

use bytes::Bytes;
use ratchet_core::{Cause, CauseKind, Failure, Outcome};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;

use crate::reading::Confirmed;

/// An answer that says that the effect happened. `Debug` shows the status and the length, never the content.
#[derive(Clone)]
pub struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    confirmed: Confirmed,
}

impl Answer {
    pub(crate) fn new(status: StatusCode, headers: HeaderMap, body: Bytes, confirmed: Confirmed) -> Self {
        Self { status, headers, body, confirmed }
    }

    /// 200, 201 or 204; another one if the contract says that it means done.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Whether the destination marked this as the answer of an earlier request.
    #[must_use]
    pub fn is_replayed(&self) -> bool {
        self.confirmed.replayed
    }

    /// Whether this answer looks like an error, and says that an earlier request had the effect. Its body is not the usual
    /// one then.
    #[must_use]
    pub fn is_duplicate(&self) -> bool {
        self.confirmed.duplicate
    }

    /// What the earlier request made, if such an answer names it: what to fetch for the usual result.
    ///
    /// ```
    /// # use ratchet_core::{Context, Failure};
    /// # #[derive(serde::Deserialize)] struct Payment { id: String }
    /// async fn pay(ctx: Context, http: ratchet_http::Client) -> Result<String, Failure> {
    ///     let answer = http.post("https://bank.example/payments").idempotent(&ctx).deliver().await?;
    ///     match answer.made_before() {
    ///         Some(id) => Ok(id.to_owned()),
    ///         None => Ok(answer.json::<Payment>()?.id),
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn made_before(&self) -> Option<&str> {
        self.confirmed.resource.as_deref()
    }

    /// A header as text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// All headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
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
            let why = if self.is_duplicate() {
                ": it says that an earlier request had the effect, see `made_before`"
            } else {
                ""
            };
            let place = format_args!(
                "the answer does not fit at line {}, column {}{why}",
                error.line(),
                error.column()
            );
            Failure::new(Outcome::unknown(Cause::new(CauseKind::UnreadableAnswer, place)))
        })
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({}, {} bytes)", self.status, self.body.len())
    }
}
