//! What each store takes, in one run on one machine: `SQLite`, `PostgreSQL`, `PostgreSQL` that waits for a standby, and an
//! engine (Restate, one node; `cargo xtask restate` installs it). The same work on each, everything synced to the disk.
#![allow(clippy::unused_async, reason = "handlers are async, whatever they do")]

#[path = "../ratchet-restate/tests/support/server.rs"]
mod server;

use std::any::Any;
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ratchet::restate::RestateLedger;
use ratchet::{Contract, Failure, Input, Ratchet, Worker};
use ratchet_test_postgres::Server;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// A call each, from callers that wait for their answers.
const ENQUEUED: u32 = 4_000;
const CALLERS: u32 = 16;
/// In calls of a thousand.
const BATCHED: u32 = 10_000;
/// At light load, one after the other.
const PICKED_UP: u32 = 500;
const PICK_UP_EVERY: Duration = Duration::from_millis(20);
/// How many a worker executes at once.
const CONCURRENCY: usize = 128;

#[derive(Clone, Serialize, Deserialize, Input)]
struct Order {
    id: u32,
    /// Of the system's clock; not a part of the key.
    sent_micros: u64,
}

static DONE: AtomicU32 = AtomicU32::new(0);
static ONE_MORE: Notify = Notify::const_new();
static WAITED: Mutex<Vec<Duration>> = Mutex::new(Vec::new());

#[ratchet::operation(name = "ship", version = "1", key = "order:<id>:ship:v1", destination = Contract::header("Idempotency-Key"))]
async fn ship(input: Order) -> Result<u32, Failure> {
    let waited = now_micros().saturating_sub(input.sent_micros);
    WAITED.lock().unwrap_or_else(PoisonError::into_inner).push(Duration::from_micros(waited));
    DONE.fetch_add(1, Ordering::Relaxed);
    ONE_MORE.notify_one();
    Ok(input.id)
}

fn now_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or_default()
}

fn order(id: u32) -> Order {
    Order { id, sent_micros: now_micros() }
}

struct Store {
    name: &'static str,
    ratchet: Ratchet,
    /// An engine pushes attempts to an endpoint; everything else is polled.
    engine: Option<Arc<RestateLedger>>,
    _servers: Box<dyn Any>,
}

impl Store {
    async fn open(name: &'static str, url: &str, servers: impl Any) -> Self {
        let engine = url.starts_with("restate:").then(|| RestateLedger::open(url).expect("an engine"));
        let ratchet = match &engine {
            Some(ledger) => Ratchet::with_ledger(ledger.clone()),
            None => Ratchet::open(url).await.expect("a ledger"),
        };
        Self { name, ratchet, engine, _servers: Box::new(servers) }
    }

    async fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", folder.path().join("ratchet.db").display());
        Self::open("SQLite", &url, folder).await
    }

    async fn postgres() -> Self {
        let server = Server::start();
        let url = server.url("postgres");
        Self::open("PostgreSQL", &url, server).await
    }

    async fn with_standby() -> Self {
        let server = Server::start();
        let standby = server.start_standby();
        let url = server.url("postgres");
        Self::open("PostgreSQL, one standby", &url, (server, standby)).await
    }

    async fn restate() -> Self {
        let server = server::Server::start();
        let url = server.url();
        Self::open("Restate, one node", &url, server).await
    }

    fn worker(&self) -> Worker {
        let worker = self.ratchet.worker(ratchet::registry![ship]).concurrency(CONCURRENCY);
        worker.build().expect("a worker")
    }

    /// Runs a worker beside this work.
    async fn with_worker(&self, work: impl Future<Output = ()> + Send) {
        match &self.engine {
            None => self.worker().run(work).await.expect("a worker that ends"),
            Some(ledger) => self.serving(ledger, Some(self.worker()), work).await,
        }
    }

    /// Serves what an engine needs to take anything, beside this work; nothing is executed.
    async fn without_worker(&self, work: impl Future<Output = ()> + Send) {
        match &self.engine {
            None => work.await,
            Some(ledger) => self.serving(ledger, None, work).await,
        }
    }

    async fn serving(
        &self,
        ledger: &Arc<RestateLedger>,
        worker: Option<Worker>,
        work: impl Future<Output = ()> + Send,
    ) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let uri = format!("http://{}", listener.local_addr().expect("its address"));
        let ratchet = self.ratchet.clone();
        let ready_then_work = async move {
            while ratchet.ledger().mark().await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            work.await;
        };
        ratchet::restate::serve(ledger, worker, listener, &uri, ready_then_work).await.expect("served");
    }
}

/// How long each of many calls took, and all of them.
struct Calls {
    each: Vec<Duration>,
    all: Duration,
}

impl Calls {
    fn per_second(&self) -> f64 {
        f64::from(u32::try_from(self.each.len()).unwrap_or(u32::MAX)) / self.all.as_secs_f64()
    }

    fn percentile(&mut self, percent: usize) -> f64 {
        percentile(&mut self.each, percent)
    }
}

fn percentile(of: &mut [Duration], percent: usize) -> f64 {
    of.sort_unstable();
    of.get(of.len() * percent / 100).copied().unwrap_or_default().as_secs_f64() * 1_000.0
}

async fn enqueue(ratchet: &Ratchet, from: u32) -> Calls {
    let started = Instant::now();
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let ratchet = ratchet.clone();
            tokio::spawn(async move {
                let mut each = Vec::new();
                for id in (from + caller..from + ENQUEUED).step_by(CALLERS as usize) {
                    let called = Instant::now();
                    ship::enqueue(&ratchet, order(id)).await.expect("enqueued").accepted().expect("new");
                    each.push(called.elapsed());
                }
                each
            })
        })
        .collect();
    let mut each = Vec::new();
    for caller in callers {
        each.extend(caller.await.expect("a caller"));
    }
    Calls { each, all: started.elapsed() }
}

async fn batches(ratchet: &Ratchet, from: u32) -> f64 {
    let started = Instant::now();
    for first in (from..from + BATCHED).step_by(1_000) {
        let requests = (first..first + 1_000).map(|id| ship::request(order(id))).collect();
        for answer in ratchet.submit_all(requests).await.expect("enqueued") {
            answer.expect("accepted").accepted().expect("new");
        }
    }
    f64::from(BATCHED) / started.elapsed().as_secs_f64()
}

async fn until_done(count: u32) {
    while DONE.load(Ordering::Relaxed) < count {
        ONE_MORE.notified().await;
    }
}

async fn pick_up(ratchet: &Ratchet, from: u32) {
    let mut every = tokio::time::interval(PICK_UP_EVERY);
    for id in from..from + PICKED_UP {
        every.tick().await;
        ship::enqueue(ratchet, order(id)).await.expect("enqueued").accepted().expect("new");
    }
    until_done(PICKED_UP).await;
}

async fn measure(store: Store) {
    let ratchet = &store.ratchet;
    store.with_worker(pick_up(ratchet, 0)).await;
    let mut waited = std::mem::take(&mut *WAITED.lock().unwrap_or_else(PoisonError::into_inner));

    DONE.store(0, Ordering::Relaxed);
    let mut through = Duration::ZERO;
    let going_through = async {
        let started = Instant::now();
        batches(ratchet, 1_000_000).await;
        until_done(BATCHED).await;
        through = started.elapsed();
    };
    store.with_worker(going_through).await;
    let through = f64::from(BATCHED) / through.as_secs_f64();
    DONE.store(0, Ordering::Relaxed);
    WAITED.lock().unwrap_or_else(PoisonError::into_inner).clear();

    let mut calls = None;
    let mut batched = 0.0;
    let enqueuing = async {
        calls = Some(enqueue(ratchet, 2_000_000).await);
        batched = batches(ratchet, 3_000_000).await;
    };
    store.without_worker(enqueuing).await;
    let mut calls = calls.expect("calls");
    println!(
        "| {} | {:.0} | {:.1} / {:.1} | {batched:.0} | {through:.0} | {:.1} / {:.1} |",
        store.name,
        calls.per_second(),
        calls.percentile(50),
        calls.percentile(99),
        percentile(&mut waited, 50),
        percentile(&mut waited, 99),
    );
}

#[tokio::main]
async fn main() {
    println!(
        "| | enqueue, {CALLERS} callers, a second | each, p50 / p99, ms | enqueue, 1000 in a call, a second \
         | the same until executed, a second | enqueue to handler at 50 a second, p50 / p99, ms |"
    );
    println!("|---|---|---|---|---|---|");
    measure(Store::sqlite().await).await;
    measure(Store::postgres().await).await;
    measure(Store::with_standby().await).await;
    measure(Store::restate().await).await;
}
