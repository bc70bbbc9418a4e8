//! Both sides are ours: a worker that sends, and a server that keeps its promise.

use std::time::Duration;

use axum::extract::Extension;
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use ratchet::http::inbound::NotExecuted;
use ratchet::{Context, Contract, Enqueued, Failure, Ratchet, RecordState, RetryPolicy, State};

use super::service::{Service, plain, within};

const KEYS: Contract = Contract::header("Idempotency-Key").remembers_for(Duration::from_hours(24));
const AT_ONCE: RetryPolicy = RetryPolicy::doubling(4, Duration::ZERO, Duration::ZERO);

/// Sends twice in one attempt, as if the first answer had been lost.
#[ratchet::operation(name = "pay", version = "1", key = "invoice:<invoice>:line:<line>:pay", destination = KEYS,
    retry = AT_ONCE)]
async fn pay(
    ctx: Context,
    State(http): State<ratchet::http::Client>,
    State(url): State<String>,
    invoice: u64,
    line: u64,
) -> Result<[String; 2], Failure> {
    let body = format!("{invoice}:{line}");
    let send = || http.post(&url).body(body.clone()).idempotent(&ctx).deliver();
    let (first, second) = (send().await?, send().await?);
    let text = |answer: ratchet::http::Answer| String::from_utf8_lossy(answer.body()).into_owned();
    Ok([text(first), text(second)])
}

#[tokio::test]
async fn a_worker_and_a_server_agree_on_what_happened() {
    let service = Service::new(
        |layer| layer,
        async |call| match call.number {
            1 => (Extension(NotExecuted), StatusCode::SERVICE_UNAVAILABLE).into_response(),
            number => plain(201, format!("payment {number}")),
        },
    )
    .await;
    let ratchet = Ratchet::in_memory();
    let Enqueued::New { id } = pay::enqueue(&ratchet, 2048, 1).await.unwrap() else { panic!("it is new") };
    let worker = ratchet
        .worker(ratchet::registry![pay])
        .state(ratchet::http::Client::new().unwrap())
        .state(format!("{}/payments", service.url))
        .build()
        .unwrap();
    let mut changes = ratchet.ledger().wakeups();
    let done = async {
        while !ratchet.state(id.clone()).await.unwrap().unwrap().is_settled() {
            changes.changed().await.unwrap();
        }
    };
    within(worker.run(done)).await.unwrap();
    assert_eq!(ratchet.state(id).await.unwrap(), Some(RecordState::Succeeded));
    let Enqueued::Existing { result: Some(result), .. } = pay::enqueue(&ratchet, 2048, 1).await.unwrap()
    else {
        panic!("it has a result")
    };
    assert_eq!(result, ["payment 2", "payment 2"]);
    assert_eq!(service.executions(), 2);
}
