//! Room for attempts: who runs, who waits, and how much a worker leases ahead.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// What is leased ahead should start within this time.
const AHEAD_FOR: Duration = Duration::from_millis(50);

/// That no handler ended in a shorter time says nothing about the pace.
const TELLS_NOTHING: Duration = Duration::from_millis(5);

/// What was leased ahead and waits for longer, since the work became slow, is left to other workers.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The most that is leased ahead.
const MOST_AHEAD: usize = 1_000;

/// The most attempts that have ended while their outcomes are not written yet.
const MOST_UNREPORTED: usize = 2_000;

/// How many attempts that were asked for may wait, beside as many as run at once.
const MOST_ASKED_FOR: usize = 100;

/// Room for a number of handlers that run at once.
#[derive(Debug)]
pub(super) struct Slots {
    concurrency: usize,
    free: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// How many may wait while more are leased.
    few: AtomicUsize,
    ended: AtomicU64,
    freed: Notify,
}

impl Slots {
    pub(super) fn new(concurrency: usize) -> Arc<Self> {
        Arc::new(Self {
            concurrency,
            free: Arc::new(Semaphore::new(concurrency)),
            waiting: AtomicUsize::new(0),
            few: AtomicUsize::new(0),
            ended: AtomicU64::new(0),
            freed: Notify::new(),
        })
    }

    /// A place in the order in which handlers are entered.
    pub(super) fn queue(self: &Arc<Self>) -> Place {
        let slot = Arc::clone(&self.free).try_acquire_owned().ok();
        self.waiting.fetch_add(usize::from(slot.is_none()), Ordering::Relaxed);
        Place { slots: Arc::clone(self), slot }
    }

    /// The same, unless as many wait already as may.
    pub(super) fn queue_unless_full(self: &Arc<Self>) -> Option<Place> {
        let place = self.queue();
        let may_wait = place.is_entered() || self.waiting.load(Ordering::SeqCst) <= self.most_waiting();
        may_wait.then_some(place)
    }

    fn most_waiting(&self) -> usize {
        self.concurrency + MOST_ASKED_FOR
    }

    /// How many more may wait, as soon as no more than half of them do.
    pub(super) async fn room_to_wait(&self) -> usize {
        let most = self.most_waiting();
        self.few.store(most / 2, Ordering::SeqCst);
        loop {
            let waiting = self.waiting.load(Ordering::SeqCst);
            if waiting <= most / 2 {
                return most - waiting;
            }
            self.freed().await;
        }
    }

    /// Ready when no handler runs, and none of those waits that came before.
    pub(super) async fn all_free(&self) {
        let all = u32::try_from(self.concurrency).unwrap_or(u32::MAX);
        // It is never closed.
        let _ = self.free.acquire_many(all).await;
    }

    /// How many records to lease, while `held` are leased already.
    pub(super) fn room(&self, ahead: usize, held: usize) -> usize {
        self.few.store(ahead / 2, Ordering::SeqCst);
        let waiting = self.waiting.load(Ordering::SeqCst);
        if waiting > ahead / 2 {
            return 0;
        }
        let most = (self.concurrency + MOST_AHEAD + MOST_UNREPORTED).saturating_sub(held);
        (self.free.available_permits() + ahead - waiting).min(most)
    }

    /// Ready when there may be room, since a handler has ended or an outcome is on record.
    pub(super) async fn freed(&self) {
        self.freed.notified().await;
    }

    /// Whoever leases is woken when it is time to, and not by each of those before.
    fn wake_if_few_wait(&self) {
        if self.waiting.load(Ordering::SeqCst) <= self.few.load(Ordering::SeqCst) {
            self.freed.notify_one();
        }
    }

    /// Outcomes are on record.
    pub(super) fn reported(&self) {
        self.freed.notify_one();
    }
}

/// The way into a slot, and then the slot, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    slots: Arc<Slots>,
    slot: Option<OwnedSemaphorePermit>,
}

impl Place {
    pub(super) fn is_entered(&self) -> bool {
        self.slot.is_some()
    }

    /// Waits for its turn.
    pub(super) async fn enter(&mut self) {
        if self.slot.is_none()
            && let Ok(slot) = Arc::clone(&self.slots.free).acquire_owned().await
        {
            self.slots.waiting.fetch_sub(1, Ordering::SeqCst);
            self.slot = Some(slot);
            // Another slot may have been freed while this one still counted as waiting.
            self.slots.wake_if_few_wait();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.slot.take().is_some() {
            self.slots.ended.fetch_add(1, Ordering::Relaxed);
        } else {
            self.slots.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        self.slots.wake_if_few_wait();
    }
}

/// How many records to lease ahead: as many as will start in a moment, at the pace of late.
///
/// A worker whose handlers are short would wait for the ledger most of the time otherwise; one whose handlers are long
/// would keep records from others.
#[derive(Debug)]
pub(super) struct Pace {
    /// Only where all destinations deduplicate, since a lease counts as a start there.
    may_lease_ahead: bool,
    ahead: usize,
    seen_at: Duration,
    seen: u64,
}

impl Pace {
    pub(super) fn new(may_lease_ahead: bool, now: Duration) -> Self {
        Self { may_lease_ahead, ahead: 0, seen_at: now, seen: 0 }
    }

    pub(super) fn ahead(&self) -> usize {
        self.ahead
    }

    /// Looks at how many handlers have ended since the last look. Grows by steps, since a few short attempts say little.
    pub(super) fn look(&mut self, slots: &Slots, now: Duration) {
        if !self.may_lease_ahead {
            return;
        }
        let ended = slots.ended.load(Ordering::Relaxed);
        let passed = now.saturating_sub(self.seen_at);
        if ended == self.seen && passed < TELLS_NOTHING {
            return;
        }
        let micros = passed.as_micros().max(1_000);
        let in_time = u128::from(ended - self.seen) * AHEAD_FOR.as_micros() / micros;
        let step = slots.concurrency.max(self.ahead * 2).min(MOST_AHEAD);
        self.ahead = usize::try_from(in_time).unwrap_or(step).min(step);
        (self.seen_at, self.seen) = (now, ended);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    fn run(slots: &Arc<Slots>, handlers: usize) {
        (0..handlers).for_each(|_| drop(slots.queue()));
    }

    #[test]
    fn short_handlers_are_leased_ahead_by_growing_steps() {
        let slots = Slots::new(16);
        let mut pace = Pace::new(true, Duration::ZERO);
        let mut steps = Vec::new();
        for at in 1..=8 {
            run(&slots, 100);
            pace.look(&slots, Duration::from_millis(at));
            steps.push(pace.ahead());
        }
        assert_eq!(steps, [16, 32, 64, 128, 256, 512, 1_000, 1_000]);
    }

    #[test]
    fn long_handlers_are_not_leased_ahead() {
        let slots = Slots::new(16);
        let mut pace = Pace::new(true, Duration::ZERO);
        run(&slots, 16);
        pace.look(&slots, Duration::from_secs(1));
        assert_eq!(pace.ahead(), 0);
        run(&slots, 16);
        pace.look(&slots, Duration::from_millis(1_100));
        assert_eq!(pace.ahead(), 8);
    }

    #[test]
    fn nothing_is_leased_ahead_where_a_repetition_is_not_recognised() {
        let slots = Slots::new(16);
        let mut pace = Pace::new(false, Duration::ZERO);
        run(&slots, 100);
        pace.look(&slots, Duration::from_millis(1));
        assert_eq!(pace.ahead(), 0);
    }

    /// What it answers if it need not wait.
    async fn at_once<T>(work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            answer = work => Some(answer),
            () = std::future::ready(()) => None,
        }
    }

    async fn is_woken(slots: &Slots) -> bool {
        at_once(slots.freed()).await.is_some()
    }

    #[tokio::test]
    async fn a_slot_that_is_freed_before_one_who_waits_has_entered_another_is_told() {
        let slots = Slots::new(2);
        let running = [slots.queue(), slots.queue()];
        let mut waits = slots.queue();
        assert_eq!(slots.room(1, 3), 0);
        drop(running);
        assert!(!is_woken(&slots).await, "one waits still");
        waits.enter().await;
        assert!(is_woken(&slots).await, "one slot is idle");
        assert_eq!(slots.room(1, 1), 2);
    }

    #[tokio::test]
    async fn who_is_asked_for_waits_until_as_many_do_as_may() {
        let slots = Slots::new(2);
        let mut inside: Vec<Place> = (0..104).map_while(|_| slots.queue_unless_full()).collect();
        assert_eq!(inside.len(), 104, "two run, and 102 wait");
        assert!(slots.queue_unless_full().is_none());
        assert_eq!(slots.waiting.load(Ordering::SeqCst), 102, "who was turned away is not counted");

        let mut room = pin!(slots.room_to_wait());
        assert_eq!(at_once(&mut room).await, None);
        inside.truncate(54);
        assert_eq!(at_once(&mut room).await, None, "52 wait");
        inside.truncate(53);
        assert_eq!(at_once(&mut room).await, Some(51));
    }

    #[test]
    fn there_is_room_for_free_slots_and_for_what_is_leased_ahead() {
        let slots = Slots::new(2);
        assert_eq!(slots.room(0, 0), 2);
        let running = [slots.queue(), slots.queue()];
        assert_eq!(slots.room(0, 2), 0);
        assert_eq!(slots.room(4, 2), 4);
        let waiting = [slots.queue(), slots.queue()];
        assert_eq!(slots.room(4, 4), 2);
        let more = slots.queue();
        assert_eq!(slots.room(4, 5), 0, "more than half of it is there");
        drop((running, waiting, more));
        assert_eq!(slots.room(0, 5), 2);
    }
}
