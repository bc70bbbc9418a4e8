//! A ledger, a relay, and workers that can be killed.

use std::time::Duration;

use ratchet::mail::{Mailer, Relay};
use ratchet::{Enqueued, Ratchet, Record, RecordId, Registry, Stored, Worker, WorkerBuilder};
use tokio::sync::oneshot;

use crate::relay::{Scene, Scripted};

/// Nothing of it is left but what it wrote and sent.
pub(crate) struct Doomed {
    runtime: tokio::runtime::Runtime,
}

impl Doomed {
    pub(crate) fn kill(self) {
        self.runtime.shutdown_background();
    }
}

pub(crate) struct Office<R = Scripted> {
    pub(crate) ratchet: Ratchet,
    pub(crate) relay: R,
    port: u16,
}

impl Office {
    pub(crate) async fn with(scenes: &[Scene]) -> Self {
        let relay = Scripted::playing(scenes).await;
        Office::at(relay.port, relay)
    }
}

impl<R> Office<R> {
    pub(crate) fn at(port: u16, relay: R) -> Self {
        Self { ratchet: Ratchet::in_memory(), relay, port }
    }

    fn worker(&self, registry: Registry) -> Worker {
        self.builder(registry).build().unwrap()
    }

    pub(crate) fn builder(&self, registry: Registry) -> WorkerBuilder {
        let way = Relay::plain("127.0.0.1").port(self.port);
        let builder = self.ratchet.worker(registry).state(Mailer::new(way, "shop.example").unwrap());
        let builder = builder.state(self.ratchet.clone());
        builder.lease(Duration::from_secs(1)).poll_interval(Duration::from_millis(20))
    }

    /// A worker whose threads can be taken from under it.
    pub(crate) fn doomed(&self, registry: Registry) -> Doomed {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.spawn(self.worker(registry).run(std::future::pending()));
        Doomed { runtime }
    }

    /// Lets a worker run until the record is settled.
    pub(crate) async fn settled(&self, registry: Registry, id: &RecordId) -> Record {
        self.settled_by(self.worker(registry), id).await
    }

    pub(crate) async fn settled_by(&self, worker: Worker, id: &RecordId) -> Record {
        let (end, ended) = oneshot::channel::<()>();
        let working = tokio::spawn(worker.run(async {
            let _ = ended.await;
        }));
        let settled = async {
            loop {
                match self.ratchet.find(id.clone()).await.unwrap() {
                    Some(Stored::Record(record)) if record.state.is_settled() => return *record,
                    _ => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        };
        let record = tokio::time::timeout(Duration::from_secs(30), settled).await.unwrap();
        end.send(()).unwrap();
        working.await.unwrap().unwrap();
        record
    }
}

pub(crate) fn id_of<T: std::fmt::Debug>(enqueued: Enqueued<T>) -> RecordId {
    match enqueued {
        Enqueued::New { id } => id,
        other => panic!("expected a new record, got {other:?}"),
    }
}
