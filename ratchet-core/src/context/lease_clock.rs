//! Whether a lease still stands, seen from the worker.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::time::{SharedClock, Timestamp};

/// The end of a lease by two clocks. The wall clock is compared with what the ledger said; the monotonic one goes on
/// while a wall clock is set back.
#[derive(Debug)]
pub(crate) struct LeaseClock {
    clock: SharedClock,
    end: Mutex<End>,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Never,
    At {
        wall: Timestamp,
        monotonic: Duration,
    },
    /// Over for good, whatever the clocks say.
    Over,
}

impl LeaseClock {
    /// A lease until `until` by the ledger's clock, which was asked for at `asked` by the monotonic clock for `span`.
    pub(crate) fn new(clock: SharedClock, until: Timestamp, asked: Duration, span: Duration) -> Self {
        Self { clock, end: Mutex::new(End::At { wall: until, monotonic: asked + span }) }
    }

    /// A lease for unit tests.
    pub(crate) fn endless(clock: SharedClock) -> Self {
        Self { clock, end: Mutex::new(End::Never) }
    }

    /// Extends the lease, unless it is over: an answer may arrive after the attempt has ended.
    pub(crate) fn extend(&self, until: Timestamp, asked: Duration, span: Duration) {
        let mut end = self.locked();
        if !matches!(*end, End::Over) {
            *end = End::At { wall: until, monotonic: asked + span };
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
            End::At { wall, monotonic } => self.clock.now() < wall && self.clock.monotonic() < monotonic,
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
        let (until, span) = (clock.now().after(Duration::from_mins(1)), Duration::from_mins(1));
        let lease = LeaseClock::new(clock.clone(), until, clock.monotonic(), span);
        assert!(lease.stands());
        lease.end();
        lease.extend(until, clock.monotonic(), span);
        assert!(!lease.stands());
    }

    #[test]
    fn either_clock_ends_a_lease() {
        let clock = SystemClock::shared();
        let (now, span) = (clock.now(), Duration::from_mins(1));
        assert!(!LeaseClock::new(clock.clone(), now, clock.monotonic(), span).stands());
        assert!(!LeaseClock::new(clock.clone(), now.after(span), clock.monotonic(), Duration::ZERO).stands());
    }
}
