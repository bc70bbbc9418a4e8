//! Clocks that go with the virtual time of the runtime, and jump when they are told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use ratchet_core::{Clock, Timestamp};
use tokio::time::Instant;

/// When every simulation begins.
const START: Timestamp = Timestamp::from_millis(1_768_464_000_000);

/// The clocks of one machine.
#[derive(Debug)]
pub(crate) struct VirtualClock {
    started: Instant,
    /// By how many milliseconds the wall clock is wrong.
    off_by: AtomicI64,
}

impl VirtualClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { started: Instant::now(), off_by: AtomicI64::new(0) })
    }

    /// Sets the wall clock wrong by so many milliseconds.
    pub(crate) fn be_off_by(&self, milliseconds: i64) {
        self.off_by.store(milliseconds, Ordering::SeqCst);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        let right = START.after(self.monotonic()).as_millis();
        Timestamp::from_millis(right + self.off_by.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }
}
