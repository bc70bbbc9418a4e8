//! The jobs that workers have, as far as this server knows: how many more one may have, and whether any is under way still.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ratchet::ledger::Cursor;
use ratchet::{Namespace, Token, WorkerId};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// A worker; its id is its own within its namespace.
pub(crate) type WorkerKey = (Namespace, WorkerId);

/// A lease of a record.
pub(crate) type JobLease = (Cursor, Token);

/// Jobs that were handed out or heard of here, and have not ended.
#[derive(Default)]
pub(crate) struct Jobs {
    workers: Mutex<HashMap<WorkerKey, OfWorker>>,
    fewer: Notify,
}

#[derive(Default)]
struct OfWorker {
    /// Claims that look for a job.
    claims: usize,
    /// When each lease is over if nothing is heard of it.
    leases: HashMap<JobLease, Instant>,
}

/// What is under way.
enum Left {
    Nothing,
    /// Claims, which may find jobs.
    Claims,
    /// Leases, the last of which is over then if nothing is heard of it.
    Leases(Instant),
}

/// The place of one more job.
#[must_use = "the place is free again when this is dropped"]
pub(crate) struct JobPlace<'a> {
    jobs: &'a Jobs,
    worker: WorkerKey,
}

impl Jobs {
    /// A place for one more job of this worker, unless it has as many as it says that it can hold.
    pub(crate) fn reserve(&self, worker: WorkerKey, capacity: u32) -> Option<JobPlace<'_>> {
        let mut workers = self.workers();
        let its = workers.entry(worker.clone()).or_default();
        its.forget_what_is_over(Instant::now());
        let has_room = its.claims + its.leases.len() < capacity as usize;
        its.claims += usize::from(has_room);
        has_room.then(|| JobPlace { jobs: self, worker })
    }

    /// The lease goes on for so long.
    pub(crate) fn goes_on(&self, worker: WorkerKey, lease: JobLease, span: Duration) {
        self.workers().entry(worker).or_default().leases.insert(lease, Instant::now() + span);
    }

    /// Forgets workers that vanished with a job, once its lease is over.
    pub(crate) fn tidy(&self) {
        let now = Instant::now();
        self.workers().retain(|_, its| {
            its.forget_what_is_over(now);
            !its.is_idle()
        });
    }

    /// The worker is done with the job, or it is not its own any more.
    pub(crate) fn ended(&self, worker: &WorkerKey, lease: JobLease) {
        self.change(worker, |its| {
            its.leases.remove(&lease);
        });
    }

    /// Ready when no worker has a job.
    pub(crate) async fn are_over(&self) {
        loop {
            let fewer = self.fewer.notified();
            match self.left() {
                Left::Nothing => return,
                // A claim ends by itself, and tells.
                Left::Claims => fewer.await,
                Left::Leases(until) => tokio::select! { () = fewer => {}, () = sleep_until(until) => {} },
            }
        }
    }

    fn left(&self) -> Left {
        self.tidy();
        let workers = self.workers();
        if workers.values().any(|its| its.claims > 0) {
            return Left::Claims;
        }
        let last = workers.values().flat_map(|its| its.leases.values()).max().copied();
        last.map_or(Left::Nothing, Left::Leases)
    }

    fn change(&self, worker: &WorkerKey, change: impl FnOnce(&mut OfWorker)) {
        let mut workers = self.workers();
        if let Some(its) = workers.get_mut(worker) {
            change(its);
            if its.is_idle() {
                workers.remove(worker);
            }
        }
        drop(workers);
        self.fewer.notify_waiters();
    }

    fn workers(&self) -> MutexGuard<'_, HashMap<WorkerKey, OfWorker>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OfWorker {
    fn forget_what_is_over(&mut self, now: Instant) {
        self.leases.retain(|_, until| now < *until);
    }

    fn is_idle(&self) -> bool {
        self.claims == 0 && self.leases.is_empty()
    }
}

impl JobPlace<'_> {
    /// The worker has a job.
    pub(crate) fn take(self, lease: JobLease, span: Duration) {
        self.jobs.goes_on(self.worker.clone(), lease, span);
    }
}

impl Drop for JobPlace<'_> {
    fn drop(&mut self) {
        self.jobs.change(&self.worker, |its| its.claims = its.claims.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(30);

    fn worker(id: &'static str) -> WorkerKey {
        (Namespace::DEFAULT, WorkerId::from_static(id))
    }

    fn lease(place: i64) -> JobLease {
        (Cursor(place), Token::new(1))
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_has_no_more_jobs_than_it_can_hold() {
        let jobs = Jobs::default();
        let one = jobs.reserve(worker("a"), 2).unwrap();
        one.take(lease(1), SPAN);
        let looking = jobs.reserve(worker("a"), 2).unwrap();
        // A claim that is under way may find a job.
        assert!(jobs.reserve(worker("a"), 2).is_none());
        assert!(jobs.reserve(worker("b"), 2).is_some());
        drop(looking);
        jobs.reserve(worker("a"), 2).unwrap().take(lease(2), SPAN);
        assert!(jobs.reserve(worker("a"), 2).is_none());
        jobs.ended(&worker("a"), lease(1));
        assert!(jobs.reserve(worker("a"), 2).is_some());
        jobs.goes_on(worker("a"), lease(3), SPAN);
        assert!(jobs.reserve(worker("a"), 2).is_none());
        // Those of a worker that vanished are over with their leases.
        tokio::time::advance(SPAN).await;
        assert!(jobs.reserve(worker("a"), 2).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_that_vanished_is_forgotten_when_its_lease_is_over() {
        let jobs = Jobs::default();
        jobs.reserve(worker("a"), 2).unwrap().take(lease(1), SPAN);
        jobs.tidy();
        assert_eq!(jobs.workers().len(), 1);
        tokio::time::advance(SPAN).await;
        jobs.tidy();
        assert_eq!(jobs.workers().len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn all_are_over_when_they_have_ended_or_their_leases_have() {
        let jobs = Jobs::default();
        jobs.are_over().await;
        jobs.reserve(worker("a"), 2).unwrap().take(lease(1), SPAN);
        let begun = Instant::now();
        tokio::join!(jobs.are_over(), async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            jobs.ended(&worker("a"), lease(1));
        });
        assert_eq!(begun.elapsed(), Duration::from_secs(2));
        jobs.goes_on(worker("a"), lease(2), SPAN);
        jobs.are_over().await;
        assert_eq!(begun.elapsed(), Duration::from_secs(2) + SPAN);
    }
}
