//! Reads the body of a request, within its limits.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::App;
use super::problem::Problem;

/// A body of JSON, in a request or in an answer.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        if !is_json(&request) {
            let text = "the body must be JSON, with `Content-Type: application/json`";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "NOT_JSON", text));
        }
        let bytes = read(request.into_body(), app).await?;
        // The message names a place and a type, and may quote the name of a field; values stay out of it.
        serde_json::from_slice(&bytes).map(Self).map_err(|error| Problem::malformed(described(&error)))
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

fn is_json(request: &Request) -> bool {
    let named = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = named.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

pub(crate) async fn read(body: Body, app: &App) -> Result<axum::body::Bytes, Problem> {
    let limit = app.limits().body;
    match in_time(app.limits().patience, to_bytes(body, limit)).await? {
        Ok(bytes) => Ok(bytes),
        Err(error) if is_too_large(&error) => Err(too_large(limit)),
        Err(_) => Err(broken_off()),
    }
}

/// How many times longer than for one piece of a large body is waited for the whole of it.
const LONGEST_IN_PIECES: u32 = 12;

/// A body of up to `most` bytes in pieces, for whoever does not keep all of it. Each piece has to come within the patience.
pub(crate) async fn read_in_pieces(
    body: Body,
    patience: Duration,
    most: usize,
    mut take: impl FnMut(&[u8]),
) -> Result<(), Problem> {
    let mut body = Limited::new(body, most);
    let reading = async {
        while let Some(frame) = in_time(patience, body.frame()).await? {
            let frame =
                frame.map_err(
                    |error| if error.is::<LengthLimitError>() { too_large(most) } else { broken_off() },
                )?;
            if let Some(piece) = frame.data_ref() {
                take(piece);
            }
        }
        Ok(())
    };
    in_time(patience.saturating_mul(LONGEST_IN_PIECES), reading).await?
}

/// A body that stays out for too long would hold a place of the server.
async fn in_time<T>(patience: Duration, reading: impl Future<Output = T>) -> Result<T, Problem> {
    timeout(patience, reading).await.map_err(|_| {
        let text = "the body did not arrive in time";
        Problem::new(StatusCode::REQUEST_TIMEOUT, "BODY_TOO_SLOW", text)
    })
}

fn too_large(limit: usize) -> Problem {
    let text = format!("the body has more than {limit} bytes: store what is large elsewhere and send its id");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "BODY_TOO_LARGE", text)
}

fn broken_off() -> Problem {
    Problem::malformed("the body broke off")
}

fn is_too_large(error: &axum::Error) -> bool {
    let cause = std::error::Error::source(error);
    cause.is_some_and(<dyn std::error::Error>::is::<LengthLimitError>)
}

/// What serde says, without the values that it may repeat.
fn described(error: &serde_json::Error) -> String {
    let place = format!("at line {}, column {}", error.line(), error.column());
    match error.classify() {
        serde_json::error::Category::Data => {
            let text = error.to_string();
            let what = ["missing field", "unknown field", "duplicate field"];
            match what.iter().find(|what| text.starts_with(**what)) {
                // These name fields, which are the protocol's or the caller's misspelling of them.
                Some(&"missing field") => text,
                Some(what) => {
                    format!("the body has an {what} {place}; /api/v1/openapi.json lists the fields")
                        .replace("an duplicate", "a duplicate")
                }
                None => format!("the body has a value of another type than expected {place}"),
            }
        }
        _ => format!("the body is not JSON {place}"),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll, ready};

    use axum::body::{Bytes, HttpBody};
    use hyper::body::Frame;
    use tokio::time::{Instant, Sleep, sleep};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// So many bytes, and the time before each.
    struct Slow(usize, Duration, Pin<Box<Sleep>>);

    impl HttpBody for Slow {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            if self.0 == 0 {
                return Poll::Ready(None);
            }
            ready!(self.2.as_mut().poll(cx));
            let next = Instant::now() + self.1;
            self.2.as_mut().reset(next);
            self.0 -= 1;
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
        }
    }

    /// How many bytes come, and in which time.
    async fn read(pieces: usize, each: Duration) -> (bool, usize, Duration) {
        let (mut bytes, begun) = (0, Instant::now());
        let body = Body::new(Slow(pieces, each, Box::pin(sleep(each))));
        let read = read_in_pieces(body, PATIENCE, 100, |piece| bytes += piece.len()).await;
        (read.is_ok(), bytes, begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_body_may_take_its_time_while_it_goes_on() {
        let slow = PATIENCE * 9 / 10;
        assert_eq!(read(13, slow).await, (true, 13, slow * 13));
        assert_eq!(read(14, slow).await, (false, 13, PATIENCE * 12));
        assert_eq!(read(1, PATIENCE * 2).await, (false, 0, PATIENCE));
    }
}
