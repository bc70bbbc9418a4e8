//! Both forms of an operation: keys, requests, records, execution.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ratchet::{Context, Enqueued, Failure, Input, Ratchet, RecordState, State, WorkerError};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct CollectInvoice {
    #[key]
    invoice_id: String,
    customer: Customer,
    amount: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Customer {
    id: u64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Receipt {
    amount: u64,
}

#[ratchet::operation(name = "collect_invoice", version = "1", key = "invoice:<invoice_id>:collect:v1")]
async fn collect_invoice(ctx: Context, input: CollectInvoice) -> Result<Receipt, Failure> {
    assert_eq!(ctx.key(), format!("invoice:{}:collect:v1", input.invoice_id));
    Ok(Receipt { amount: input.amount })
}

fn input() -> CollectInvoice {
    CollectInvoice { invoice_id: "inv 1".to_owned(), customer: Customer { id: 7 }, amount: 5 }
}

#[tokio::test]
async fn an_operation_is_called_like_the_function_that_it_is() {
    assert_eq!(collect_invoice::key(&input()).unwrap().as_str(), "invoice:inv%201:collect:v1");
    assert_eq!(collect_invoice::NAME, "collect_invoice");
    let mut input = input();
    input.invoice_id = "inv_1".to_owned();
    let ctx = collect_invoice::test_context(&input);
    assert_eq!(collect_invoice(ctx, input).await.unwrap(), Receipt { amount: 5 });
}
