//! What the tests share: an operation, a worker for it, and a program in another language.

use std::process::Output;
use std::time::Duration;

use ratchet::{
    Contract, Failure, Generation, Input, Namespace, OperationName, Ratchet, RecordId, RecordState,
};
use serde::{Deserialize, Serialize};
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
pub(crate) struct Order {
    pub(crate) id: u64,
    pub(crate) lines: Vec<Line>,
    /// When the producer wrote it.
    #[volatile]
    pub(crate) written_at: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
pub(crate) struct Line {
    pub(crate) item: String,
    pub(crate) price: f64,
    #[volatile]
    pub(crate) stock: u32,
}

#[ratchet::operation(name = "ship", version = "1", key = "order:<id>:ship", priority = 2,
    destination = Contract::DATABASE)]
pub(crate) async fn ship(input: Order) -> Result<u64, Failure> {
    Ok(input.id)
}

/// What programs in all languages write: equal, but for what is volatile.
pub(crate) fn order(id: u64) -> Order {
    let line = Line { item: "Schlüssel \"A\"\\0".to_owned(), price: 19.90, stock: 7 };
    Order { id, lines: vec![line], written_at: 1 }
}

/// The same order as a program in another language writes it.
pub(crate) fn written_elsewhere(id: u64, item_price: &str) -> String {
    let item = "Schl\\u00fcssel \\\"A\\\"\\\\0";
    format!(
        r#"{{"written_at": 2, "lines": [{{"stock": 3, "price": {item_price}, "item": "{item}"}}], "id": {id}}}"#
    )
}

/// A worker that looks by itself once an hour, with connections and signals of its own, as in another process.
pub(crate) struct Working {
    end: oneshot::Sender<()>,
    worker: JoinHandle<()>,
}

impl Working {
    pub(crate) async fn start(url: &str) -> Self {
        let ratchet = Ratchet::open(url).await.unwrap();
        let builder = ratchet.worker(ratchet::registry![ship]).poll_interval(Duration::from_hours(1));
        let worker = builder.build().unwrap();
        let (end, ended) = oneshot::channel::<()>();
        let worker = tokio::spawn(async move {
            let shutdown = async {
                let _ = ended.await;
            };
            worker.run(shutdown).await.unwrap();
        });
        Self { end, worker }
    }

    pub(crate) async fn end(self) {
        self.end.send(()).unwrap();
        self.worker.await.unwrap();
    }
}

/// Until the order is shipped. It only looks: a submission, even of what is on record, may wake the worker.
pub(crate) async fn wait_for_result(ratchet: &Ratchet, id: u64) {
    let id = RecordId {
        namespace: Namespace::DEFAULT,
        operation: OperationName::from_static("ship"),
        key: ship::key(&order(id)).unwrap(),
        generation: Generation::FIRST,
    };
    let shipped = async {
        while ratchet.state(id.clone()).await.unwrap() != Some(RecordState::Succeeded) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), shipped).await.expect("somebody ships the order");
}

/// Runs a program to its end, for at most half a minute.
pub(crate) async fn run(command: &mut Command) -> Output {
    let ends = tokio::time::timeout(Duration::from_secs(30), command.kill_on_drop(true).output());
    ends.await.expect("an end").unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// What it printed, line by line, if it succeeded.
pub(crate) fn printed(output: &Output) -> Vec<String> {
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{errors}");
    out.lines().map(str::to_owned).collect()
}
