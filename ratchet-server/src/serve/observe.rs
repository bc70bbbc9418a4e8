//! What the operator of the server learns about each request, and the bound of how many there are at once.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use ratchet::{RecordId, TraceParent, trace};
use tokio::sync::Semaphore;
use tracing::Instrument as _;
use tracing::field::Empty;

use super::problem::Problem;
use super::{App, metrics};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACE_PARENT: &str = "traceparent";

/// Every request has an id, a line in the log and a place in the metrics, and there are not too many at once.
pub(super) fn observed(router: Router<App>, app: &App) -> Router<App> {
    let places = Arc::new(Semaphore::new(app.limits().requests));
    router.layer(from_fn_with_state(places, observe))
}

async fn observe(State(places): State<Arc<Semaphore>>, request: Request, next: Next) -> Response {
    let id = request_id(request.headers());
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = request.method().clone();
    let asked = trace_parent(request.headers());
    let trace = asked.map(|asked| format!("{:032x}", asked.trace()));
    let span = tracing::info_span!("request", id = %show(&id), %method, route, trace, operation = Empty, key = Empty,
        otel.name = format!("{method} {route}"), otel.kind = "server");
    trace::continues(&span, asked);
    let begun = Instant::now();
    let mut response = match places.try_acquire() {
        Ok(_place) => next.run(request).instrument(span.clone()).await,
        Err(_) if is_of_job(&route) => next.run(request).instrument(span.clone()).await,
        Err(_) => full().into_response(),
    };
    let took = begun.elapsed();
    let status = response.status();
    span.in_scope(|| tracing::info!(status = status.as_u16(), milliseconds = took.as_millis(), "answered"));
    metrics::answered(&method, &route, status, took);
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// What says how a job stands or has ended is heard however many others wait; connections bound it.
fn is_of_job(route: &str) -> bool {
    route.ends_with("/workers/jobs/{job}/heartbeat") || route.ends_with("/workers/jobs/{job}/report")
}

fn full() -> Problem {
    let text = "the server has as many requests under way as it takes";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "SERVER_FULL", text).retry_after(1)
}

/// The caller's id for the request, if it is a plain short word, or a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let given = headers.get(&REQUEST_ID).filter(|value| is_plain(value.as_bytes()));
    given.cloned().unwrap_or_else(|| {
        let mut bits = [0; 16];
        // Without randomness the id is a constant, which hurts nobody but the reader of the log.
        let _ = getrandom::fill(&mut bits);
        HeaderValue::from_str(&format!("{:032x}", u128::from_be_bytes(bits)))
            .unwrap_or(HeaderValue::from_static("none"))
    })
}

fn is_plain(id: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    (1..=128).contains(&id.len()) && id.iter().all(plain)
}

fn show(id: &HeaderValue) -> &str {
    id.to_str().unwrap_or("none")
}

/// Where in which trace a caller says that the request belongs.
pub(crate) fn trace_parent(headers: &HeaderMap) -> Option<TraceParent> {
    headers.get(TRACE_PARENT)?.to_str().ok()?.parse().ok()
}

/// The request is about this record, for whoever follows it in the log or in a trace.
pub(crate) fn is_about(id: &RecordId) {
    let span = tracing::Span::current();
    span.record("operation", id.operation.as_str());
    span.record("key", tracing::field::display(id.digest()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_could_forge_a_log_is_replaced() {
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID, HeaderValue::from_static("checkout-7"));
        assert_eq!(request_id(&headers), "checkout-7");
        for wrong in ["", "two words", "a\"b", &"x".repeat(129)] {
            headers.insert(REQUEST_ID, HeaderValue::from_str(wrong).unwrap());
            assert_eq!(request_id(&headers).len(), 32, "{wrong}");
        }
    }
}
