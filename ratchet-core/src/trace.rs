//! How a trace goes on from the producer to the destination. What is not compiled in, or has no layer installed, knows no
//! place; then that of the record is handed on as it is.

use tracing::Span;

use crate::model::TraceParent;

/// The place of the current span in its trace, if an OpenTelemetry layer is installed and records it somewhere.
#[must_use]
pub fn current() -> Option<TraceParent> {
    place_of(&Span::current())
}

/// The place of a span in its trace, if an OpenTelemetry layer is installed.
#[cfg(feature = "otel")]
#[must_use]
pub fn place_of(span: &Span) -> Option<TraceParent> {
    use opentelemetry::trace::TraceContextExt as _;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    let context = span.context();
    let place = context.span().span_context().clone();
    let (trace, span) = (place.trace_id().to_bytes(), place.span_id().to_bytes());
    TraceParent::new(u128::from_be_bytes(trace), u64::from_be_bytes(span), place.trace_flags().to_u8())
}

/// The place of a span in its trace: none, since the feature `otel` is off.
#[cfg(not(feature = "otel"))]
#[must_use]
pub fn place_of(span: &Span) -> Option<TraceParent> {
    let _ = span;
    None
}

/// Makes a span, before it is entered, a part of the trace that something was asked for in. There is one asker for each
/// record, so its span is the parent, and all of it is one trace.
#[cfg(feature = "otel")]
pub fn continues(span: &Span, asked: Option<TraceParent>) {
    use opentelemetry::trace::{SpanContext, TraceContextExt as _, TraceFlags, TraceState};
    use opentelemetry::{Context, SpanId, TraceId};
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    let Some(asked) = asked else { return };
    let (trace, parent) = (TraceId::from(asked.trace()), SpanId::from(asked.span()));
    let flags = TraceFlags::new(asked.flags());
    let place = SpanContext::new(trace, parent, flags, true, TraceState::NONE);
    // Fails where no layer is installed, or none is interested in this span.
    let _ = span.set_parent(Context::new().with_remote_span_context(place));
}

/// Makes a span a part of a trace: of none, since the feature `otel` is off.
#[cfg(not(feature = "otel"))]
pub fn continues(span: &Span, asked: Option<TraceParent>) {
    let _ = (span, asked);
}
