//! A program that dies in the middle of a call to a record, and never comes back at its address.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratchet::restate::{RestateLedger, serve};
use ratchet::{
    After, Branch, Clock, Context, Enqueued, Failure, Ratchet, Record, RecordId, SharedClock, Submission,
    Submitted, Timestamp,
};
use ratchet_core::SystemClock;
use ratchet_core::random::SystemRandom;
use tokio::sync::Notify;

use crate::server::Server;
use crate::support::{Numbered, Serving, listen, record_of, within};

#[ratchet::operation(name = "store", version = "1", key = "store:<id>", on_unknown = park)]
async fn store(_ctx: Context, input: Numbered) -> Result<u64, Failure> {
    Ok(input.id)
}

/// Whoever asks after it was armed waits for ever: the run that decides about a record is the one to ask.
#[derive(Debug)]
struct Trap {
    clock: SharedClock,
    armed: AtomicBool,
    caught: Notify,
}

impl Clock for Trap {
    fn now(&self) -> Timestamp {
        if self.armed.swap(false, Ordering::SeqCst) {
            self.caught.notify_one();
            loop {
                std::thread::park();
            }
        }
        self.clock.now()
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_a_dead_program_had_begun_goes_on_with_another_one() {
    let server = tokio::task::spawn_blocking(Server::start).await.unwrap();
    let ratchet = Ratchet::open(&server.url()).await.unwrap();
    let trap =
        Arc::new(Trap { clock: SystemClock::shared(), armed: AtomicBool::new(false), caught: Notify::new() });
    let first = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
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
    first.shutdown_background();
    let _second = Serving::records(&server.url()).await;
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
