//! The engine goes away while an operation is executed. What holds on every store is in `tests/every_store`.

use std::collections::BTreeMap;

use ratchet::{Context, Contract, Failure, Input, RecordState, State};
use serde::{Deserialize, Serialize};

use crate::destination::{Destination, id_of};
use crate::support::{Engine, within};

const DESTINATION: Contract = Contract::header("Idempotency-Key");

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Job {
    id: String,
    cents: u64,
}

#[ratchet::operation(name = "collect", version = "1", key = "collect:<id>", destination = DESTINATION)]
async fn collect(ctx: Context, State(to): State<Destination>, job: Job) -> Result<String, Failure> {
    let call = to.call(ctx.key());
    if job.id == "held" {
        to.entered.notify_one();
        to.go.notified().await;
    }
    Ok(format!("{} cents by call {call}", job.cents))
}

fn job(id: &str) -> Job {
    Job { id: id.to_owned(), cents: 1200 }
}

async fn start() -> (Engine, Destination) {
    let destination = Destination::default();
    let state = destination.clone();
    let engine = Engine::start(ratchet::registry![collect], |builder| builder.state(state)).await;
    (engine, destination)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_killed_loses_nothing_and_stops_no_attempt() {
    let (mut engine, destination) = start().await;
    let held = id_of(collect::enqueue(&engine.ratchet, job("held")).await.unwrap());
    within(destination.entered.notified()).await;
    tokio::task::block_in_place(|| engine.server.kill_and_restart());
    destination.go.notify_one();
    let record = engine.settled(&held).await;
    assert_eq!((record.state, record.token.get()), (RecordState::Succeeded, 1));
    let after = id_of(collect::enqueue(&engine.ratchet, job("after")).await.unwrap());
    assert_eq!(engine.settled(&after).await.state, RecordState::Succeeded);
    let calls = BTreeMap::from([("collect:after".to_owned(), 1), ("collect:held".to_owned(), 1)]);
    assert_eq!(destination.calls(), calls);
}
