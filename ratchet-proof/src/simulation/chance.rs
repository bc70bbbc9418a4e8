//! What happens is drawn from a seed, so that it happens again in the same way.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Numbers from a seed.
#[derive(Debug)]
pub(crate) struct Chance(Mutex<fastrand::Rng>);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Mutex::new(fastrand::Rng::with_seed(seed)))
    }

    /// A number below `end`.
    pub(crate) fn below(&self, end: u64) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).u64(..end)
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

    /// Numbers of its own for one thing that happens or does not: what comes after it draws the same ones.
    pub(crate) fn fork(&self) -> Self {
        Self::new(self.below(u64::MAX))
    }
}
