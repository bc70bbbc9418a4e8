//! What claims that look for the same have found, and how many of them may look.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;
use tokio::time::Instant;

/// How many claims that look for the same look at once while looks find something: what is beyond would only wait for the store.
pub(super) const LOOKS_AT_ONCE: usize = 32;

/// All claims that look for the same.
pub(super) struct Kind {
    /// The one that looks next, and waits for something to be due; the others wait for its place, in the order in which they
    /// came.
    pub(super) turn: Arc<Semaphore>,
    /// Those that look while looks find something.
    pub(super) looks: Arc<Semaphore>,
    found: Mutex<Found>,
}

/// What looks have found.
pub(super) struct Found {
    /// The last one found nothing.
    pub(super) quiet: Option<Quiet>,
    /// How many may look at once: one more for each look that finds something, one less for each that does not. So a burst is
    /// met by many, and a single job costs few looks in vain.
    pub(super) looks_at_once: usize,
}

/// A look has found nothing.
#[derive(Clone, Copy)]
pub(super) struct Quiet {
    /// What the store had made due before the look.
    pub(super) seen: u64,
    /// No look before this.
    pub(super) rests_until: Instant,
    /// By then something may be due of itself.
    pub(super) until: Instant,
}

impl Kind {
    pub(super) fn new() -> Self {
        let (turn, looks) = (Arc::new(Semaphore::new(1)), Arc::new(Semaphore::new(LOOKS_AT_ONCE)));
        Self { turn, looks, found: Mutex::new(Found { quiet: None, looks_at_once: LOOKS_AT_ONCE }) }
    }

    pub(super) fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn quiet(&self) -> Option<Quiet> {
        self.found().quiet
    }
}
