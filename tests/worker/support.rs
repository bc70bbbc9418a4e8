//! A worker in the background, and how to wait for what it does.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ratchet::{Context, Enqueued, Ratchet, Record, RecordId, RecordState, Registry, Stored, WorkerBuilder};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

pub(crate) struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// A worker that is woken by signals alone: a poll would hide a lost one.
pub(crate) fn start(ratchet: &Ratchet, registry: Registry) -> Running {
    start_with(ratchet.worker(registry).poll_interval(Duration::from_hours(1)))
}

pub(crate) fn start_with(builder: WorkerBuilder) -> Running {
    let worker = builder.build().unwrap();
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(async move {
        worker
            .run(async {
                let _ = stopped.await;
            })
            .await
            .unwrap();
    });
    Running { stop, task }
}

impl Running {
    pub(crate) async fn stop(self) {
        self.ask_to_stop().await.unwrap();
    }

    pub(crate) fn ask_to_stop(self) -> JoinHandle<()> {
        let _ = self.stop.send(());
        self.task
    }
}

pub(crate) fn id_of<T: std::fmt::Debug>(answer: Enqueued<T>) -> RecordId {
    match answer {
        Enqueued::New { id } => id,
        other => panic!("expected a new record, got {other:?}"),
    }
}

pub(crate) async fn record(ratchet: &Ratchet, id: &RecordId) -> Record {
    match ratchet.find(id.clone()).await.unwrap() {
        Some(Stored::Record(record)) => *record,
        other => panic!("expected a record, got {other:?}"),
    }
}

/// Waits until the record is as wanted, woken by the ledger.
pub(crate) async fn wait_until(ratchet: &Ratchet, id: &RecordId, wanted: impl Fn(&Record) -> bool) -> Record {
    let mut changes = ratchet.ledger().wakeups();
    within(async {
        loop {
            changes.mark_unchanged();
            let record = record(ratchet, id).await;
            if wanted(&record) {
                return record;
            }
            changes.changed().await.unwrap();
        }
    })
    .await
}

pub(crate) async fn settled(ratchet: &Ratchet, id: &RecordId) -> Record {
    wait_until(ratchet, id, |record| record.state.is_settled()).await
}

pub(crate) async fn in_state(ratchet: &Ratchet, id: &RecordId, state: RecordState) -> Record {
    wait_until(ratchet, id, |record| record.state == state).await
}

/// A test that hangs says so.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work).await.expect("nothing happened for 30 seconds")
}

/// What a handler tells the test, and what it waits for.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    pub(crate) entered: mpsc::UnboundedSender<Context>,
    pub(crate) go: Arc<Notify>,
}

impl Stage {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Context>) {
        let (entered, seen) = mpsc::unbounded_channel();
        (Self { entered, go: Arc::default() }, seen)
    }
}
