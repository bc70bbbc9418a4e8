//! A service behind the layer, on a real socket and in a runtime that a test can kill.

use std::future::Future;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Extension, Request};
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use ratchet::http::inbound::IdempotencyLayer;
use ratchet::http::reqwest::{self, RequestBuilder};
use ratchet::ledger::SharedLedger;
use ratchet::{Clock, Context, Record, RecordId, Stored, Timestamp};
use ratchet_core::MemoryLedger;
use ratchet_core::random::SystemRandom;
use ratchet_core::time::ManualClock;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, mpsc};

/// What a handler is called with.
pub(crate) struct Call {
    /// Which execution it is, from 1.
    pub(crate) number: u32,
    pub(crate) ctx: Option<Context>,
    pub(crate) path: String,
    pub(crate) body: Bytes,
}

pub(crate) struct Service {
    pub(crate) url: String,
    pub(crate) ledger: SharedLedger,
    pub(crate) layer: IdempotencyLayer,
    executions: Arc<AtomicU32>,
    http: reqwest::Client,
    runtime: Option<Runtime>,
}

impl Service {
    /// On a ledger in memory.
    pub(crate) async fn new<F>(
        adjust: impl FnOnce(IdempotencyLayer) -> IdempotencyLayer,
        handler: impl Fn(Call) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Response> + Send + 'static,
    {
        Self::start(async { MemoryLedger::new() as SharedLedger }, adjust, handler).await
    }

    /// On a ledger in memory, with a handler that waits on the stage before it answers.
    pub(crate) async fn held(
        stage: &Stage,
        adjust: impl FnOnce(IdempotencyLayer) -> IdempotencyLayer,
        answer: &'static str,
    ) -> Self {
        let stage = stage.clone();
        let handler = move |call: Call| {
            let stage = stage.clone();
            async move {
                stage.wait(call.number).await;
                plain(201, answer)
            }
        };
        Self::new(adjust, handler).await
    }

    /// On a ledger in memory whose time a test moves.
    pub(crate) async fn with_clock<F>(
        clock: &Arc<ManualClock>,
        adjust: impl FnOnce(IdempotencyLayer) -> IdempotencyLayer,
        handler: impl Fn(Call) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Response> + Send + 'static,
    {
        let ledger: SharedLedger = MemoryLedger::with(clock.clone(), SystemRandom::seeded(1));
        let shared = clock.clone();
        Self::start(async { ledger }, |layer| adjust(layer.clock(shared)), handler).await
    }

    pub(crate) async fn start<F>(
        open: impl Future<Output = SharedLedger> + Send + 'static,
        adjust: impl FnOnce(IdempotencyLayer) -> IdempotencyLayer,
        handler: impl Fn(Call) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Response> + Send + 'static,
    {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let ledger = runtime.spawn(open).await.unwrap();
        let layer = adjust(IdempotencyLayer::new(ledger.clone(), |parts| {
            let account = parts.headers.get("x-account").map(|name| name.to_str().unwrap().to_owned());
            Some(account.unwrap_or_else(|| "tenant".to_owned()))
        }));
        let executions = Arc::new(AtomicU32::new(0));
        let router = router(layer.clone(), executions.clone(), handler);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(serve(listener, router));
        let http = reqwest::Client::builder().retry(reqwest::retry::never()).build().unwrap();
        Self { url, ledger, layer, executions, http, runtime: Some(runtime) }
    }

    pub(crate) fn executions(&self) -> u32 {
        self.executions.load(Ordering::SeqCst)
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    pub(crate) fn post(&self, key: &str) -> RequestBuilder {
        self.request(Method::POST, "/charges").header("idempotency-key", key).body("amount=7")
    }

    /// The request that most tests repeat.
    pub(crate) async fn charge(&self, key: &str) -> Answer {
        Answer::to(self.post(key)).await
    }

    pub(crate) fn id(&self, key: &str) -> RecordId {
        self.layer.record_id("tenant", &Method::POST, "/charges", key).unwrap()
    }

    pub(crate) async fn record(&self, key: &str) -> Record {
        match self.ledger.find(self.id(key)).await.unwrap() {
            Some(Stored::Record(record)) => *record,
            other => panic!("expected a record, got {other:?}"),
        }
    }

    /// Waits until the record is as wanted, woken by the ledger in memory.
    pub(crate) async fn wait_until(&self, key: &str, wanted: impl Fn(&Record) -> bool) -> Record {
        let mut changes = self.ledger.wakeups();
        within(async {
            loop {
                changes.mark_unchanged();
                let record = self.record(key).await;
                if wanted(&record) {
                    return record;
                }
                changes.changed().await.unwrap();
            }
        })
        .await
    }

    /// The process dies: nothing of it runs from now on.
    pub(crate) fn kill(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn serve(listener: TcpListener, router: Router) {
    listener.set_nonblocking(true).unwrap();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    axum::serve(listener, router).await.unwrap();
}

pub(crate) fn router<F>(
    layer: IdempotencyLayer,
    executions: Arc<AtomicU32>,
    handler: impl Fn(Call) -> F + Clone + Send + Sync + 'static,
) -> Router
where
    F: Future<Output = Response> + Send + 'static,
{
    let enter = async move |ctx: Option<Extension<Context>>, request: Request| {
        let path = request.uri().path().to_owned();
        let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
        let number = executions.fetch_add(1, Ordering::SeqCst) + 1;
        handler(Call { number, ctx: ctx.map(|Extension(ctx)| ctx), path, body }).await
    };
    Router::new().fallback(enter).layer(layer)
}

/// What a client received.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) async fn to(request: RequestBuilder) -> Self {
        let response = within(request.send()).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, body: response.bytes().await.unwrap() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn is_replayed(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }

    /// The problem document.
    pub(crate) fn document(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The status, what is wrong, and what is known about the request.
    pub(crate) fn problem(&self) -> (u16, String, String) {
        let document = self.document();
        assert_eq!(document["status"], self.status);
        let text = |name: &str| document[name].as_str().unwrap().to_owned();
        (self.status, text("code"), text("execution"))
    }
}

pub(crate) fn problem(status: u16, code: &str, execution: &str) -> (u16, String, String) {
    (status, code.to_owned(), execution.to_owned())
}

/// What a handler tells the test, and what it waits for.
#[derive(Clone)]
pub(crate) struct Stage {
    entered: mpsc::UnboundedSender<u32>,
    go: Arc<Notify>,
}

impl Stage {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<u32>) {
        let (entered, seen) = mpsc::unbounded_channel();
        (Self { entered, go: Arc::default() }, seen)
    }

    pub(crate) async fn wait(&self, number: u32) {
        self.entered.send(number).unwrap();
        self.go.notified().await;
    }

    pub(crate) fn let_go(&self) {
        self.go.notify_one();
    }
}

/// A test that hangs says so.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), work).await.expect("nothing happened for a minute")
}

pub(crate) fn clock() -> Arc<ManualClock> {
    let clock = ManualClock::at(Timestamp::from_millis(1_795_968_000_000));
    assert_eq!(clock.now().to_string(), "2026-11-29T16:00:00Z");
    clock
}

pub(crate) fn plain(status: u16, text: impl Into<String>) -> Response {
    Response::builder().status(status).body(text.into().into()).unwrap()
}
