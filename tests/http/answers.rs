//! From an answer, or its absence, to an outcome.

use std::time::Duration;

use ratchet::http::Client;
use ratchet::{CauseKind, Context, Contract, Failure, Input, Outcome, OutcomeKind};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::scripted::{Destination, answer};

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
pub(crate) struct Charge {
    pub(crate) id: String,
}

#[ratchet::operation(name = "charge", version = "1", key = "charge:<id>", destination = Contract::header("Idempotency-Key"))]
pub(crate) async fn charge(_ctx: Context, _input: Charge) -> Result<(), Failure> {
    Ok(())
}

pub(crate) fn context() -> Context {
    charge::test_context(&Charge { id: "ch_1".to_owned() })
}

async fn outcome_of(text: &str) -> Result<u16, (OutcomeKind, CauseKind, Option<Duration>)> {
    let destination = Destination::answering(&[text]).await;
    let http = Client::new().unwrap();
    let delivered = http.post(&destination.url).body("{}").idempotent(&context()).deliver().await;
    assert_eq!(destination.received().len(), 1, "sent exactly once");
    delivered.map(|answer| answer.status().as_u16()).map_err(parts)
}

fn parts(failure: Failure) -> (OutcomeKind, CauseKind, Option<Duration>) {
    let outcome = failure.into_outcome();
    let wait = match &outcome {
        Outcome::NotApplied { retry_after, .. } | Outcome::Unknown { retry_after, .. } => *retry_after,
        _ => None,
    };
    (outcome.kind(), outcome.cause().unwrap().kind(), wait)
}

#[tokio::test]
async fn only_three_statuses_say_done() {
    for (status, code) in [("200 OK", 200), ("201 Created", 201)] {
        assert_eq!(outcome_of(&answer(status, "", "{}")).await, Ok(code));
    }
    assert_eq!(outcome_of("HTTP/1.1 204 No Content\r\n\r\n").await, Ok(204));
}

#[tokio::test]
async fn every_other_status_is_read_as_the_table_says() {
    use OutcomeKind::{Rejected, Unknown};
    let table = [
        (Unknown, &[202, 203, 206, 207, 226][..]),
        (Unknown, &[300, 301, 302, 303, 304, 307, 308]),
        (Unknown, &[408, 409, 425, 429]),
        (Unknown, &[500, 501, 502, 503, 504, 507, 599]),
        (Rejected, &[400, 401, 402, 403, 404, 405, 406, 410, 412, 413, 415, 418, 422, 423, 451, 499]),
    ];
    for (kind, statuses) in table {
        for status in statuses {
            let text = answer(&format!("{status} Something"), "location: /elsewhere\r\n", "{}");
            assert_eq!(outcome_of(&text).await, Err((kind, CauseKind::Status(*status), None)), "{status}");
        }
    }
}

#[tokio::test]
async fn a_wish_to_wait_is_kept() {
    let text = answer("429 Too Many Requests", "retry-after: 7\r\n", "");
    let expected = (OutcomeKind::Unknown, CauseKind::Status(429), Some(Duration::from_secs(7)));
    assert_eq!(outcome_of(&text).await, Err(expected));
    let headers = "date: Sun, 29 Nov 2026 15:00:00 GMT\r\nretry-after: Sun, 29 Nov 2026 15:02:00 GMT\r\n";
    let expected = (OutcomeKind::Unknown, CauseKind::Status(503), Some(Duration::from_mins(2)));
    assert_eq!(outcome_of(&answer("503 Service Unavailable", headers, "")).await, Err(expected));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Destination::answering(&[&answer("200 OK", "", "{}")]).await;
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let text = answer(status, &format!("location: {}\r\n", elsewhere.url), "");
        assert_eq!(outcome_of(&text).await.unwrap_err().0, OutcomeKind::Unknown);
    }
    assert!(elsewhere.received().is_empty());
}

#[tokio::test]
async fn without_a_connection_nothing_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let delivered = Client::new().unwrap().post(&url).idempotent(&context()).deliver().await;
    assert_eq!(parts(delivered.unwrap_err()), (OutcomeKind::NotApplied, CauseKind::Connect, None));
}

#[tokio::test]
async fn a_connection_that_breaks_says_nothing() {
    for cut in ["", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\ncontent-le"] {
        let expected = (OutcomeKind::Unknown, CauseKind::Transport, None);
        assert_eq!(outcome_of(cut).await, Err(expected), "{cut}");
    }
}

#[tokio::test]
async fn a_success_whose_body_breaks_is_unknown() {
    let expected = Err((OutcomeKind::Unknown, CauseKind::UnreadableAnswer, None));
    assert_eq!(outcome_of("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{").await, expected);
    let huge = answer("200 OK", "", &"x".repeat(5 * 1024 * 1024));
    assert_eq!(outcome_of(&huge).await, expected);
}

#[tokio::test]
async fn a_success_that_does_not_fit_is_unknown_and_shows_nothing_of_the_body() {
    let destination = Destination::answering(&[&answer("200 OK", "", r#"{"secret":"4242"}"#)]).await;
    let http = Client::new().unwrap();
    let answer = http.post(&destination.url).idempotent(&context()).deliver().await.unwrap();
    assert_eq!(format!("{answer:?}"), "Answer(200 OK, 17 bytes)");
    let failure = answer.json::<u64>().unwrap_err();
    assert_eq!(
        format!("{failure}"),
        "unknown (unreadable_answer: the answer does not fit at line 1, column 0)"
    );
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_unknown() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let http = Client::configured(|builder| builder.timeout(Duration::from_millis(100))).unwrap();
    let delivered = http.post(&url).idempotent(&context()).deliver().await;
    assert_eq!(parts(delivered.unwrap_err()), (OutcomeKind::Unknown, CauseKind::Transport, None));
    drop(listener);
}

#[tokio::test]
async fn what_cannot_be_a_request_is_not_sent() {
    let http = Client::new().unwrap();
    for url in ["", "nonsense", "ftp://127.0.0.1/", "http://user:secret@:0/"] {
        let failure = http.post(url).idempotent(&context()).deliver().await.unwrap_err();
        assert_eq!(failure.outcome().kind(), OutcomeKind::NotApplied, "{url}");
        assert!(!failure.to_string().contains("secret"), "{failure}");
    }
}

#[tokio::test]
async fn a_refusal_of_a_second_send_does_not_hide_what_the_first_one_did() {
    for first in [answer("200 OK", "", "{}"), String::new()] {
        let destination = Destination::answering(&[&first, &answer("401 Unauthorized", "", "")]).await;
        let (http, ctx) = (Client::new().unwrap(), context());
        let send = || http.post(&destination.url).body("{}").idempotent(&ctx).deliver();
        let _ = send().await;
        let (kind, cause, _) = parts(send().await.unwrap_err());
        assert_eq!((kind, cause), (OutcomeKind::Unknown, CauseKind::Status(401)));
    }
}
