//! Workers on a `PostgreSQL` ledger whose clocks are wrong, or who are cut off while they work.
#![cfg(feature = "postgres")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratchet::postgres::PostgresOptions;
use ratchet::{
    Context, Contract, Enqueued, Failure, Fingerprint, Input, Ratchet, Record, RecordId, RecordState,
    RetryPolicy, State, Stored,
};
use ratchet_core::time::{Clock, SharedClock, SystemClock};
use ratchet_core::{LedgerError, OutcomeKind, Timestamp};
use ratchet_test_postgres::{Fault, shared};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

const SOON: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Invoice {
    id: u64,
}

/// Deduplicates by key, and keeps what it answered first.
#[derive(Debug, Clone, Default)]
struct Destination {
    payments: Arc<Mutex<HashMap<String, &'static str>>>,
}

impl Destination {
    fn pay(&self, key: &str, worker: &'static str) -> &'static str {
        self.payments.lock().unwrap().entry(key.to_owned()).or_insert(worker)
    }
}

/// Who executes, and what holds it up on the way.
#[derive(Debug, Clone)]
struct Hands {
    name: &'static str,
    destination: Destination,
    entered: Arc<Notify>,
    /// `None` for somebody who is not held up.
    released: Option<Arc<Notify>>,
}

impl Hands {
    fn of(name: &'static str, destination: &Destination) -> Self {
        Self { name, destination: destination.clone(), entered: Arc::default(), released: None }
    }
}

#[ratchet::operation(name = "collect", version = "1", key = "invoice:<id>:collect",
    destination = Contract::header("Idempotency-Key"),
    retry = RetryPolicy::doubling(5, Duration::from_millis(10), Duration::from_millis(10)))]
async fn collect(input: Invoice, ctx: Context, State(hands): State<Hands>) -> Result<String, Failure> {
    let pin = ctx.pin("payments", Fingerprint::of(&input.id.to_le_bytes())).await?;
    hands.entered.notify_one();
    if let Some(released) = &hands.released {
        released.notified().await;
    }
    Ok(hands.destination.pay(&pin.wire_key, hands.name).to_owned())
}

struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), LedgerError>>,
}

impl Running {
    fn start(ratchet: &Ratchet, hands: &Hands, clock: Option<SharedClock>) -> Self {
        let mut builder = ratchet.worker(ratchet::registry![collect]).state(hands.clone());
        if let Some(clock) = clock {
            builder = builder.clock(clock);
        }
        let builder = builder.lease(Duration::from_secs(1)).poll_interval(Duration::from_millis(20));
        let worker = builder.concurrency(4).build().unwrap();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(worker.run(async {
            let _ = stopped.await;
        }));
        Self { stop, task }
    }

    async fn stop(self) {
        let _ = self.stop.send(());
        self.task.await.unwrap().unwrap();
    }
}

/// An operating system that tells the wrong hour.
#[derive(Debug)]
struct Shifted {
    clock: SystemClock,
    milliseconds: i64,
}

impl Clock for Shifted {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.now().as_millis() + self.milliseconds)
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }
}

async fn enqueue(ratchet: &Ratchet, id: u64) -> RecordId {
    match collect::enqueue(ratchet, Invoice { id }).await.unwrap() {
        Enqueued::New { id } => id,
        other => panic!("{other:?}"),
    }
}

async fn record(ratchet: &Ratchet, id: &RecordId) -> Record {
    match ratchet.find(id.clone()).await.unwrap() {
        Some(Stored::Record(record)) => *record,
        other => panic!("{other:?}"),
    }
}

async fn succeeded(ratchet: &Ratchet, id: &RecordId) -> Record {
    let succeeds = async {
        loop {
            let record = record(ratchet, id).await;
            if record.state == RecordState::Succeeded {
                return record;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, succeeds).await.expect("a success")
}

#[tokio::test]
async fn a_worker_whose_clock_is_an_hour_ahead_works_and_takes_nothing_from_others() {
    work_beside_a_right_one(1).await;
}

#[tokio::test]
async fn a_worker_whose_clock_is_an_hour_behind_works_and_takes_nothing_from_others() {
    work_beside_a_right_one(-1).await;
}

/// A worker whose wall clock is wrong executes as any other, at the first try, and takes no lease that stands.
async fn work_beside_a_right_one(by_hours: i64) {
    const HOUR: i64 = 3_600_000;
    let database = shared().database().await;
    let (ours, theirs) =
        (Ratchet::open(&database.url()).await.unwrap(), Ratchet::open(&database.url()).await.unwrap());
    let destination = Destination::default();
    let release = Arc::new(Notify::new());
    let held_up = Hands { released: Some(Arc::clone(&release)), ..Hands::of("true", &destination) };
    let right = Running::start(&ours, &held_up, None);
    let held = enqueue(&ours, 0).await;
    held_up.entered.notified().await;
    // Full from here on, so that whatever comes is for the other one.
    for id in 1..4 {
        enqueue(&ours, id).await;
        held_up.entered.notified().await;
    }
    let clock: SharedClock = Arc::new(Shifted { clock: SystemClock::new(), milliseconds: by_hours * HOUR });
    let wrong = Running::start(&theirs, &Hands::of("wrong", &destination), Some(clock));
    for id in 10..30 {
        let id = enqueue(&theirs, id).await;
        let record = succeeded(&theirs, &id).await;
        assert_eq!((record.attempts, record.token.get()), (1, 1), "{record:?}");
    }
    let untouched = record(&theirs, &held).await;
    assert_eq!((untouched.state, untouched.token.get()), (RecordState::Running, 1));
    release.notify_waiters();
    let record = succeeded(&theirs, &held).await;
    assert_eq!((record.token.get(), record.result.unwrap().as_str()), (1, "\"true\""));
    right.stop().await;
    wrong.stop().await;
    assert_eq!(destination.payments.lock().unwrap().len(), 24);
}

/// A worker that hears nothing of the ledger while another one takes its record over: its end comes late and is only noted.
#[tokio::test]
async fn an_end_that_comes_after_a_takeover_is_noted_and_changes_nothing() {
    let (database, proxy) = (shared().database().await, shared().proxy().await);
    let options = PostgresOptions::new().answer_timeout(Duration::from_millis(300));
    let far = options.busy_timeout(Duration::from_millis(100)).open(&proxy.url(&database)).await.unwrap();
    let (far, near) = (Ratchet::with_ledger(far), Ratchet::open(&database.url()).await.unwrap());
    let destination = Destination::default();
    let release = Arc::new(Notify::new());
    let cut_off = Hands { released: Some(Arc::clone(&release)), ..Hands::of("cut off", &destination) };
    let first = Running::start(&far, &cut_off, None);
    let id = enqueue(&near, 1).await;
    cut_off.entered.notified().await;
    proxy.fail_always(Fault::FreezeBeforeRequest);

    let second = Running::start(&near, &Hands::of("second", &destination), None);
    let record_then = succeeded(&near, &id).await;
    assert_eq!(record_then.token.get(), 2);
    release.notify_waiters();
    proxy.heal();
    let noted = async {
        loop {
            let attempts = near.attempts(id.clone()).await.unwrap();
            if attempts[0].end.as_ref().is_some_and(|end| end.late) {
                return attempts;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    let attempts = timeout(SOON, noted).await.expect("the late end");
    let outcomes: Vec<OutcomeKind> =
        attempts.into_iter().map(|attempt| attempt.end.unwrap().outcome).collect();
    assert_eq!(outcomes, [OutcomeKind::Done, OutcomeKind::Done]);
    assert_eq!(record(&near, &id).await, record_then);
    assert_eq!(record_then.result.unwrap().as_str(), "\"second\"");
    assert_eq!(destination.payments.lock().unwrap().len(), 1);
    first.stop().await;
    second.stop().await;
}
