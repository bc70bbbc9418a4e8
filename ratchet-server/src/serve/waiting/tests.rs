use ratchet::ledger::Served;
use ratchet::{OperationName, Version, WorkerId};
use tokio::task::JoinSet;

use super::*;

const PATIENCE: Duration = Duration::from_secs(2);

fn offers(operation: &'static str) -> Vec<Offer> {
    let (operation, version) = (OperationName::from_static(operation), Version::from_static("1"));
    vec![Offer::new(Served { operation, version })]
}

fn worker(id: &'static str, capacity: u32) -> Claimant {
    Claimant { worker: (Namespace::DEFAULT, WorkerId::from_static(id)), capacity }
}

fn claim<'a>(waiting: &'a Waiting, operation: &'static str) -> Waiter<'a> {
    waiting.claim(worker("a", 99), &offers(operation), PATIENCE)
}

/// A store that nothing is due in, as one claim has found out.
async fn quiet(wakeups: &watch::Sender<u64>, places: usize) -> Waiting {
    let waiting = Waiting::new(wakeups.subscribe(), places);
    let mut first = claim(&waiting, "charge");
    assert!(first.may_look().await);
    first.found_nothing(None);
    drop(first);
    waiting
}

#[tokio::test(start_paused = true)]
async fn one_claim_looks_when_something_is_made_due_and_the_next_one_when_that_has_a_job() {
    let wakeups = watch::Sender::new(0);
    let waiting = quiet(&wakeups, 9).await;
    let (mut one, mut other) = (claim(&waiting, "charge"), claim(&waiting, "charge"));
    let made_due = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        wakeups.send_modify(|count| *count += 1);
    };
    let begun = Instant::now();
    let looks = async {
        assert!(one.may_look().await);
        begun.elapsed()
    };
    let waits = tokio::time::timeout(Duration::from_millis(200), other.may_look());
    let ((), looked, waited) = tokio::join!(made_due, looks, waits);
    assert_eq!(looked, Duration::from_millis(100));
    assert!(waited.is_err());
    one.found();
    drop(one);
    assert!(other.may_look().await);
    assert_eq!(begun.elapsed(), Duration::from_millis(200));
}

#[tokio::test(start_paused = true)]
async fn no_more_claims_look_at_once_than_the_store_is_good_for() {
    let wakeups = watch::Sender::new(0);
    let waiting = Waiting::new(wakeups.subscribe(), 99);
    let mut looking: Vec<_> = (0..32).map(|_| claim(&waiting, "charge")).collect();
    for one in &mut looking {
        assert!(one.may_look().await);
    }
    let (mut next, begun) = (claim(&waiting, "charge"), Instant::now());
    assert!(tokio::time::timeout(REST, next.may_look()).await.is_err());
    looking.pop();
    assert!(next.may_look().await);
    // Nobody looks in vain after one that has found nothing.
    looking[0].found_nothing(None);
    drop(looking);
    assert!(claim(&waiting, "charge").may_look().await);
    assert_eq!(begun.elapsed(), REST + LOOK_AGAIN);
}

const LOOK: Duration = Duration::from_millis(10);

/// Claims that wait until so many jobs are made due, and look for a time. Gives when the last job is found, and how many
/// looks there are until everything is quiet again.
async fn burst(
    wakeups: &watch::Sender<u64>,
    waiting: &Arc<Waiting>,
    claims: usize,
    jobs: usize,
) -> (Duration, usize) {
    let state = Arc::new(Mutex::new((jobs, 0, Instant::now())));
    let mut all = JoinSet::new();
    for _ in 0..claims {
        let (waiting, state) = (Arc::clone(waiting), Arc::clone(&state));
        all.spawn(async move {
            let mut one = claim(&waiting, "charge");
            while one.may_look().await {
                tokio::time::sleep(LOOK).await;
                let mut state = state.lock().unwrap();
                state.1 += 1;
                if state.0 > 0 {
                    *state = (state.0 - 1, state.1, Instant::now());
                    one.found();
                    return;
                }
                one.found_nothing(None);
            }
        });
    }
    tokio::time::sleep(REST * 2).await;
    let begun = Instant::now();
    wakeups.send_modify(|count| *count += 1);
    tokio::time::sleep(LOOK_AGAIN / 2).await;
    let (left, looks, last) = *state.lock().unwrap();
    assert_eq!(left, 0);
    (last - begun, looks)
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_met_by_as_many_claims_as_may_look_at_once() {
    let wakeups = watch::Sender::new(0);
    let waiting = Arc::new(quiet(&wakeups, 99).await);
    // One finds out that there is something; then all others look.
    assert_eq!(burst(&wakeups, &waiting, 32, 32).await, (LOOK * 2, 32));
}

#[tokio::test(start_paused = true)]
async fn a_single_job_costs_few_looks_in_vain_however_many_claims_wait() {
    let wakeups = watch::Sender::new(0);
    let waiting = Arc::new(Waiting::new(wakeups.subscribe(), 99));
    let mut looking: Vec<_> = (0..32).map(|_| claim(&waiting, "charge")).collect();
    for one in &mut looking {
        assert!(one.may_look().await);
    }
    for one in &mut looking {
        one.found_nothing(None);
    }
    drop(looking);
    assert_eq!(burst(&wakeups, &waiting, 40, 1).await, (LOOK, 3));
    // Each job that is found has one more look at once: 1, 2, 4.
    assert_eq!(burst(&wakeups, &waiting, 40, 7).await.0, LOOK * 3);
}

#[tokio::test(start_paused = true)]
async fn a_wait_has_an_end_and_looks_are_made_meanwhile_for_what_nobody_tells() {
    let wakeups = watch::Sender::new(0);
    let waiting = quiet(&wakeups, 9).await;
    let begun = Instant::now();
    let mut one = claim(&waiting, "charge");
    let mut looks = Vec::new();
    while one.may_look().await {
        looks.push(begun.elapsed().as_millis());
        one.found_nothing(None);
    }
    assert_eq!(looks, [500, 1000, 1500, 2000]);
    assert_eq!(begun.elapsed(), PATIENCE);
}

#[tokio::test(start_paused = true)]
async fn what_is_due_by_itself_is_looked_for_in_time_but_not_without_rest() {
    let wakeups = watch::Sender::new(0);
    let waiting = quiet(&wakeups, 9).await;
    let mut one = claim(&waiting, "charge");
    one.found_nothing(Some(Duration::from_millis(40)));
    let begun = Instant::now();
    assert!(one.may_look().await);
    assert_eq!(begun.elapsed(), Duration::from_millis(40));
    one.found_nothing(Some(Duration::ZERO));
    wakeups.send_modify(|count| *count += 1);
    assert!(one.may_look().await);
    assert_eq!(begun.elapsed(), Duration::from_millis(40) + REST);
}

#[tokio::test(start_paused = true)]
async fn claims_for_other_things_do_not_wait_for_each_other() {
    let wakeups = watch::Sender::new(0);
    let waiting = quiet(&wakeups, 9).await;
    let begun = Instant::now();
    let _heads = tokio::time::timeout(REST, claim(&waiting, "charge").may_look()).await;
    assert!(claim(&waiting, "refund").may_look().await);
    assert_eq!(begun.elapsed(), REST);
}

#[tokio::test(start_paused = true)]
async fn claims_for_the_same_in_another_order_share_their_looks() {
    let wakeups = watch::Sender::new(0);
    let waiting = quiet(&wakeups, 9).await;
    let (charge, refund) = (&offers("charge")[0], &offers("refund")[0]);
    let kind = |offers: [&Offer; 3]| {
        let offers: Vec<Offer> = offers.into_iter().cloned().collect();
        Arc::clone(&waiting.claim(worker("a", 1), &offers, PATIENCE).kind)
    };
    let one = kind([charge, refund, refund]);
    assert!(Arc::ptr_eq(&one, &kind([refund, charge, charge])));
    assert!(!Arc::ptr_eq(&one, &kind([refund, refund, refund])));
}

#[tokio::test(start_paused = true)]
async fn a_claim_without_patience_looks_once_whatever_others_have_found() {
    let wakeups = watch::Sender::new(0);
    let waiting = quiet(&wakeups, 9).await;
    let mut one = waiting.claim(worker("a", 1), &offers("charge"), Duration::ZERO);
    assert!(one.may_look().await);
    one.found_nothing(None);
    assert!(!one.may_look().await);
}

#[tokio::test(start_paused = true)]
async fn no_more_claims_wait_than_there_are_places() {
    let wakeups = watch::Sender::new(0);
    let waiting = quiet(&wakeups, 1).await;
    let begun = Instant::now();
    let (mut one, mut other) = (claim(&waiting, "charge"), claim(&waiting, "charge"));
    let waits = async {
        while one.may_look().await {
            one.found_nothing(None);
        }
    };
    tokio::join!(waits, async {
        assert!(!other.may_look().await);
        assert_eq!(begun.elapsed(), Duration::ZERO);
    });
}

#[tokio::test(start_paused = true)]
async fn no_more_claims_of_a_worker_wait_than_it_can_hold_jobs() {
    let wakeups = watch::Sender::new(0);
    let waiting = quiet(&wakeups, 9).await;
    let mut claims = [("a", 2), ("a", 2), ("a", 2), ("b", 1)]
        .map(|(id, capacity)| waiting.claim(worker(id, capacity), &offers("charge"), PATIENCE));
    let mut waits = Vec::new();
    for one in &mut claims {
        waits.push(tokio::time::timeout(REST, one.may_look()).await.is_err());
    }
    assert_eq!(waits, [true, true, false, true]);
    let [one, another, none, other] = claims;
    drop(one);
    let mut next = waiting.claim(worker("a", 2), &offers("charge"), PATIENCE);
    assert!(tokio::time::timeout(REST, next.may_look()).await.is_err());
    drop((another, none, other, next));
    assert!(waiting.places.taken().is_empty());
}

#[tokio::test(start_paused = true)]
async fn kinds_that_nobody_asks_for_any_more_slow_no_others() {
    let wakeups = watch::Sender::new(0);
    let waiting = quiet(&wakeups, 9).await;
    let (mut one, begun) = (claim(&waiting, "charge"), Instant::now());
    drop(claim(&waiting, "refund"));
    assert_eq!(waiting.kinds().len(), 2);
    one.found_nothing(Some(Duration::ZERO));
    assert!(one.may_look().await);
    assert_eq!(begun.elapsed(), REST);
}

#[tokio::test(start_paused = true)]
async fn kinds_that_nobody_asks_for_any_more_are_forgotten() {
    let wakeups = watch::Sender::new(0);
    let waiting = quiet(&wakeups, 9).await;
    drop(claim(&waiting, "refund"));
    let _one = claim(&waiting, "ship");
    assert_eq!(waiting.kinds().len(), 1);
}
