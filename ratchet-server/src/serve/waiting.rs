//! Claims that wait for a job. Those that look for the same share one look: how many workers are idle costs the store nothing.

mod kind;
mod places;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ratchet::Namespace;
use ratchet::ledger::Offer;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::jobs::WorkerKey;
use kind::{Kind, LOOKS_AT_ONCE, Quiet};
pub(crate) use places::Claimant;
use places::{Place, Places};

/// What another program makes due is found after this, also where the store tells nobody of it.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// How long a look that found nothing is followed by none, for each kind of claims that there is: all kinds together look
/// no more than 200 times in a second in vain, however often something is enqueued that is none of theirs.
const REST: Duration = Duration::from_millis(5);

/// What a claim looks for.
type Wanted = (Namespace, Vec<Offer>);

/// The claims of this server that wait.
pub(crate) struct Waiting {
    wakeups: watch::Receiver<u64>,
    places: Places,
    kinds: Mutex<HashMap<Wanted, Arc<Kind>>>,
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
        Self { wakeups, places: Places::new(places), kinds: Mutex::default() }
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
            self.place = self.waiting.places.take(&self.who);
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
