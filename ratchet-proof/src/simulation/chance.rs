//! What goes wrong is drawn from a seed, so that it goes wrong again in the same way.

use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

/// Numbers from a seed, and a trace of what they were used for.
#[derive(Debug)]
pub(crate) struct Chance {
    rolls: Mutex<(fastrand::Rng, u64)>,
}

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rolls: Mutex::new((fastrand::Rng::with_seed(seed), 0)) }
    }

    fn rolls(&self) -> MutexGuard<'_, (fastrand::Rng, u64)> {
        self.rolls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number below `end`.
    pub(crate) fn below(&self, end: u64) -> u64 {
        let mut rolls = self.rolls();
        let number = rolls.0.u64(..end);
        let mut trace = DefaultHasher::new();
        (rolls.1, number, end).hash(&mut trace);
        rolls.1 = trace.finish();
        number
    }

    /// True so many times of a thousand.
    pub(crate) fn is(&self, per_mille: u64) -> bool {
        self.below(1_000) < per_mille
    }

    /// A span between the two.
    pub(crate) fn span(&self, least: Duration, most: Duration) -> Duration {
        let width = u64::try_from(most.saturating_sub(least).as_millis()).unwrap_or(u64::MAX);
        least + Duration::from_millis(self.below(width.saturating_add(1)))
    }

    /// Waits as calls over a network do: mostly a little, now and then long.
    pub(crate) async fn delay(&self, longest: Duration) {
        let most = match self.below(100) {
            0..90 => Duration::from_millis(20),
            90..99 => longest / 20,
            _ => longest,
        };
        sleep(self.span(Duration::ZERO, most)).await;
    }

    /// Two runs of one seed have the same.
    pub(crate) fn trace(&self) -> u64 {
        self.rolls().1
    }
}
