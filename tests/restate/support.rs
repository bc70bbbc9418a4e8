//! A worker that an engine of the test's own pushes to.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ratchet::ledger::{Declared, Ledger as _, Served};
use ratchet::restate::{RestateLedger, serve, serve_attempts};
use ratchet::{Input, LedgerError, Ratchet, Record, RecordId, Registry, Stored, Worker, WorkerBuilder};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::server::Server;

/// What an operation is about.
#[derive(Debug, Clone, Serialize, Deserialize, Input)]
pub(crate) struct Numbered {
    pub(crate) id: u64,
}

pub(crate) struct Engine {
    pub(crate) server: Server,
    pub(crate) ratchet: Ratchet,
    _serving: Serving,
}

impl Engine {
    /// An engine, and a program that serves its records and a worker with short leases.
    pub(crate) async fn start(
        registry: Registry,
        set_up: impl FnOnce(WorkerBuilder) -> WorkerBuilder,
    ) -> Self {
        let server = tokio::task::spawn_blocking(Server::start).await.unwrap();
        let serving = Serving::start(&server.url(), registry, set_up).await;
        Self::of(server, serving).await
    }

    /// An engine, and a program that serves its records alone.
    pub(crate) async fn of_records() -> Self {
        let server = tokio::task::spawn_blocking(Server::start).await.unwrap();
        let serving = Serving::records(&server.url()).await;
        Self::of(server, serving).await
    }

    async fn of(server: Server, serving: Serving) -> Self {
        let ratchet = Ratchet::open(&server.url()).await.unwrap();
        Self { server, ratchet, _serving: serving }
    }

    pub(crate) async fn record(&self, id: &RecordId) -> Record {
        record_of(&self.ratchet, id).await.expect("a record")
    }

    /// Asks until the record is as wanted: changes are made where the test does not see them.
    pub(crate) async fn wait_until(&self, id: &RecordId, wanted: impl Fn(&Record) -> bool) -> Record {
        within(async {
            loop {
                let record = self.record(id).await;
                if wanted(&record) {
                    return record;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
    }

    pub(crate) async fn settled(&self, id: &RecordId) -> Record {
        self.wait_until(id, |record| record.state.is_settled()).await
    }
}

/// A program that serves an engine. It ends when this is dropped.
pub(crate) struct Serving {
    task: JoinHandle<Result<(), LedgerError>>,
    end: oneshot::Sender<()>,
}

impl Serving {
    /// The records, and what a worker offers. Ready when that is declared.
    pub(crate) async fn start(
        url: &str,
        registry: Registry,
        set_up: impl FnOnce(WorkerBuilder) -> WorkerBuilder,
    ) -> Self {
        let (ledger, worker, served) = worker(url, registry, set_up);
        let (listener, uri) = listen().await;
        let objects = ledger.clone();
        let serving = Self::spawn(async move |end| serve(&objects, Some(worker), listener, &uri, end).await);
        serving.is_declared(&ledger, &served).await;
        serving
    }

    /// The records alone. Ready when they can be asked for.
    pub(crate) async fn records(url: &str) -> Self {
        let ledger = RestateLedger::open(url).unwrap();
        let (listener, uri) = listen().await;
        let objects = ledger.clone();
        let serving = Self::spawn(async move |end| serve(&objects, None, listener, &uri, end).await);
        serving.is_declared(&ledger, &[]).await;
        serving
    }

    /// What a worker offers alone. Ready when that is declared.
    pub(crate) async fn attempts(
        url: &str,
        registry: Registry,
        set_up: impl FnOnce(WorkerBuilder) -> WorkerBuilder,
    ) -> Self {
        let (ledger, worker, served) = worker(url, registry, set_up);
        let (listener, uri) = listen().await;
        let records = ledger.clone();
        let serving =
            Self::spawn(async move |end| serve_attempts(&records, worker, listener, &uri, end).await);
        serving.is_declared(&ledger, &served).await;
        serving
    }

    fn spawn<F>(serving: impl FnOnce(Pin<Box<dyn Future<Output = ()> + Send>>) -> F) -> Self
    where
        F: Future<Output = Result<(), LedgerError>> + Send + 'static,
    {
        let (end, ended) = oneshot::channel::<()>();
        let shutdown = Box::pin(async { drop(ended.await) });
        Self { task: tokio::spawn(serving(shutdown)), end }
    }

    async fn is_declared(&self, ledger: &RestateLedger, served: &[Served]) {
        let all = |declared: Vec<Declared>| {
            served.iter().all(|of| declared.iter().any(|declared| declared.of == *of))
        };
        within(async {
            while !ledger.declarations().await.is_ok_and(all) {
                assert!(!self.task.is_finished(), "the program ended");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
    }

    /// Asks it to end, and gives what becomes ready when it has.
    pub(crate) fn ends(self) -> JoinHandle<Result<(), LedgerError>> {
        drop(self.end);
        self.task
    }
}

/// With a short lease.
fn worker(
    url: &str,
    registry: Registry,
    set_up: impl FnOnce(WorkerBuilder) -> WorkerBuilder,
) -> (Arc<RestateLedger>, Worker, Vec<Served>) {
    let ledger = RestateLedger::open(url).unwrap();
    let served = registry.served().cloned().collect();
    let worker = Ratchet::with_ledger(ledger.clone()).worker(registry).lease(Duration::from_secs(2));
    (ledger, set_up(worker).build().unwrap(), served)
}

pub(crate) async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}", listener.local_addr().unwrap());
    (listener, uri)
}

/// `None` also while the engine does not answer: a service that it waits for may be dead.
pub(crate) async fn record_of(ratchet: &Ratchet, id: &RecordId) -> Option<Record> {
    match ratchet.find(id.clone()).await {
        Ok(Some(Stored::Record(record))) => Some(*record),
        _ => None,
    }
}

/// A test that hangs says so.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), work).await.expect("nothing happened for a minute")
}
