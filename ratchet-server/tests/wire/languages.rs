//! Programs of two languages on one store: the same operations, keys and inputs.
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

use ratchet::{Context, Enqueued, Failure, Input, Ratchet, RecordState};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{Server, Store, printed, python};

#[derive(Clone, Serialize, Deserialize, Input)]
struct Bill {
    invoice_id: String,
    amount: f64,
    #[volatile]
    requested_at: u64,
}

#[ratchet::operation(name = "collect_invoice", version = "1", key = "invoice:<invoice_id>:collect:v1")]
async fn collect_invoice(ctx: Context, input: Bill) -> Result<String, Failure> {
    Ok(format!("{} for {}", ctx.key(), input.amount))
}

fn invoice(requested_at: u64) -> Bill {
    Bill { invoice_id: "inv_2048".to_owned(), amount: 12.0, requested_at }
}

const PRODUCE: &str = r#"
from support import *
producer = Ratchet(URL, sys.argv[2])
producer.start_run("checkout")
def enqueue(amount, at):
    invoice = {"requested_at": at, "amount": amount, "invoice_id": "inv_2048"}
    return producer.enqueue("collect_invoice", "1", invoice, idempotency_key="invoice:inv_2048:collect:v1")
step = enqueue(12, 1)
same = enqueue(12.0, 2)
finish([step["stepId"], step["created"], same["created"], refused(lambda: enqueue(13, 1))])
"#;

const EXECUTE: &str = r#"
from support import *
seen = []
def collect(payload, context):
    seen.append([payload, context.idempotency_key, context.run_id, context.attempt])
    worker.worker.stop()
    return "collected by Python"
worker = Ratchet(URL, sys.argv[2])
worker.register_tool("collect_invoice", "1", collect)
worker.worker.start(concurrency=1, poll_interval_seconds=1)
finish(seen)
"#;

async fn what_python_enqueues_rust_executes(store: Store) {
    let server = Server::start(store);
    let producer = server.producer();
    let ratchet = Ratchet::open(&server.store.url()).await.unwrap();
    ratchet.declare(&ratchet::registry![collect_invoice]).await.unwrap();
    let seen = printed(python(&server, PRODUCE, &[&producer])).await;
    let step = seen[0].as_str().unwrap();
    assert_eq!(seen, json!([step, true, false, ["RatchetError", 422, "IDEMPOTENCY_CONFLICT"]]));
    // The key that Rust renders, and the input that it writes, are the same.
    let answer = collect_invoice::enqueue(&ratchet, invoice(3)).await.unwrap();
    assert!(matches!(answer, Enqueued::Existing { state: RecordState::Pending, .. }), "{answer:?}");

    let worker = ratchet.worker(ratchet::registry![collect_invoice]).build().unwrap();
    let done = async {
        while server.get(&producer, &format!("/steps/{step}")).await.1["state"] != "SUCCEEDED" {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    worker.run(done).await.unwrap();
    let (_, found) = server.get(&producer, &format!("/steps/{step}")).await;
    assert_eq!(found["output"], "invoice:inv_2048:collect:v1 for 12");
}

async fn what_rust_enqueues_python_executes(store: Store) {
    let server = Server::start(store);
    let ratchet = Ratchet::open(&server.store.url()).await.unwrap();
    ratchet.declare(&ratchet::registry![collect_invoice]).await.unwrap();
    let answer = collect_invoice::enqueue(&ratchet, invoice(1)).await.unwrap();
    assert!(matches!(answer, Enqueued::New { .. }), "{answer:?}");
    let seen = printed(python(&server, EXECUTE, &[&server.worker()])).await;
    let input = json!({"invoice_id": "inv_2048", "amount": 12, "requested_at": 1});
    assert_eq!(seen, json!([[input, "invoice:inv_2048:collect:v1", "", 1]]));
    let answer = collect_invoice::enqueue(&ratchet, invoice(2)).await.unwrap();
    let Enqueued::Existing { state, result, .. } = answer else { panic!("{answer:?}") };
    assert_eq!((state, result.as_deref()), (RecordState::Succeeded, Some("collected by Python")));
}

#[tokio::test(flavor = "multi_thread")]
async fn python_and_rust_share_a_file() {
    what_python_enqueues_rust_executes(Store::file()).await;
    what_rust_enqueues_python_executes(Store::file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn python_and_rust_share_a_database() {
    what_python_enqueues_rust_executes(Store::database().await).await;
    what_rust_enqueues_python_executes(Store::database().await).await;
}
