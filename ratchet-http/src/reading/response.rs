//! Reads what reqwest received.

use bytes::Bytes;
use ratchet_core::contract::Contract;
use ratchet_core::{Cause, CauseKind, Failure, Outcome};
use reqwest::{Response, Url};

use super::{classify, depends_on_body, not_answered, not_connected, unknown};
use crate::answer::Answer;

/// The most bytes that are read of an answer that may say that it is done.
const LARGEST_ANSWER: usize = 4 * 1024 * 1024;

/// The most bytes that are read of any other one.
const LARGEST_REFUSAL: usize = 64 * 1024;

/// A request that ended without an answer. Only where no connection was made is it certain that nothing was sent.
pub(crate) fn read_error(error: &reqwest::Error) -> Failure {
    if error.is_builder() {
        let cause = Cause::new(CauseKind::Handler, "the request is not one that can be sent");
        Failure::new(Outcome::NotApplied { cause, retry_after: None })
    } else if error.is_connect() {
        not_connected()
    } else if error.is_timeout() {
        unknown(CauseKind::Transport, "the destination did not answer in time")
    } else {
        not_answered()
    }
}

pub(crate) async fn read_answer(
    mut response: Response,
    asked: &Url,
    contract: &Contract,
) -> Result<Answer, Failure> {
    let (status, headers) = (response.status(), response.headers().clone());
    if response.url() != asked {
        let kind = CauseKind::Status(status.as_u16());
        return Err(unknown(kind, "the answer came from another address than the one that was asked"));
    }
    let body = if status.is_success() {
        read_body(&mut response, LARGEST_ANSWER).await
    } else if depends_on_body(contract, status) {
        read_body(&mut response, LARGEST_REFUSAL).await
    } else {
        None
    };
    let confirmed = classify(status, &headers, body.as_deref(), contract)?;
    Ok(Answer::new(status, headers, body.unwrap_or_default(), confirmed))
}

/// The whole body; `None` if it breaks off or is longer than that.
async fn read_body(response: &mut Response, longest: usize) -> Option<Bytes> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        if body.len() + chunk.len() > longest {
            return None;
        }
        body.extend_from_slice(&chunk);
    }
    Some(Bytes::from(body))
}
