//! Reads the body of a request, within its limits.

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use http_body_util::LengthLimitError;
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

/// A body that stays out for too long would hold a place of the server.
pub(crate) async fn read(body: Body, app: &App) -> Result<axum::body::Bytes, Problem> {
    let limit = app.limits().body;
    match timeout(app.limits().patience, to_bytes(body, limit)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_too_large(&error) => {
            let text = format!(
                "the body has more than {limit} bytes: store what is large elsewhere and send its id"
            );
            Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "BODY_TOO_LARGE", text))
        }
        Ok(Err(_)) => Err(Problem::malformed("the body broke off")),
        Err(_) => {
            let text = "the body did not arrive in time";
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "BODY_TOO_SLOW", text))
        }
    }
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
