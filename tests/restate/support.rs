//! A worker that an engine of the test's own pushes to.

use std::time::Duration;

use ratchet::ledger::Served;
use ratchet::{Input, LedgerError, Ratchet, Record, RecordId, Registry, Stored, WorkerBuilder};
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
    /// An engine, and a worker with short leases.
    pub(crate) async fn start(
        registry: Registry,
        set_up: impl FnOnce(WorkerBuilder) -> WorkerBuilder,
    ) -> Self {
        let server = tokio::task::spawn_blocking(Server::start).await.unwrap();
        let ratchet = Ratchet::open(&server.url()).await.unwrap();
        let serving = Serving::start(&server.url(), registry, set_up).await;
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

/// A program that serves the records and a worker, as far as the engine sees it. It ends when this is dropped.
pub(crate) struct Serving {
    task: JoinHandle<Result<(), LedgerError>>,
    end: oneshot::Sender<()>,
}

impl Serving {
    /// Ready when what it offers is declared, and so registered.
    pub(crate) async fn start(
        url: &str,
        registry: Registry,
        set_up: impl FnOnce(WorkerBuilder) -> WorkerBuilder,
    ) -> Self {
        let ledger = ratchet::restate::RestateLedger::open(url).unwrap();
        let ratchet = Ratchet::with_ledger(ledger.clone());
        let names: Vec<Served> = registry.served().cloned().collect();
        let worker = set_up(ratchet.worker(registry).lease(Duration::from_secs(2))).build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}", listener.local_addr().unwrap());
        let (end, ended) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let shutdown = async { drop(ended.await) };
            ratchet::restate::serve(&ledger, Some(worker), listener, &uri, shutdown).await
        });
        within(async {
            loop {
                let declared = ratchet.ledger().declarations().await.unwrap_or_default();
                if names.iter().all(|of| declared.iter().any(|declared| declared.of == *of)) {
                    break;
                }
                assert!(!task.is_finished(), "the worker ended");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
        Self { task, end }
    }

    /// Asks it to end, and gives what becomes ready when it has.
    pub(crate) fn ends(self) -> JoinHandle<Result<(), LedgerError>> {
        drop(self.end);
        self.task
    }
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
