//! A program that dies in the middle of a call to a record, and never comes back at its address.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratchet::restate::{RestateLedger, serve};
use ratchet::{
    After, Branch, Clock, Context, Enqueued, Failure, LedgerError, Namespace, Ratchet, Record, RecordId,
    SharedClock, Submission, Submitted, Timestamp,
};
use ratchet_core::SystemClock;
use ratchet_core::random::SystemRandom;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::server::Server;
use crate::support::{Numbered, Serving, listen, record_of, within};

#[ratchet::operation(name = "store", version = "1", key = "store:<id>", on_unknown = park)]
async fn store(_ctx: Context, input: Numbered) -> Result<u64, Failure> {
    Ok(input.id)
}

/// Whoever asks after it was armed waits for the end of the program: the run that decides about a record is the one to ask.
#[derive(Debug)]
struct Trap {
    clock: SharedClock,
    armed: AtomicBool,
    dead: AtomicBool,
    caught: Notify,
}

impl Clock for Trap {
    fn now(&self) -> Timestamp {
        if self.armed.swap(false, Ordering::SeqCst) {
            self.caught.notify_one();
            while !self.dead.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(10));
            }
            panic!("the program is dead");
        }
        self.clock.now()
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }
}

/// A program that has begun a call, which somebody waits for.
struct Caught {
    server: Server,
    ratchet: Ratchet,
    first: Runtime,
    trap: Arc<Trap>,
    call: JoinHandle<Result<Vec<Submitted>, LedgerError>>,
}

impl Caught {
    async fn call() -> Self {
        let server = tokio::task::spawn_blocking(Server::start).await.unwrap();
        let ratchet = Ratchet::open(&server.url()).await.unwrap();
        let (clock, armed, dead) = (SystemClock::shared(), AtomicBool::new(false), AtomicBool::new(false));
        let trap = Arc::new(Trap { clock, armed, dead, caught: Notify::new() });
        let first =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let ledger = RestateLedger::open_with(&server.url(), trap.clone(), SystemRandom::shared()).unwrap();
        first.spawn(async move {
            let (listener, uri) = listen().await;
            serve(&ledger, None, listener, &uri, std::future::pending()).await
        });
        within(async {
            while ratchet.ledger().mark().await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;

        let Enqueued::New { id } = store::enqueue(&ratchet, Numbered { id: 1 }).await.unwrap() else {
            panic!("new")
        };
        let follower = follower_of(record_of(&ratchet, &id).await.unwrap());
        trap.armed.store(true, Ordering::SeqCst);
        let ledger = ratchet.ledger().clone();
        // It asks for the record before it decides, so the engine holds a part of its journal.
        let call = tokio::spawn(async move { ledger.submit(vec![follower]).await });
        within(trap.caught.notified()).await;
        Self { server, ratchet, first, trap, call }
    }
}

/// Its threads end, and with them its connections.
fn kill(first: Runtime, trap: &Trap) {
    first.shutdown_background();
    trap.dead.store(true, Ordering::SeqCst);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_a_dead_program_had_begun_goes_on_with_another_one() {
    let Caught { server, first, trap, call, .. } = Caught::call().await;
    kill(first, &trap);
    let _second = Serving::records(&server.url()).await;
    let answers = within(call).await.unwrap().unwrap();
    assert!(matches!(&answers[..], [Submitted::New { .. }]), "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_a_program_that_dies_later_goes_on_as_well() {
    let Caught { server, ratchet, first, trap, call } = Caught::call().await;
    let _second = Serving::records(&server.url()).await;
    // By now the second program has looked for the first time, and found nobody who waits.
    ratchet.ledger().census(Namespace::DEFAULT).await.unwrap();
    kill(first, &trap);
    let answers = within(call).await.unwrap().unwrap();
    assert!(matches!(&answers[..], [Submitted::New { .. }]), "{answers:?}");
}

fn follower_of(first: Record) -> Submission {
    Submission {
        id: RecordId { key: store::key(&Numbered { id: 2 }).unwrap(), ..first.id.clone() },
        version: first.version,
        input: first.input,
        compared: None,
        policy: first.policy,
        contract: first.effect.contract,
        not_before: None,
        queue: first.queue,
        priority: first.priority,
        group: None,
        after: Some(After { id: first.id, on: Branch::Succeeded }),
        renewal: None,
        trace: None,
    }
}
