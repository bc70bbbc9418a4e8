//! Three nodes, of which each is killed in turn while operations go through. It takes minutes, so it runs by
//! `cargo xtask restate-cluster`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ratchet::ledger::Count;
use ratchet::{Context, Contract, Failure, Namespace, Ratchet, RecordState, RetryPolicy, State, registry};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::server::Cluster;
use crate::support::{Numbered, Serving};

const DESTINATION: Contract = Contract::header("Idempotency-Key");
const PATIENT: RetryPolicy = RetryPolicy::doubling(50, Duration::from_millis(100), Duration::from_secs(2))
    .within(Duration::from_hours(1));

/// How many operations there are unless this says so.
const OPERATIONS: &str = "RATCHET_TEST_OPERATIONS";

/// For so many operations each node is killed once.
const OPERATIONS_PER_ROUND: usize = 2_000;

/// How many callers submit at once.
const CALLERS: usize = 16;

/// Nothing may stand still for longer.
const STANDSTILL: Duration = Duration::from_mins(3);

/// Acts on the first request under a key.
#[derive(Debug, Clone)]
struct Destination {
    requests: Arc<Mutex<HashMap<String, u32>>>,
    effects: Arc<watch::Sender<usize>>,
}

#[ratchet::operation(name = "ship", version = "1", key = "ship:<id>", destination = DESTINATION,
    retry = PATIENT)]
async fn ship(ctx: Context, State(destination): State<Destination>, input: Numbered) -> Result<u64, Failure> {
    let effects = {
        let mut requests = destination.requests.lock().unwrap();
        *requests.entry(ctx.key().to_owned()).or_default() += 1;
        requests.len()
    };
    destination.effects.send_if_modified(|known| std::mem::replace(known, effects) != effects);
    Ok(input.id)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: `cargo xtask restate-cluster`"]
async fn every_node_is_killed_in_turn_and_nothing_is_lost() {
    let operations: usize =
        std::env::var(OPERATIONS).map_or(OPERATIONS_PER_ROUND, |text| text.parse().unwrap());
    let cluster = tokio::task::spawn_blocking(Cluster::start).await.unwrap();
    let url = cluster.url();
    let destination = Destination { requests: Arc::default(), effects: Arc::new(watch::Sender::new(0)) };
    let state = destination.clone();
    let _serving =
        Serving::start(&url, registry![ship], |builder| builder.state(state).concurrency(32)).await;
    let ratchet = Ratchet::open(&url).await.unwrap();

    let started = Instant::now();
    let gap = tokio::spawn(longest_gap(destination.effects.subscribe(), operations));
    let kills = 3 * operations.div_ceil(OPERATIONS_PER_ROUND);
    let killing = tokio::spawn(kill_in_turn(cluster, destination.effects.subscribe(), operations, kills));
    let repeated = submit_all(&ratchet, operations).await;
    let submitted = started.elapsed().as_secs();
    let (gap, _cluster) = (gap.await.unwrap(), killing.await.unwrap());
    let effected = started.elapsed().as_secs();
    wait_until_settled(&ratchet, operations).await;
    let settled = started.elapsed().as_secs();

    let requests: u32 = destination.requests.lock().unwrap().values().sum();
    let effects = destination.requests.lock().unwrap().len();
    println!(
        "operations {operations}, effects {effects}, requests {requests}, kills {kills}, submissions repeated {repeated}, \
         submitted after {submitted} s, last effect after {effected} s, settled after {settled} s, longest gap {:.1} s",
        gap.as_secs_f64()
    );
    assert_eq!(effects, operations);
}

/// Submits each until it is on record, and says how often that took another call.
async fn submit_all(ratchet: &Ratchet, operations: usize) -> usize {
    let places = Arc::new(Semaphore::new(CALLERS));
    let mut callers = JoinSet::new();
    for id in (0..).take(operations) {
        let place = Arc::clone(&places).acquire_owned().await.unwrap();
        let ratchet = ratchet.clone();
        callers.spawn(async move {
            let mut repeated = 0;
            let began = Instant::now();
            while let Err(error) = ship::enqueue(&ratchet, Numbered { id }).await {
                assert!(began.elapsed() < STANDSTILL, "{error:?}");
                repeated += 1;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            drop(place);
            repeated
        });
    }
    callers.join_all().await.into_iter().sum()
}

/// Kills a node whenever the same share of the effects has happened, and starts it again when the others have gone on.
async fn kill_in_turn(
    mut cluster: Cluster,
    mut effects: watch::Receiver<usize>,
    operations: usize,
    kills: usize,
) -> Cluster {
    for kill in 0..kills {
        let from = (kill + 1) * operations / (kills + 1);
        reach(&mut effects, from).await;
        let node = kill % cluster.nodes.len();
        cluster.nodes[node].kill();
        reach(&mut effects, from + operations / (kills + 1) / 4).await;
        cluster = tokio::task::spawn_blocking(move || {
            cluster.nodes[node].restart();
            cluster
        })
        .await
        .unwrap();
    }
    cluster
}

async fn reach(effects: &mut watch::Receiver<usize>, wanted: usize) {
    let mut known = 0;
    while known < wanted {
        let next = tokio::time::timeout(STANDSTILL, effects.wait_for(|now| *now > known)).await;
        known = *next.expect("effects stand still").unwrap();
    }
}

/// The longest time without an effect, from the first to the last of them.
async fn longest_gap(mut effects: watch::Receiver<usize>, operations: usize) -> Duration {
    reach(&mut effects, 1).await;
    let (mut longest, mut last) = (Duration::ZERO, Instant::now());
    while *effects.borrow_and_update() < operations {
        let changed = tokio::time::timeout(STANDSTILL, effects.changed()).await;
        changed.expect("effects stand still").unwrap();
        longest = longest.max(last.elapsed());
        last = Instant::now();
    }
    longest
}

/// Asks the engine itself. A node that came back just now may not answer yet.
async fn wait_until_settled(ratchet: &Ratchet, operations: usize) {
    let wanted = u64::try_from(operations).unwrap();
    let began = Instant::now();
    loop {
        let counts = ratchet.ledger().census(Namespace::DEFAULT).await.unwrap_or_default();
        let of = |wanted: fn(&Count) -> bool| {
            counts.iter().filter(|count| wanted(count)).map(|count| count.records).sum()
        };
        let (all, succeeded): (u64, u64) = (of(|_| true), of(|count| count.state == RecordState::Succeeded));
        if (all, succeeded) == (wanted, wanted) {
            return;
        }
        assert!(began.elapsed() < STANDSTILL, "{counts:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
