//! Randomness enters through this trait only. It spreads retries and names workers; it is never part of an identity.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::decide::Jitter;

/// A source of random numbers.
pub trait Random: Send + Sync + fmt::Debug + 'static {
    /// Sixty-four random bits.
    fn bits(&self) -> u64;
}

/// A source that many parts share.
pub type SharedRandom = Arc<dyn Random>;

impl dyn Random {
    /// A roll for the spread of one retry.
    #[must_use]
    pub fn jitter(&self) -> Jitter {
        Jitter::from_bits(self.bits())
    }
}

/// Seeded from the operating system, or from a number that makes a run repeatable.
#[derive(Debug)]
pub struct SystemRandom {
    generator: Mutex<fastrand::Rng>,
}

impl SystemRandom {
    /// A source that nobody can repeat.
    #[must_use]
    pub fn shared() -> SharedRandom {
        Arc::new(Self { generator: Mutex::new(fastrand::Rng::new()) })
    }

    /// A source that gives the same numbers for the same seed.
    #[must_use]
    pub fn seeded(seed: u64) -> SharedRandom {
        Arc::new(Self { generator: Mutex::new(fastrand::Rng::with_seed(seed)) })
    }
}

impl Random for SystemRandom {
    fn bits(&self) -> u64 {
        self.generator.lock().unwrap_or_else(PoisonError::into_inner).u64(..)
    }
}
