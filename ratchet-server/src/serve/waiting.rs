//! Claims that wait for a job. Those that look for the same share one look: how many workers are idle costs the store nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ratchet::Namespace;
use ratchet::ledger::Offer;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, watch};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::jobs::WorkerKey;

/// What another program makes due is found after this, also where the store tells nobody of it.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// How long a look that found nothing is followed by none, for each kind of claims that there is: all kinds together look
/// no more than 200 times in a second in vain, however often something is enqueued that is none of theirs.
const REST: Duration = Duration::from_millis(5);

/// How many claims that look for the same look at once while looks find something: what is beyond would only wait for the store.
const LOOKS_AT_ONCE: usize = 32;

/// What a claim looks for.
type Wanted = (Namespace, Vec<Offer>);

/// The claims of this server that wait.
pub(crate) struct Waiting {
    wakeups: watch::Receiver<u64>,
    places: Semaphore,
    /// How many places each worker has.
    taken: Mutex<HashMap<WorkerKey, usize>>,
    kinds: Mutex<HashMap<Wanted, Arc<Kind>>>,
}

/// Who claims.
pub(crate) struct Claimant {
    pub(crate) worker: WorkerKey,
    /// How many jobs it executes at once; so many of its claims may wait.
    pub(crate) capacity: u32,
}

/// The place of a claim that waits.
struct Place<'a> {
    waiting: &'a Waiting,
    worker: WorkerKey,
    _permit: SemaphorePermit<'a>,
}

/// All claims that look for the same.
struct Kind {
    /// The one that looks next, and waits for something to be due; the others wait for its place, in the order in which they
    /// came.
    turn: Arc<Semaphore>,
    /// Those that look while looks find something.
    looks: Arc<Semaphore>,
    found: Mutex<Found>,
}

/// What looks have found.
struct Found {
    /// The last one found nothing.
    quiet: Option<Quiet>,
    /// How many may look at once: one more for each look that finds something, one less for each that does not. So a burst is
    /// met by many, and a single job costs few looks in vain.
    looks_at_once: usize,
}

/// A look has found nothing.
#[derive(Clone, Copy)]
struct Quiet {
    /// What the store had made due before the look.
    seen: u64,
    /// No look before this.
    rests_until: Instant,
    /// By then something may be due of itself.
    until: Instant,
}

/// One claim, from its first look to the end of its wait.
pub(crate) struct Waiter<'a> {
    waiting: &'a Waiting,
    who: Claimant,
    kind: Arc<Kind>,
    wakeups: watch::Receiver<u64>,
    /// The end of the wait; `None` for a claim that looks once, whatever others have found.
    deadline: Option<Instant>,
    looked: bool,
    /// What the store had made due before the look that comes now.
    seen: u64,
    place: Option<Place<'a>>,
    turn: Option<OwnedSemaphorePermit>,
    look: Option<OwnedSemaphorePermit>,
}

impl Waiting {
    /// For a store that tells by `wakeups` that something may be due. No more than `places` claims wait at once; others are
    /// told at once that there is nothing.
    pub(super) fn new(wakeups: watch::Receiver<u64>, places: usize) -> Self {
        let (places, taken, kinds) = (Semaphore::new(places), Mutex::default(), Mutex::default());
        Self { wakeups, places, taken, kinds }
    }

    /// A claim that waits for no longer than `patience`; without any, it looks once.
    pub(crate) fn claim(&self, who: Claimant, offers: &[Offer], patience: Duration) -> Waiter<'_> {
        let mut offers = offers.to_vec();
        offers.sort_unstable();
        offers.dedup();
        Waiter {
            waiting: self,
            kind: self.kind((who.worker.0.clone(), offers)),
            who,
            wakeups: self.wakeups.clone(),
            deadline: (!patience.is_zero()).then(|| Instant::now() + patience),
            looked: false,
            seen: 0,
            place: None,
            turn: None,
            look: None,
        }
    }

    /// A place, unless all are taken, or this worker has as many as it may.
    fn place(&self, who: &Claimant) -> Option<Place<'_>> {
        let place = self.places.try_acquire().ok()?;
        let mut taken = self.taken();
        let its = taken.entry(who.worker.clone()).or_default();
        if *its >= who.capacity as usize {
            return None;
        }
        *its += 1;
        Some(Place { waiting: self, worker: who.worker.clone(), _permit: place })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<WorkerKey, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kind(&self, wanted: Wanted) -> Arc<Kind> {
        let mut kinds = self.kinds();
        if !kinds.contains_key(&wanted) {
            kinds.retain(|_, kind| Arc::strong_count(kind) > 1);
        }
        Arc::clone(kinds.entry(wanted).or_insert_with(|| Arc::new(Kind::new())))
    }

    fn kinds(&self) -> MutexGuard<'_, HashMap<Wanted, Arc<Kind>>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.waiting.taken();
        if let Some(its) = taken.get_mut(&self.worker) {
            *its -= 1;
            if *its == 0 {
                taken.remove(&self.worker);
            }
        }
    }
}

impl Kind {
    fn new() -> Self {
        let (turn, looks) = (Arc::new(Semaphore::new(1)), Arc::new(Semaphore::new(LOOKS_AT_ONCE)));
        Self { turn, looks, found: Mutex::new(Found { quiet: None, looks_at_once: LOOKS_AT_ONCE }) }
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn quiet(&self) -> Option<Quiet> {
        self.found().quiet
    }
}

impl Waiter<'_> {
    /// Ready when a look may find something; `false` when the wait is over.
    ///
    /// While looks find something, many look at once. When one has found nothing, one claim waits for what comes, and the next
    /// ones when that has a job.
    pub(crate) async fn may_look(&mut self) -> bool {
        let Some(deadline) = self.deadline else { return !std::mem::replace(&mut self.looked, true) };
        if Instant::now() >= deadline {
            return false;
        }
        if self.may_look_at_once() {
            return true;
        }
        if self.place.is_none() {
            self.place = self.waiting.place(&self.who);
        }
        self.place.is_some() && timeout_at(deadline, self.worth_a_look()).await.is_ok()
    }

    /// Whether nobody was there before, and there is nothing to wait for.
    fn may_look_at_once(&mut self) -> bool {
        if self.turn.is_none() {
            self.turn = Arc::clone(&self.kind.turn).try_acquire_owned().ok();
        }
        if self.turn.is_none() || self.rests_until().is_some() {
            return false;
        }
        if self.kind.quiet().is_none() {
            self.look = Arc::clone(&self.kind.looks).try_acquire_owned().ok();
            if self.look.is_none() {
                return false;
            }
            self.turn = None;
        }
        true
    }

    async fn worth_a_look(&mut self) {
        if self.turn.is_none() {
            self.turn = Arc::clone(&self.kind.turn).acquire_owned().await.ok();
        }
        loop {
            self.rest().await;
            // The first look after a rest is made alone.
            if self.kind.quiet().is_some() {
                return;
            }
            self.look = Arc::clone(&self.kind.looks).acquire_owned().await.ok();
            if self.rests_until().is_none() {
                // The next claim looks meanwhile.
                self.turn = None;
                return;
            }
            self.look = None;
        }
    }

    async fn rest(&mut self) {
        while let Some((until, wakes)) = self.rests_until() {
            tokio::select! {
                () = sleep_until(until) => {}
                changed = self.wakeups.changed(), if wakes => if changed.is_err() { sleep_until(until).await },
            }
        }
    }

    /// Until when no look is worth it, and whether the store may say otherwise before.
    fn rests_until(&mut self) -> Option<(Instant, bool)> {
        self.seen = *self.wakeups.borrow_and_update();
        let (quiet, now) = (self.kind.quiet()?, Instant::now());
        if now < quiet.rests_until {
            return Some((quiet.rests_until, false));
        }
        (self.seen == quiet.seen && now < quiet.until).then_some((quiet.until, true))
    }

    /// The look has found a job.
    pub(crate) fn found(&self) {
        let mut found = self.kind.found();
        found.quiet = None;
        if found.looks_at_once < LOOKS_AT_ONCE {
            found.looks_at_once += 1;
            self.kind.looks.add_permits(1);
        }
    }

    /// The look has found nothing, and nothing is due before `next_due`, as far as is known.
    pub(crate) fn found_nothing(&mut self, next_due: Option<Duration>) {
        let now = Instant::now();
        let kinds = self.waiting.kinds().values().filter(|kind| Arc::strong_count(kind) > 1).count();
        let kinds = u32::try_from(kinds).unwrap_or(u32::MAX);
        let until = now + next_due.unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN);
        let rests_until = now + REST.saturating_mul(kinds).min(LOOK_AGAIN);
        let mut found = self.kind.found();
        found.quiet = Some(Quiet { seen: self.seen, rests_until, until });
        if let Some(look) = self.look.take()
            && found.looks_at_once > 1
        {
            found.looks_at_once -= 1;
            look.forget();
        }
    }
}

#[cfg(test)]
mod tests {
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
        assert!(waiting.taken().is_empty());
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
}
