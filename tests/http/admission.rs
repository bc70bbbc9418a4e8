//! Limits and circuit breakers: two workers, one ledger, and a server that sees what really arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::State as Shared;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use ratchet::admission::{Breaker, Gate};
use ratchet::http::Client;
use ratchet::{
    CauseKind, Context, Contract, Destination, Failure, Input, Ratchet, Record, RecordId, RecordState, State,
    Stored, Timestamp,
};
use ratchet_core::MemoryLedger;
use ratchet_core::random::SystemRandom;
use ratchet_core::time::ManualClock;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinHandle;

const STARTED_AT: Timestamp = Timestamp::from_millis(1_768_464_000_000);
const HOUR: Duration = Duration::from_hours(1);

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Order {
    id: u64,
}

#[derive(Debug, Clone)]
struct Till {
    http: Client,
    url: String,
}

#[ratchet::operation(name = "pay", version = "1", key = "order:<id>:pay", destination = Contract::header("Idempotency-Key"))]
async fn pay(ctx: Context, till: State<Till>, input: Order) -> Result<(), Failure> {
    till.http.post(&till.url).json(&input.id).idempotent(&ctx).deliver().await?;
    Ok(())
}

#[ratchet::operation(name = "pay_quickly", version = "1", key = "order:<id>:pay_quickly", timeout = "100ms",
    destination = Contract::header("Idempotency-Key"))]
async fn pay_quickly(ctx: Context, till: State<Till>, input: Order) -> Result<(), Failure> {
    till.http.post(&till.url).json(&input.id).idempotent(&ctx).deliver().await?;
    Ok(())
}

#[cfg(feature = "middleware")]
#[ratchet::operation(name = "pay_otherwise", version = "1", key = "order:<id>:pay_otherwise",
    destination = Contract::header("Idempotency-Key"))]
async fn pay_otherwise(ctx: Context, till: State<Till>, input: Order) -> Result<(), Failure> {
    use ratchet::http::middleware::{Addressed, Identified, failure_of};

    let http = ratchet::http::reqwest::Client::new();
    let http = reqwest_middleware::ClientBuilder::new(http).with(Identified).build();
    let destination = Some(Destination::new("payments").breaker(1, HOUR));
    let request = http.post(&till.url).body(input.id.to_string()).with_extension(ctx);
    let request = request.with_extension(Addressed { destination, ..Addressed::default() });
    request.send().await.map_err(failure_of)?;
    Ok(())
}

/// A server that lets requests go one by one, and counts them.
struct Server {
    url: String,
    inner: Arc<Inner>,
    task: JoinHandle<()>,
}

struct Inner {
    /// What it answers.
    status: AtomicU16,
    inside: AtomicUsize,
    most_inside: AtomicUsize,
    received: watch::Sender<usize>,
    doors: Semaphore,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Answers with this status what it is allowed to answer.
    async fn answering(status: u16) -> Self {
        let inner = Arc::new(Inner {
            status: AtomicU16::new(status),
            inside: AtomicUsize::new(0),
            most_inside: AtomicUsize::new(0),
            received: watch::Sender::new(0),
            doors: Semaphore::new(0),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/charges", listener.local_addr().unwrap());
        let router =
            axum::Router::new().route("/charges", axum::routing::post(charge)).with_state(inner.clone());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, inner, task }
    }

    fn received(&self) -> usize {
        *self.inner.received.borrow()
    }

    async fn wait_for(&self, requests: usize) {
        let mut received = self.inner.received.subscribe();
        within(received.wait_for(|count| *count >= requests)).await.unwrap();
    }
}

async fn charge(Shared(inner): Shared<Arc<Inner>>) -> (StatusCode, HeaderMap) {
    let inside = inner.inside.fetch_add(1, Ordering::SeqCst) + 1;
    inner.most_inside.fetch_max(inside, Ordering::SeqCst);
    inner.received.send_modify(|count| *count += 1);
    inner.doors.acquire().await.unwrap().forget();
    inner.inside.fetch_sub(1, Ordering::SeqCst);
    let status = StatusCode::from_u16(inner.status.load(Ordering::SeqCst)).unwrap();
    let mut headers = HeaderMap::new();
    if status == StatusCode::TOO_MANY_REQUESTS {
        headers.insert("retry-after", HeaderValue::from_static("60"));
    }
    (status, headers)
}

/// Two workers of one ledger, which send to a destination with limits.
struct Shop {
    ratchet: Ratchet,
    clock: Arc<ManualClock>,
    workers: Vec<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Shop {
    fn sending_to(server: &Server, destination: Destination) -> Self {
        let clock = ManualClock::at(STARTED_AT);
        let ratchet = Ratchet::with_ledger(MemoryLedger::with(clock.clone(), SystemRandom::shared()));
        let till = Till { http: Client::new().unwrap().to(destination), url: server.url.clone() };
        let workers = (0..2).map(|_| start(&ratchet, &till)).collect();
        Self { ratchet, clock, workers }
    }

    async fn enqueue(&self, id: u64) -> RecordId {
        match pay::enqueue(&self.ratchet, Order { id }).await.unwrap() {
            ratchet::Enqueued::New { id } => id,
            other => panic!("expected a new record, got {other:?}"),
        }
    }

    fn advance(&self, span: Duration) {
        self.clock.advance(span);
        self.ratchet.wake();
    }

    async fn record(&self, id: &RecordId) -> Record {
        match self.ratchet.find(id.clone()).await.unwrap() {
            Some(Stored::Record(record)) => *record,
            other => panic!("expected a record, got {other:?}"),
        }
    }

    async fn record_when(&self, id: &RecordId, wanted: impl Fn(&Record) -> bool) -> Record {
        within(async {
            loop {
                let record = self.record(id).await;
                if wanted(&record) {
                    return record;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }

    async fn gate_when(&self, wanted: impl Fn(&Gate) -> bool) {
        within(async {
            while !self.ratchet.gates().await.unwrap().iter().any(|known| wanted(&known.gate)) {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    async fn stop(self) {
        for (stop, task) in self.workers {
            let _ = stop.send(());
            within(task).await.unwrap();
        }
    }
}

fn start(ratchet: &Ratchet, till: &Till) -> (oneshot::Sender<()>, JoinHandle<()>) {
    #[cfg(feature = "middleware")]
    let registry = ratchet::registry![pay, pay_quickly, pay_otherwise];
    #[cfg(not(feature = "middleware"))]
    let registry = ratchet::registry![pay, pay_quickly];
    let worker = ratchet
        .worker(registry)
        .state(till.clone())
        .concurrency(4)
        .grace(Duration::from_millis(10))
        .poll_interval(HOUR)
        .build()
        .unwrap();
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(async move {
        let stopped = async {
            let _ = stopped.await;
        };
        worker.run(stopped).await.unwrap();
    });
    (stop, task)
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work).await.expect("nothing happened for 30 seconds")
}

fn was_not_admitted(record: &Record) -> bool {
    record.state == RecordState::Pending
        && record.cause.as_ref().is_some_and(|cause| cause.kind() == CauseKind::NotAdmitted)
}

#[tokio::test]
async fn two_workers_keep_one_limit_and_waiting_spends_no_attempt() {
    let server = Server::answering(200).await;
    let shop = Shop::sending_to(&server, Destination::new("payments").at_most(2));
    let mut ids = Vec::new();
    for id in 0..8 {
        ids.push(shop.enqueue(id).await);
    }
    let mut waiting = 0;
    for id in &ids {
        let tried = |record: &Record| was_not_admitted(record) || record.effect.pin.is_some();
        let record = shop.record_when(id, tried).await;
        assert_eq!(record.spent, 0);
        waiting += usize::from(was_not_admitted(&record));
    }
    assert_eq!(waiting, 6);
    server.wait_for(2).await;
    server.inner.doors.add_permits(8);
    for id in &ids {
        within(async {
            while shop.record(id).await.state != RecordState::Succeeded {
                shop.advance(Duration::from_millis(100));
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        assert_eq!(shop.record(id).await.spent, 0);
    }
    assert_eq!((server.received(), server.inner.most_inside.load(Ordering::SeqCst)), (8, 2));
    shop.gate_when(|gate| gate.sends.is_empty()).await;
    shop.stop().await;
}

#[tokio::test]
async fn an_open_breaker_keeps_everybody_away_until_one_probe_is_answered() {
    let server = Server::answering(500).await;
    server.inner.doors.add_permits(2);
    let shop = Shop::sending_to(&server, Destination::new("payments").breaker(2, HOUR));
    let first = shop.enqueue(1).await;
    let failed = shop.record_when(&first, |record| record.spent == 1).await;
    let second = shop.enqueue(2).await;
    shop.record_when(&second, |record| record.spent == 1).await;
    shop.gate_when(|gate| gate.breaker == Breaker::Open { since: STARTED_AT, until: STARTED_AT.after(HOUR) })
        .await;

    let third = shop.enqueue(3).await;
    let waits = shop.record_when(&third, was_not_admitted).await;
    assert_eq!((waits.spent, waits.ready_at), (0, STARTED_AT.after(HOUR)));
    assert_eq!(waits.effect.pin, None, "nothing was sent, so no window begins");
    shop.advance(HOUR / 2);
    let again = shop.record_when(&first, was_not_admitted).await;
    assert_eq!((again.spent, again.may_be_applied()), (1, true), "what is unknown stays unknown");
    assert_eq!(again.effect.first_sent_at(), failed.effect.first_sent_at());
    shop.record_when(&second, was_not_admitted).await;
    assert_eq!(server.received(), 2);

    server.inner.status.store(200, Ordering::SeqCst);
    // Those who wait come back at small distances.
    shop.advance(HOUR / 2 + Duration::from_secs(1));
    server.wait_for(3).await;
    let all = [&first, &second, &third];
    let probing = |record: &Record| {
        record.cause.as_ref().is_some_and(|cause| cause.detail().contains("another send tries"))
    };
    within(async {
        loop {
            let mut held_back = 0;
            for id in all {
                held_back += usize::from(probing(&shop.record(id).await));
            }
            if held_back == 2 {
                break;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(server.received(), 3, "one probe");
    server.inner.doors.add_permits(3);
    shop.gate_when(|gate| gate.breaker == Breaker::Closed { failures: 0 }).await;
    shop.advance(Duration::from_secs(1));
    for id in all {
        shop.record_when(id, |record| record.state == RecordState::Succeeded).await;
    }
    assert_eq!(server.received(), 5);
    shop.stop().await;
}

#[tokio::test]
async fn what_one_answer_asks_for_holds_for_everybody() {
    let server = Server::answering(429).await;
    server.inner.doors.add_permits(3);
    let shop = Shop::sending_to(&server, Destination::new("payments"));
    let first = shop.enqueue(1).await;
    let minute = STARTED_AT.after(Duration::from_mins(1));
    shop.gate_when(|gate| gate.paused_until == Some(minute)).await;
    let second = shop.enqueue(2).await;
    let waits = shop.record_when(&second, was_not_admitted).await;
    assert_eq!((waits.spent, waits.ready_at, server.received()), (0, minute, 1));
    server.inner.status.store(200, Ordering::SeqCst);
    shop.advance(Duration::from_mins(2));
    for id in [&first, &second] {
        shop.record_when(id, |record| record.state == RecordState::Succeeded).await;
    }
    assert_eq!(server.received(), 3);
    shop.stop().await;
}

#[cfg(feature = "middleware")]
#[tokio::test]
async fn a_request_that_goes_through_the_middleware_asks_the_gate_too() {
    let server = Server::answering(500).await;
    server.inner.doors.add_permits(2);
    let shop = Shop::sending_to(&server, Destination::new("payments"));
    let enqueue = async |id| match pay_otherwise::enqueue(&shop.ratchet, Order { id }).await.unwrap() {
        ratchet::Enqueued::New { id } => id,
        other => panic!("expected a new record, got {other:?}"),
    };
    let first = enqueue(1).await;
    shop.record_when(&first, |record| record.spent == 1).await;
    shop.gate_when(|gate| matches!(gate.breaker, Breaker::Open { .. })).await;
    let second = enqueue(2).await;
    let waits = shop.record_when(&second, was_not_admitted).await;
    assert_eq!((waits.effect.pin, server.received()), (None, 1));
    shop.stop().await;
}

#[tokio::test]
async fn a_destination_that_lets_a_handler_run_out_of_time_has_failed() {
    let server = Server::answering(200).await;
    let shop = Shop::sending_to(&server, Destination::new("payments").breaker(1, HOUR));
    let _ = pay_quickly::enqueue(&shop.ratchet, Order { id: 1 }).await.unwrap();
    shop.gate_when(|gate| gate.breaker == Breaker::Open { since: STARTED_AT, until: STARTED_AT.after(HOUR) })
        .await;
    assert_eq!(server.received(), 1);
    shop.stop().await;
}

#[tokio::test]
async fn a_worker_that_stops_gives_its_place_back_and_blames_nobody() {
    let server = Server::answering(200).await;
    let shop = Shop::sending_to(&server, Destination::new("payments").breaker(1, HOUR));
    shop.enqueue(1).await;
    server.wait_for(1).await;
    let ratchet = shop.ratchet.clone();
    shop.stop().await;
    within(async {
        while !ratchet.gates().await.unwrap()[0].gate.sends.is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(ratchet.gates().await.unwrap()[0].gate.breaker, Breaker::Closed { failures: 0 });
}
