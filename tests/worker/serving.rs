//! Which records a worker touches, and what it checks before it starts.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use ratchet::{
    Context, Enqueued, Failure, Input, LedgerError, Namespace, Ratchet, RecordState, State, WorkerError,
};
use serde::{Deserialize, Serialize};

use crate::support::{id_of, record, settled, start};

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Job {
    id: u64,
}

mod v1 {
    use super::*;

    #[ratchet::operation(name = "versioned", version = "1", key = "versioned:<id>")]
    pub(super) async fn versioned(_ctx: Context, job: Job) -> Result<u64, Failure> {
        Ok(job.id)
    }
}

mod v2 {
    use super::*;

    #[ratchet::operation(name = "versioned", version = "2", key = "versioned:<id>")]
    pub(super) async fn versioned(job: Job, _ctx: Context) -> Result<u64, Failure> {
        Ok(job.id * 2)
    }
}

mod changed {
    use super::*;

    #[ratchet::operation(name = "versioned", version = "3", key = "another:<id>")]
    pub(super) async fn versioned(job: Job) -> Result<u64, Failure> {
        Ok(job.id)
    }

    #[ratchet::operation(
        name = "versioned",
        version = "4",
        key = "another:<id>",
        new_identity = "the ids of the old system are gone"
    )]
    pub(super) async fn renamed(job: Job) -> Result<u64, Failure> {
        Ok(job.id)
    }
}

#[ratchet::operation(name = "parameters", version = "1", key = "order:<order_id>:line:<line>")]
async fn parameters(
    order_id: String,
    line: u32,
    State(factor): State<u32>,
    _ctx: Context,
    note: Option<String>,
) -> Result<(u32, Option<String>), Failure> {
    let _ = order_id;
    Ok((line * factor, note))
}

#[tokio::test]
async fn a_version_that_nobody_serves_stays_untouched() {
    let ratchet = Ratchet::in_memory();
    let other = id_of(v2::versioned::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let worker = start(&ratchet, ratchet::registry![v1::versioned]);
    let served = id_of(v1::versioned::enqueue(&ratchet, Job { id: 2 }).await.unwrap());
    assert_eq!(settled(&ratchet, &served).await.state, RecordState::Succeeded);
    worker.stop().await;
    let untouched = record(&ratchet, &other).await;
    assert_eq!((untouched.state, untouched.token.get()), (RecordState::Pending, 0));
}

#[tokio::test]
async fn a_new_version_does_not_act_again() {
    let ratchet = Ratchet::in_memory();
    let worker = start(&ratchet, ratchet::registry![v1::versioned, v2::versioned]);
    let id = id_of(v1::versioned::enqueue(&ratchet, Job { id: 2 }).await.unwrap());
    settled(&ratchet, &id).await;
    let again = v2::versioned::enqueue(&ratchet, Job { id: 2 }).await.unwrap();
    let Enqueued::Existing { result: Some(2), version, .. } = again else { panic!("{again:?}") };
    assert_eq!(version.as_str(), "1");
    worker.stop().await;
}

#[tokio::test]
async fn namespaces_are_worlds_of_their_own() {
    let ratchet = Ratchet::in_memory();
    let staging = ratchet.in_namespace(Namespace::from_static("staging"));
    let here = id_of(v1::versioned::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let there = id_of(v1::versioned::enqueue(&staging, Job { id: 1 }).await.unwrap());
    let worker = start(&staging, ratchet::registry![v1::versioned]);
    assert_eq!(settled(&ratchet, &there).await.state, RecordState::Succeeded);
    worker.stop().await;
    assert_eq!(record(&ratchet, &here).await.state, RecordState::Pending);
}

#[tokio::test]
async fn several_parameters_reach_the_handler_by_name() {
    let ratchet = Ratchet::in_memory();
    let worker = ratchet.worker(ratchet::registry![parameters]).state(10_u32);
    let worker = crate::support::start_with(worker);
    let answer =
        parameters::enqueue(&ratchet, "o/1".to_owned(), 4, Some("fragile".to_owned())).await.unwrap();
    let id = id_of(answer);
    assert_eq!(id.key.as_str(), "order:o%2F1:line:4");
    let record = settled(&ratchet, &id).await;
    assert_eq!(record.input.as_str(), r#"{"line":4,"note":"fragile","order_id":"o/1"}"#);
    assert_eq!(record.result.unwrap().as_str(), r#"[40,"fragile"]"#);
    worker.stop().await;
}

#[tokio::test]
async fn missing_state_is_found_when_the_worker_is_built() {
    let ratchet = Ratchet::in_memory();
    let error = ratchet.worker(ratchet::registry![parameters]).state("text").build().unwrap_err();
    assert_eq!(error, WorkerError::MissingState { operation: "parameters".to_owned(), state: "u32" });
    assert_eq!(error.to_string(), "`parameters` needs a state of type `u32`: add it with `.state(…)`");
}

#[tokio::test]
async fn settings_that_make_no_sense_are_refused() {
    let ratchet = Ratchet::in_memory();
    let builder = || ratchet.worker(ratchet::registry![v1::versioned]);
    assert_eq!(ratchet.worker(ratchet::registry![]).build().unwrap_err(), WorkerError::NothingToServe);
    assert!(builder().concurrency(0).build().is_err());
    assert!(builder().lease(Duration::from_hours(1)).build().is_err());
    assert!(builder().poll_interval(Duration::ZERO).build().is_err());
    assert!(builder().build().is_ok());
}

#[tokio::test]
async fn a_template_that_changed_stops_the_worker_at_the_start() {
    let ratchet = Ratchet::in_memory();
    start(&ratchet, ratchet::registry![v1::versioned]).stop().await;
    let worker = ratchet.worker(ratchet::registry![changed::versioned]).build().unwrap();
    let error = worker.run(std::future::ready(())).await.unwrap_err();
    assert!(matches!(error, LedgerError::TemplateChanged { .. }), "{error}");
    start(&ratchet, ratchet::registry![changed::renamed]).stop().await;
}

#[tokio::test]
async fn a_handler_can_be_called_in_a_unit_test() {
    let job = Job { id: 3 };
    assert_eq!(v1::versioned::key(&job).unwrap().as_str(), "versioned:3");
    assert_eq!(v1::versioned(v1::versioned::test_context(&job), job).await.unwrap(), 3);
    assert_eq!(
        (v1::versioned::NAME, v1::versioned::VERSION, v1::versioned::KEY_TEMPLATE),
        ("versioned", "1", "versioned:<id>")
    );
}

#[tokio::test]
async fn a_key_that_is_refused_enqueues_nothing() {
    let ratchet = Ratchet::in_memory();
    let error = parameters::enqueue(&ratchet, String::new(), 1, None).await.unwrap_err();
    assert!(error.to_string().starts_with("nothing was enqueued: "), "{error}");
    let long = parameters::enqueue(&ratchet, "x".repeat(300), 1, None).await.unwrap_err();
    assert!(long.to_string().contains("255"), "{long}");
    let page = ratchet.list(ratchet::Filter { limit: 10, ..Default::default() }).await.unwrap();
    assert!(page.records.is_empty());
}

#[ratchet::operation(name = "ordered", version = "1", key = "ordered:<id>")]
async fn ordered(State(order): State<Arc<Mutex<Vec<u64>>>>, job: Job) -> Result<(), Failure> {
    order.lock().unwrap().push(job.id);
    Ok(())
}

#[tokio::test]
async fn urgent_records_come_first_and_later_ones_wait() {
    let ratchet = Ratchet::in_memory();
    let tomorrow = SystemTime::now() + Duration::from_hours(24);
    let later = id_of(ordered::enqueue(&ratchet, Job { id: 0 }).not_before(tomorrow).await.unwrap());
    let usual = id_of(ordered::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let idle = id_of(ordered::enqueue(&ratchet, Job { id: 2 }).priority(-1).await.unwrap());
    let urgent = id_of(ordered::enqueue(&ratchet, Job { id: 3 }).priority(9).await.unwrap());
    let order = Arc::new(Mutex::new(Vec::<u64>::new()));
    let builder = ratchet.worker(ratchet::registry![ordered]).state(order.clone()).concurrency(1);
    let worker = crate::support::start_with(builder);
    for id in [usual, idle, urgent] {
        settled(&ratchet, &id).await;
    }
    worker.stop().await;
    assert_eq!(*order.lock().unwrap(), [3, 1, 2]);
    let waiting = record(&ratchet, &later).await;
    assert_eq!((waiting.state, waiting.ready_at), (RecordState::Pending, tomorrow.into()));
}

#[tokio::test]
async fn a_new_generation_acts_again_under_the_same_key_after_a_definite_end() {
    let ratchet = Ratchet::in_memory();
    let worker = start(&ratchet, ratchet::registry![v1::versioned]);
    let first = id_of(v1::versioned::enqueue(&ratchet, Job { id: 9 }).await.unwrap());
    settled(&ratchet, &first).await;
    let again =
        || v1::versioned::request(Job { id: 9 }).new_generation(first.generation, "ops", "ordered twice");
    let second = id_of(ratchet.submit(again()).await.unwrap());
    assert_eq!((second.key.clone(), second.generation.get()), (first.key.clone(), 2));
    assert_eq!(settled(&ratchet, &second).await.state, RecordState::Succeeded);
    let repeated = ratchet.submit(again()).await.unwrap();
    assert!(matches!(repeated, Enqueued::Existing { .. }), "{repeated:?}");
    let audit = ratchet.audit(second).await.unwrap();
    assert_eq!((audit[0].by.as_str(), audit[0].reason.as_str()), ("ops", "ordered twice"));
    worker.stop().await;
}
