//! What an answer, or its absence, says about the effect.

use bytes::Bytes;
use ratchet_core::{Cause, CauseKind, Failure, Outcome};
use reqwest::{Response, StatusCode, Url};

use crate::answer::Answer;
use crate::retry_after::retry_after;

/// The most bytes of an answer that are read.
const LARGEST_ANSWER: usize = 4 * 1024 * 1024;

/// A request that ended without an answer. Only where no connection was made is it certain that nothing was sent.
pub(crate) fn read_error(error: &reqwest::Error) -> Failure {
    if error.is_builder() {
        let cause = Cause::new(CauseKind::Handler, "the request is not one that can be sent");
        Failure::new(Outcome::NotApplied { cause, retry_after: None })
    } else if error.is_connect() {
        let cause = Cause::new(CauseKind::Connect, "no connection to the destination");
        Failure::new(Outcome::NotApplied { cause, retry_after: None })
    } else if error.is_timeout() {
        unknown(CauseKind::Transport, "the destination did not answer in time")
    } else {
        unknown(CauseKind::Transport, "the connection broke after the request may have left")
    }
}

pub(crate) async fn read_answer(response: Response, asked: &Url) -> Result<Answer, Failure> {
    let status = response.status();
    let wait = retry_after(response.headers());
    let detail = |what: &str| Cause::new(CauseKind::Status(status.as_u16()), what);
    let otherwise = |outcome| Err(Failure::new(outcome));
    match status {
        StatusCode::OK | StatusCode::CREATED | StatusCode::NO_CONTENT if response.url() == asked => {
            read_body(response).await
        }
        StatusCode::REQUEST_TIMEOUT
        | StatusCode::CONFLICT
        | StatusCode::TOO_EARLY
        | StatusCode::TOO_MANY_REQUESTS => otherwise(Outcome::Unknown {
            cause: detail("the destination is not ready to say"),
            retry_after: wait,
        }),
        _ if status.is_client_error() => {
            otherwise(Outcome::Rejected { cause: detail("the destination refused"), after_lookup: false })
        }
        _ if status.is_server_error() => {
            otherwise(Outcome::Unknown { cause: detail("the destination failed"), retry_after: wait })
        }
        _ => otherwise(Outcome::Unknown {
            cause: detail("the answer does not say that it is done"),
            retry_after: wait,
        }),
    }
}

/// The destination said that it is done. That its words cannot be read changes nothing about that, but the handler has no
/// result, so the outcome is unknown and the next attempt receives the answer again.
async fn read_body(mut response: Response) -> Result<Answer, Failure> {
    let (status, headers) = (response.status(), response.headers().clone());
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => return Ok(Answer::new(status, headers, Bytes::from(body))),
            Ok(Some(chunk)) if body.len() + chunk.len() <= LARGEST_ANSWER => body.extend_from_slice(&chunk),
            Ok(Some(_)) => {
                let why = format_args!("the answer has more than {LARGEST_ANSWER} bytes");
                return Err(unknown(CauseKind::UnreadableAnswer, why));
            }
            Err(_) => {
                let why = "the connection broke within the answer";
                return Err(unknown(CauseKind::UnreadableAnswer, why));
            }
        }
    }
}

fn unknown(kind: CauseKind, why: impl std::fmt::Display) -> Failure {
    Failure::new(Outcome::unknown(Cause::new(kind, why)))
}
