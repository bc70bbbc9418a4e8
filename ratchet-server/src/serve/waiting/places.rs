//! The places of claims that wait: so many for all, and for each worker as many as it executes jobs at once.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::WorkerKey;

/// Who claims.
pub(crate) struct Claimant {
    pub(crate) worker: WorkerKey,
    /// How many jobs it executes at once; so many of its claims may wait.
    pub(crate) capacity: u32,
}

pub(super) struct Places {
    all: Semaphore,
    /// How many each worker has taken.
    taken: Mutex<HashMap<WorkerKey, usize>>,
}

/// The place of a claim that waits.
pub(super) struct Place<'a> {
    places: &'a Places,
    worker: WorkerKey,
    _permit: SemaphorePermit<'a>,
}

impl Places {
    pub(super) fn new(all: usize) -> Self {
        Self { all: Semaphore::new(all), taken: Mutex::default() }
    }

    /// A place, unless all are taken, or this worker has as many as it may.
    pub(super) fn take(&self, who: &Claimant) -> Option<Place<'_>> {
        let permit = self.all.try_acquire().ok()?;
        let mut taken = self.taken();
        if taken.get(&who.worker).copied().unwrap_or_default() >= who.capacity as usize {
            return None;
        }
        *taken.entry(who.worker.clone()).or_default() += 1;
        Some(Place { places: self, worker: who.worker.clone(), _permit: permit })
    }

    pub(super) fn taken(&self) -> MutexGuard<'_, HashMap<WorkerKey, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        if let Some(its) = taken.get_mut(&self.worker) {
            *its -= 1;
            if *its == 0 {
                taken.remove(&self.worker);
            }
        }
    }
}
