//! Tells a destination in which trace it is called.

use ratchet_core::Context;
use reqwest::Request;
use reqwest::header::{HeaderName, HeaderValue};
use tracing::Span;

const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// The span of a send, whose place in its trace the request then names, unless its author has named one. The header is no
/// part of what is pinned: each attempt has another one.
pub(crate) fn traced(request: &mut Request, ctx: &Context) -> Span {
    let host = request.url().host_str().unwrap_or_default();
    let span = tracing::info_span!("send", method = %request.method(), host, otel.kind = "client");
    if !request.headers().contains_key(&TRACE_PARENT) {
        let place = span.in_scope(|| ctx.trace_parent());
        // Digits and hyphens are a header always.
        if let Some(value) = place.and_then(|place| HeaderValue::try_from(place.to_string()).ok()) {
            request.headers_mut().insert(TRACE_PARENT, value);
        }
    }
    span
}
