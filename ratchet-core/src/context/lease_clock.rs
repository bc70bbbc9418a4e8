//! Whether a lease still stands, seen from the worker.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::time::{SharedClock, Timestamp};

/// The end of a lease by the two clocks of the worker: the wall clock goes on while a machine sleeps, the monotonic one
/// while the wall clock is set back. Both count from the moment in which the lease was asked for, and are never compared
/// with the ledger's clock: a worker whose clock is an hour ahead can work like any other.
#[derive(Debug)]
pub(crate) struct LeaseClock {
    clock: SharedClock,
    end: Mutex<End>,
}

/// What both clocks read at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    wall: Timestamp,
    monotonic: Duration,
}

impl Reading {
    pub(crate) fn of(clock: &SharedClock) -> Self {
        Self { wall: clock.now(), monotonic: clock.monotonic() }
    }

    fn after(self, span: Duration) -> Self {
        Self { wall: self.wall.after(span), monotonic: self.monotonic + span }
    }
}

#[derive(Debug, Clone, Copy)]
enum End {
    Never,
    At(Reading),
    /// Over for good, whatever the clocks say.
    Over,
}

impl LeaseClock {
    /// A lease that was asked for at `asked` and granted for `span`.
    pub(crate) fn new(clock: SharedClock, asked: Reading, span: Duration) -> Self {
        Self { clock, end: Mutex::new(End::At(asked.after(span))) }
    }

    /// A lease for unit tests.
    pub(crate) fn endless(clock: SharedClock) -> Self {
        Self { clock, end: Mutex::new(End::Never) }
    }

    /// Extends the lease, unless it is over: an answer may arrive after the attempt has ended.
    pub(crate) fn extend(&self, asked: Reading, span: Duration) {
        let mut end = self.locked();
        if !matches!(*end, End::Over) {
            *end = End::At(asked.after(span));
        }
    }

    /// The lease is over for good.
    pub(crate) fn end(&self) {
        *self.locked() = End::Over;
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn stands(&self) -> bool {
        match *self.locked() {
            End::Never => true,
            End::At(end) => self.clock.now() < end.wall && self.clock.monotonic() < end.monotonic,
            End::Over => false,
        }
    }

    fn locked(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SystemClock;

    #[test]
    fn a_lease_that_is_over_does_not_come_back() {
        let clock = SystemClock::shared();
        let span = Duration::from_mins(1);
        let lease = LeaseClock::new(clock.clone(), Reading::of(&clock), span);
        assert!(lease.stands());
        lease.end();
        lease.extend(Reading::of(&clock), span);
        assert!(!lease.stands());
    }

    #[test]
    fn either_clock_ends_a_lease() {
        let clock = SystemClock::shared();
        let (now, minute) = (Reading::of(&clock), Duration::from_mins(1));
        let earlier = Timestamp::from_millis(now.wall.as_millis() - 60_000);
        assert!(!LeaseClock::new(clock.clone(), Reading { wall: earlier, ..now }, minute).stands());
        let over = Reading { wall: now.wall.after(minute), ..now };
        assert!(!LeaseClock::new(clock.clone(), over, Duration::ZERO).stands());
    }
}
