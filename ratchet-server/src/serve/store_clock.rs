//! What time it is in the store: leases and windows go by its clock, and not by that of this machine.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ratchet::ledger::SharedLedger;
use ratchet::{LedgerError, Timestamp};
use tokio::time::Instant;

/// The store's clock as it was read last, and the time that has passed since by the monotonic clock.
#[derive(Default)]
pub(super) struct StoreClock(Mutex<Option<(Timestamp, Instant)>>);

/// How long a reading is good for: two clocks drift apart by less than a millisecond meanwhile.
const TRUSTED_FOR: Duration = Duration::from_secs(10);

impl StoreClock {
    pub(super) async fn now(&self, ledger: &SharedLedger) -> Result<Timestamp, LedgerError> {
        if let Some((read, passed)) = self.last().filter(|(_, passed)| *passed < TRUSTED_FOR) {
            return Ok(read.after(passed));
        }
        let now = ledger.inspect().await?.now;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, Instant::now()));
        Ok(now)
    }

    fn last(&self) -> Option<(Timestamp, Duration)> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.map(|(read, at)| (read, at.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use ratchet_core::MemoryLedger;
    use ratchet_core::random::SystemRandom;
    use ratchet_core::time::ManualClock;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_time_is_that_of_the_store() {
        let started = Timestamp::from_millis(1_000);
        let clock = ManualClock::at(started);
        let ledger: SharedLedger = MemoryLedger::with(clock.clone(), SystemRandom::shared());
        let here = StoreClock::default();
        assert_eq!(here.now(&ledger).await.unwrap(), started);
        // Between two readings the time that passes here counts, whatever is done to the store's clock.
        clock.jump_to(Timestamp::from_millis(90_000));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(here.now(&ledger).await.unwrap(), Timestamp::from_millis(10_000));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(here.now(&ledger).await.unwrap(), Timestamp::from_millis(90_000));
    }
}
