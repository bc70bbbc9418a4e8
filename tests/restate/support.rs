//! A worker that an engine of the test's own pushes to.

use std::time::Duration;

use ratchet::{Ratchet, Record, RecordId, Registry, Stored, WorkerBuilder};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::server::Server;

pub(crate) struct Engine {
    pub(crate) server: Server,
    pub(crate) ratchet: Ratchet,
    serving: JoinHandle<()>,
}

impl Engine {
    /// An engine, and a worker with short leases.
    pub(crate) async fn start(
        registry: Registry,
        set_up: impl FnOnce(WorkerBuilder) -> WorkerBuilder,
    ) -> Self {
        let server = tokio::task::spawn_blocking(Server::start).await.unwrap();
        let ledger = ratchet::restate::RestateLedger::open(&server.url()).unwrap();
        let ratchet = Ratchet::with_ledger(ledger.clone());
        let worker = set_up(ratchet.worker(registry).lease(Duration::from_secs(2))).build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            let forever = std::future::pending();
            ratchet::restate::serve(&ledger, Some(worker), listener, &uri, forever).await.unwrap();
        });
        let engine = Self { server, ratchet, serving };
        engine.wait_until_served().await;
        engine
    }

    async fn wait_until_served(&self) {
        within(async {
            while self.ratchet.ledger().mark().await.is_err()
                || self.ratchet.ledger().declarations().await.unwrap().is_empty()
            {
                assert!(!self.serving.is_finished(), "the worker ended");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
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

impl Drop for Engine {
    fn drop(&mut self) {
        self.serving.abort();
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
