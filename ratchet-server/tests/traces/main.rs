//! One trace from the producer over the server and a worker of another process to the request of the destination, as an
//! OpenTelemetry collector sees it.
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

mod collector;
#[allow(dead_code, reason = "the tests of the protocol need more of it")]
#[path = "../wire/support.rs"]
mod support;

use axum::Router;
use axum::extract::State as Shared;
use axum::http::HeaderMap;
use axum::routing::post;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use ratchet::http::Client;
use ratchet::http::reqwest::Method;
use ratchet::{Context, Failure, Input, Ratchet, State, TraceParent};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tracing_subscriber::layer::SubscriberExt as _;

use collector::{Collector, Seen};
use support::{Server, Store, answer};

#[derive(Clone, Serialize, Deserialize, Input)]
struct Bill {
    order: u64,
    note: String,
}

/// Where the destination is, and which header an author sets by hand.
#[derive(Clone)]
struct Shop {
    url: String,
    http: Client,
}

#[ratchet::operation(name = "charge", version = "1", key = "order:<order>:charge",
    destination = ratchet::Contract::header("Idempotency-Key"))]
async fn charge(ctx: Context, input: Bill, shop: State<Shop>) -> Result<(), Failure> {
    let mut request = shop.http.post(&shop.url).json(&input);
    if input.order == 8 {
        request = request.header("traceparent", OWN);
    }
    request.idempotent(&ctx).deliver().await?;
    Ok(())
}

const PRODUCER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OWN: &str = "00-11111111111111111111111111111111-2222222222222222-01";

async fn take(Shared(told): Shared<UnboundedSender<String>>, headers: HeaderMap) -> &'static str {
    let trace = headers.get("traceparent").and_then(|value| value.to_str().ok());
    let _ = told.send(trace.unwrap_or_default().to_owned());
    "{}"
}

/// A worker's program sends its traces to the collector, as the documentation says.
fn traced(collector: &Collector) -> SdkTracerProvider {
    let exporter = SpanExporter::builder().with_http().with_endpoint(collector.traces()).build().unwrap();
    let resource = Resource::builder().with_service_name("worker").build();
    SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build()
}

#[test]
fn one_trace_leads_from_the_producer_to_the_destination() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let collector = runtime.block_on(Collector::start());
    // Its exporter must not be made within a runtime.
    let provider = traced(&collector);
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("ratchet"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).unwrap();
    let sent = runtime.block_on(charge_twice(&collector));
    provider.shutdown().unwrap();
    let spans = runtime.block_on(collector.spans());

    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let of_trace: Vec<&Seen> = spans.iter().filter(|span| span.trace == trace).collect();
    let named = |service: &str, name: &str| -> &Seen {
        let of = |span: &&&Seen| span.service == service && span.name == name;
        of_trace.iter().find(of).unwrap_or_else(|| panic!("{service} has no {name} in {of_trace:#?}"))
    };
    let request = named("ratchet", "POST /api/v1/runs/{run}/enqueue");
    assert_eq!((request.parent.as_str(), request.kind), ("00f067aa0ba902b7", "server"));
    let attempt = named("worker", "attempt");
    assert_eq!((&attempt.parent, attempt.kind), (&request.span, "consumer"));
    let sending = named("worker", "send");
    assert_eq!((&sending.parent, sending.kind), (&attempt.span, "client"));
    let expected: TraceParent = format!("00-{trace}-{}-01", sending.span).parse().unwrap();
    assert_eq!(sent, [expected.to_string(), OWN.to_owned()]);
    // All know the record by its digest, and none by its key or what it holds.
    assert_eq!(request.attributes["key"], attempt.attributes["key"]);
    for span in &spans {
        let text = format!("{span:?}");
        assert!(!text.contains("order:7") && !text.contains("for Ada") && !text.contains("rk_"), "{text}");
    }
}

/// Charges an order that carries a trace, and one whose handler sets a header of its own; gives what the destination was told.
async fn charge_twice(collector: &Collector) -> Vec<String> {
    let (told, mut tell) = unbounded_channel();
    let shop = Router::new().route("/charges", post(take)).with_state(told);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/charges", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, shop).await });

    let mut server = Server::start_with(Store::file(), &["--otlp", collector.address()]);
    let ratchet = Ratchet::open(&server.store.url()).await.unwrap();
    ratchet.declare(&ratchet::registry![charge]).await.unwrap();
    let producer = server.producer();
    let run = server.run(&producer).await;
    let worker = ratchet.worker(ratchet::registry![charge]).state(Shop { url, http: Client::new().unwrap() });
    let worker = worker.build().unwrap();
    let mut sent = Vec::new();
    let shutdown = tokio_util::sync::CancellationToken::new();
    let running = tokio::spawn(worker.run(shutdown.clone().cancelled_owned()));
    for order in [7, 8] {
        let body = json!({
            "name": "charge", "version": "1", "input": {"order": order, "note": "for Ada"},
            "idempotencyKey": format!("order:{order}:charge")
        });
        let asked = server.request(Method::POST, &producer, &format!("/runs/{run}/enqueue"));
        let asked = asked.header("traceparent", PRODUCER).header("content-type", "application/json");
        let (status, step) = answer(asked.body(body.to_string())).await;
        assert_eq!(status, 201, "{step}");
        sent.push(tell.recv().await.unwrap());
    }
    shutdown.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(server.stop(), Some(0));
    sent
}
