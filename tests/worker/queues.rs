//! Queues, limits and clocks: what several workers of one store share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use ratchet::decide::Command;
use ratchet::ledger::Order;
use ratchet::{
    Clock, Context, EnqueueError, Failure, Filter, Input, Ratchet, RecordId, RecordState, SharedClock, State,
    Timestamp, WorkerError,
};
use ratchet_core::SystemClock;
use serde::{Deserialize, Serialize};

use crate::faulty::FaultyLedger;
use crate::support::{Stage, id_of, record, settled, start, start_with, within};

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Job {
    id: u64,
}

#[ratchet::operation(name = "mail", version = "1", key = "mail:<id>", queue = "mail")]
async fn mail(job: Job) -> Result<u64, Failure> {
    Ok(job.id)
}

#[ratchet::operation(name = "anywhere", version = "1", key = "anywhere:<id>")]
async fn plain(job: Job) -> Result<u64, Failure> {
    Ok(job.id)
}

#[tokio::test]
async fn a_worker_serves_each_operation_from_the_queue_that_it_declares() {
    let ratchet = Ratchet::in_memory();
    let declared = id_of(mail::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let usual = id_of(plain::enqueue(&ratchet, Job { id: 2 }).await.unwrap());
    let elsewhere = id_of(mail::enqueue(&ratchet, Job { id: 3 }).queue("bulk").await.unwrap());
    let worker = start(&ratchet, ratchet::registry![mail, plain]);
    assert_eq!(settled(&ratchet, &declared).await.queue.as_str(), "mail");
    assert_eq!(settled(&ratchet, &usual).await.queue.as_str(), "default");
    worker.stop().await;
    let waiting = record(&ratchet, &elsewhere).await;
    assert_eq!((waiting.state, waiting.token.get()), (RecordState::Pending, 0));
    assert_eq!(waiting.queue.as_str(), "bulk");
}

#[tokio::test]
async fn a_worker_that_names_queues_serves_exactly_these() {
    let ratchet = Ratchet::in_memory();
    let declared = id_of(mail::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let usual = id_of(plain::enqueue(&ratchet, Job { id: 2 }).await.unwrap());
    let bulk = id_of(mail::enqueue(&ratchet, Job { id: 3 }).queue("bulk").await.unwrap());
    let builder = ratchet.worker(ratchet::registry![mail, plain]).queues(["default", "bulk"]);
    let worker = start_with(builder.poll_interval(Duration::from_hours(1)));
    settled(&ratchet, &usual).await;
    settled(&ratchet, &bulk).await;
    worker.stop().await;
    assert_eq!(record(&ratchet, &declared).await.state, RecordState::Pending);
}

#[tokio::test]
async fn the_queue_is_no_part_of_the_identity() {
    let ratchet = Ratchet::in_memory();
    let first = id_of(plain::enqueue(&ratchet, Job { id: 1 }).queue("bulk").await.unwrap());
    let (second, _) = plain::enqueue(&ratchet, Job { id: 1 }).await.unwrap().accepted().unwrap();
    assert_eq!(second, first);
    assert_eq!(record(&ratchet, &first).await.queue.as_str(), "bulk");
}

#[tokio::test]
async fn the_name_of_a_queue_is_checked() {
    const REFUSED: &str =
        "a queue's name is refused: it must have 1 to 64 characters of a-z, 0-9, `_`, `.` and `-`";
    let ratchet = Ratchet::in_memory();
    let error = plain::enqueue(&ratchet, Job { id: 1 }).queue("Bulk Mail").await.unwrap_err();
    assert!(matches!(error, EnqueueError::Queue(_)), "{error:?}");
    assert_eq!(error.to_string(), format!("nothing was enqueued: {REFUSED}"));
    let worker = || ratchet.worker(ratchet::registry![plain]);
    let error = worker().queues(["default", ""]).build().unwrap_err();
    assert!(matches!(error, WorkerError::Queue(_)), "{error:?}");
    assert_eq!(error.to_string(), REFUSED);
    let error = worker().queues(Vec::<String>::new()).build().unwrap_err();
    assert_eq!(error.to_string(), "the number of queues must be at least 1");
}

#[ratchet::operation(name = "alone", version = "1", key = "alone:<id>", concurrency = 1)]
async fn alone(
    State(stage): State<Stage>,
    State(running): State<Arc<AtomicUsize>>,
    ctx: Context,
    job: Job,
) -> Result<u64, Failure> {
    assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0, "it runs alone");
    let _ = stage.entered.send(ctx);
    stage.go.notified().await;
    running.fetch_sub(1, Ordering::SeqCst);
    Ok(job.id)
}

#[tokio::test]
async fn a_limit_holds_over_two_workers_and_an_end_wakes_the_other_at_once() {
    let ratchet = Ratchet::in_memory();
    let (stage, mut entered) = Stage::new();
    let running = Arc::new(AtomicUsize::new(0));
    let begin = || {
        let builder = ratchet.worker(ratchet::registry![alone]).state(stage.clone()).state(running.clone());
        start_with(builder.poll_interval(Duration::from_hours(1)))
    };
    let first = id_of(alone::enqueue(&ratchet, Job { id: 1 }).await.unwrap());
    let one = begin();
    within(entered.recv()).await.unwrap();
    let second = id_of(alone::enqueue(&ratchet, Job { id: 2 }).await.unwrap());
    let other = begin();
    // It takes nothing more, so only the other one can go on.
    let stopping = one.ask_to_stop();
    stage.go.notify_one();
    assert_eq!(settled(&ratchet, &first).await.state, RecordState::Succeeded);
    within(stopping).await.unwrap();
    within(entered.recv()).await.unwrap();
    stage.go.notify_one();
    let done = settled(&ratchet, &second).await;
    assert_eq!((done.state, done.token.get(), done.attempts), (RecordState::Succeeded, 1, 1));
    other.stop().await;
}

/// As one batch for each lease they would take three seconds.
#[tokio::test]
async fn a_worker_purges_until_nothing_is_left() {
    let ratchet = Ratchet::in_memory();
    let submission = |id| {
        let mut submission = plain::request(Job { id }).into_submission(ratchet.namespace()).unwrap();
        submission.policy.retention = Duration::ZERO;
        submission
    };
    let submissions: Vec<_> = (0..600).map(submission).collect();
    let cancel = |id: RecordId| Order {
        id,
        command: Command::Cancel { by: "ops".to_owned(), reason: "a test".to_owned(), seen: None },
    };
    let orders = submissions.iter().map(|submission| cancel(submission.id.clone())).collect();
    ratchet.ledger().submit(submissions).await.unwrap();
    ratchet.ledger().apply(orders).await.unwrap();
    let begun = Instant::now();
    let builder = ratchet.worker(ratchet::registry![plain]).lease(Duration::from_secs(1));
    let worker = start_with(builder);
    let empty = async {
        while !ratchet.list(Filter { limit: 1, ..Filter::default() }).await.unwrap().records.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within(empty).await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    worker.stop().await;
}

/// The clocks of the system, the wall clock set wrong.
#[derive(Debug)]
struct WrongClock {
    system: SystemClock,
    by_hours: i64,
}

impl WrongClock {
    fn shared(by_hours: i64) -> SharedClock {
        Arc::new(Self { system: SystemClock::new(), by_hours })
    }
}

impl Clock for WrongClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.system.now().as_millis() + self.by_hours * 3_600_000)
    }

    fn monotonic(&self) -> Duration {
        self.system.monotonic()
    }
}

#[tokio::test]
async fn a_worker_whose_clock_is_wrong_neither_oversleeps_nor_spins() {
    for by_hours in [-1, 1] {
        let (ratchet, ledger) = FaultyLedger::ratchet();
        let due = SystemTime::now() + Duration::from_millis(200);
        let later = id_of(plain::enqueue(&ratchet, Job { id: 1 }).not_before(due).await.unwrap());
        let builder = ratchet.worker(ratchet::registry![plain]).clock(WrongClock::shared(by_hours));
        let worker = start_with(builder.poll_interval(Duration::from_hours(1)));
        assert_eq!(settled(&ratchet, &later).await.state, RecordState::Succeeded);
        worker.stop().await;
        // At first, after each wake-up, and when it is due; one that spins makes hundreds.
        assert!((1..10).contains(&ledger.claims()), "by {by_hours} hours: {}", ledger.claims());
    }
}
