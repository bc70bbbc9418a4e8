//! A store of a test's own, and a worker that runs on it.

use std::time::Duration;

use ratchet::restate::RestateLedger;
use ratchet::{Ratchet, Record, RecordId, Registry, Stored, WorkerBuilder};
use ratchet_test_postgres::Database;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::server::Server;

pub(crate) enum Store {
    Sqlite(TempDir),
    Postgres(Database<'static>),
    Restate(Server),
}

impl Store {
    #[allow(clippy::unused_async, reason = "called as the others are")]
    pub(crate) async fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    pub(crate) async fn postgres() -> Self {
        Self::Postgres(ratchet_test_postgres::shared().database().await)
    }

    pub(crate) async fn restate() -> Self {
        Self::Restate(tokio::task::spawn_blocking(Server::start).await.unwrap())
    }

    fn url(&self) -> String {
        match self {
            Self::Sqlite(folder) => format!("sqlite:{}", folder.path().join("ratchet.db").display()),
            Self::Postgres(database) => database.url(),
            Self::Restate(server) => server.url(),
        }
    }
}

/// A worker until this is dropped.
pub(crate) struct Running {
    pub(crate) ratchet: Ratchet,
    worker: JoinHandle<()>,
    _store: Store,
}

impl Running {
    pub(crate) async fn start(
        store: Store,
        registry: Registry,
        set_up: impl FnOnce(WorkerBuilder) -> WorkerBuilder,
    ) -> Self {
        let forever = std::future::pending();
        let ratchet = Ratchet::open(&store.url()).await.unwrap();
        let worker = set_up(ratchet.worker(registry)).build().unwrap();
        let worker = if let Store::Restate(_) = store {
            let ledger = RestateLedger::open(&store.url()).unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let uri = format!("http://{}", listener.local_addr().unwrap());
            tokio::spawn(async move {
                ratchet::restate::serve(&ledger, Some(worker), listener, &uri, forever).await.unwrap();
            })
        } else {
            tokio::spawn(async move { worker.run(forever).await.unwrap() })
        };
        let running = Self { ratchet, worker, _store: store };
        within(running.declared()).await;
        running
    }

    /// What it serves is on record, so the store answers.
    async fn declared(&self) {
        while !self.ratchet.ledger().declarations().await.is_ok_and(|declared| !declared.is_empty()) {
            assert!(!self.worker.is_finished(), "the worker ended");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Asks until the record is as wanted: changes are made where the test does not see them.
    pub(crate) async fn until(&self, id: &RecordId, wanted: impl Fn(&Record) -> bool) -> Record {
        within(async {
            loop {
                match self.ratchet.find(id.clone()).await {
                    Ok(Some(Stored::Record(record))) if wanted(&record) => return *record,
                    _ => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            }
        })
        .await
    }

    pub(crate) async fn settled(&self, id: &RecordId) -> Record {
        self.until(id, |record| record.state.is_settled()).await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.worker.abort();
    }
}

/// A test that hangs says so.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), work).await.expect("nothing happened for a minute")
}
