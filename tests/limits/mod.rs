//! A limited operation, executed by two programs on one store.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ratchet::{Failure, Input, Ratchet, RecordState, State, Worker};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

/// How many records there are.
const ALL: u64 = 40;

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct Parcel {
    id: u64,
}

/// What both programs see of each other.
#[derive(Debug, Clone)]
struct Seen {
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    done: Arc<AtomicUsize>,
    /// Lets handlers end.
    gate: Arc<Semaphore>,
}

#[ratchet::operation(name = "pack", version = "1", key = "parcel:<id>:pack", concurrency = 3)]
async fn pack(State(seen): State<Seen>, parcel: Parcel) -> Result<u64, Failure> {
    let running = seen.running.fetch_add(1, Ordering::SeqCst) + 1;
    seen.most.fetch_max(running, Ordering::SeqCst);
    seen.gate.acquire().await.expect("the gate is never closed").forget();
    seen.running.fetch_sub(1, Ordering::SeqCst);
    seen.done.fetch_add(1, Ordering::SeqCst);
    Ok(parcel.id)
}

fn worker(program: &Ratchet, seen: &Seen) -> Worker {
    let builder = program.worker(ratchet::registry![pack]).state(seen.clone());
    builder.concurrency(8).poll_interval(Duration::from_millis(20)).build().unwrap()
}

async fn until(what: impl Fn() -> bool) {
    let holds = async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), holds).await.expect("it happens within a minute");
}

/// Two workers with room for eight each: three handlers run at once and never more, and all records are done at the end,
/// each by its first attempt.
pub(crate) async fn hold_over_two_programs(one: Ratchet, other: Ratchet) {
    let requests = (0..ALL).map(|id| pack::request(Parcel { id })).collect();
    let answers = one.submit_all(requests).await.unwrap();
    let ids: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().accepted().unwrap().0).collect();
    let count = || Arc::new(AtomicUsize::new(0));
    let seen = Seen { running: count(), most: count(), done: count(), gate: Arc::new(Semaphore::new(0)) };
    let (end, ended) = tokio::sync::watch::channel(false);
    let work = |program: &Ratchet| {
        let (worker, mut ended) = (worker(program, &seen), ended.clone());
        tokio::spawn(worker.run(async move { drop(ended.wait_for(|ended| *ended).await) }))
    };
    let workers = [work(&one), work(&other)];
    until(|| seen.running.load(Ordering::SeqCst) == 3).await;
    seen.gate.add_permits(usize::try_from(ALL).unwrap());
    until(|| seen.done.load(Ordering::SeqCst) == 40).await;
    end.send(true).unwrap();
    for worker in workers {
        worker.await.unwrap().unwrap();
    }
    assert_eq!(seen.most.load(Ordering::SeqCst), 3);
    for id in ids {
        let ratchet::Stored::Record(record) = other.find(id).await.unwrap().unwrap() else {
            panic!("a record is kept for 90 days");
        };
        assert_eq!((record.state, record.attempts), (RecordState::Succeeded, 1));
    }
}
