//! What takes spans, as a collector of OpenTelemetry does: protobuf over HTTP.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message as _;

/// A collector that keeps what it is sent.
pub(crate) struct Collector {
    address: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A span, with all that is said in it.
#[derive(Debug, Clone)]
#[allow(dead_code, reason = "the events are looked through as a text")]
pub(crate) struct Seen {
    pub(crate) service: String,
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) trace: String,
    pub(crate) span: String,
    pub(crate) parent: String,
    pub(crate) attributes: BTreeMap<String, String>,
    events: Vec<(String, BTreeMap<String, String>)>,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let routes = Router::new().route("/v1/traces", post(take)).with_state(Arc::clone(&seen));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { address, seen }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn traces(&self) -> String {
        format!("{}/v1/traces", self.address)
    }

    /// Everything that came so far.
    pub(crate) async fn spans(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn take(State(seen): State<Arc<Mutex<Vec<Seen>>>>, body: Bytes) {
    let sent = ExportTraceServiceRequest::decode(body).expect("this is OTLP");
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    for resource in sent.resource_spans {
        let about = texts(&resource.resource.unwrap_or_default().attributes);
        let service = about.get("service.name").cloned().unwrap_or_default();
        let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
        seen.extend(spans.map(|span| read(service.clone(), &span)));
    }
}

fn read(service: String, span: &Span) -> Seen {
    let kind = match span.kind() {
        SpanKind::Server => "server",
        SpanKind::Client => "client",
        SpanKind::Producer => "producer",
        SpanKind::Consumer => "consumer",
        SpanKind::Internal | SpanKind::Unspecified => "internal",
    };
    Seen {
        service,
        name: span.name.clone(),
        kind,
        trace: hexadecimal(&span.trace_id),
        span: hexadecimal(&span.span_id),
        parent: hexadecimal(&span.parent_span_id),
        attributes: texts(&span.attributes),
        events: span.events.iter().map(|event| (event.name.clone(), texts(&event.attributes))).collect(),
    }
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    attributes.iter().map(|pair| (pair.key.clone(), text(pair.value.as_ref()))).collect()
}

fn text(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        other => format!("{other:?}"),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
