//! Whether a lease still stands, seen from the worker.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::time::{SharedClock, Timestamp};

/// The end of a lease by two clocks. The wall clock is compared with what the ledger said; the monotonic one goes on
/// while a wall clock is set back.
#[derive(Debug)]
pub(crate) struct LeaseClock {
    clock: SharedClock,
    end: Mutex<Option<End>>,
}

#[derive(Debug, Clone, Copy)]
struct End {
    wall: Timestamp,
    monotonic: Duration,
}

impl LeaseClock {
    /// A lease until `until` by the ledger's clock, which was asked for at `asked` by the monotonic clock for `span`.
    pub(crate) fn new(clock: SharedClock, until: Timestamp, asked: Duration, span: Duration) -> Self {
        Self { clock, end: Mutex::new(Some(End { wall: until, monotonic: asked + span })) }
    }

    /// A lease for unit tests.
    pub(crate) fn endless(clock: SharedClock) -> Self {
        Self { clock, end: Mutex::new(None) }
    }

    pub(crate) fn extend(&self, until: Timestamp, asked: Duration, span: Duration) {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(End { wall: until, monotonic: asked + span });
    }

    /// The lease is over, whatever the clocks say.
    pub(crate) fn end(&self) {
        let over = End { wall: Timestamp::from_millis(i64::MIN), monotonic: Duration::ZERO };
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(over);
    }

    pub(crate) fn stands(&self) -> bool {
        let end = *self.end.lock().unwrap_or_else(PoisonError::into_inner);
        end.is_none_or(|end| self.clock.now() < end.wall && self.clock.monotonic() < end.monotonic)
    }
}
