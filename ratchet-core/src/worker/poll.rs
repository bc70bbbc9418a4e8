//! The loop that leases due records while there is room.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::attempt::LET_GO;
use super::heartbeat::Held;
use super::report::{LAST_REPORT, Report};
use super::slots::Pace;
use super::{Shared, attempt, heartbeat, reconcile, report, restored};
use crate::context::{CancelReason, Reading};
use crate::ledger::{Claim, LedgerError, purge_all};
use crate::telemetry;
use crate::trace;

/// How many leases that are over are decided about at once.
const EXPIRE_BATCH: usize = 256;

/// How many waiting records are looked at at once.
const FOLLOW_BATCH: usize = 1_000;

/// How many records are purged by one write, which holds up others for as long as it takes.
const PURGE_BATCH: usize = 256;

/// The first wait, which doubles, when the ledger says that something is due and nothing of it can be had.
const SHORT_WAIT: Duration = Duration::from_millis(10);

/// What stands for a span that no clock can hold.
const FOR_EVER: Duration = Duration::from_hours(24 * 365);

/// How long a worker that gives up waits for handlers to let go and for outcomes to be written.
pub(super) const LAST_MOMENT: Duration = LAST_REPORT.saturating_add(LET_GO).saturating_add(LET_GO);

/// Works until the shutdown, then tells what runs to stop, waits for it, and gives up what is left when the grace is over.
pub(super) async fn run(shared: &Arc<Shared>, grace: Duration, shutdown: impl Future<Output = ()> + Send) {
    // Owned by a set, so that they end with this function even if its future is dropped.
    let mut background = JoinSet::new();
    background.spawn(heartbeat::run(Arc::clone(shared)));
    background.spawn(housekeeping(Arc::clone(shared)));
    background.spawn(reconcile::run(Arc::clone(shared)));
    background.spawn(purging(Arc::clone(shared)));
    background.spawn(restored::run(Arc::clone(shared)));
    let mut attempts = JoinSet::new();
    let (reports, ended) = unbounded_channel();
    let reporting = AbortOnDropHandle::new(tokio::spawn(report::run(Arc::clone(shared), ended)));
    tracing::info!(worker = %shared.name, namespace = %shared.namespace, "worker started");
    let end_of_grace = {
        let mut working = pin!(work(shared, &mut attempts, reports));
        tokio::select! {
            biased;
            () = shutdown => {}
            () = &mut working => {}
        }
        shared.stopping.cancel();
        shared.leases.cancel_all(CancelReason::Shutdown);
        let end = after(grace);
        // A claim that is under way is waited for, since its records would rest until their leases end.
        let _ = timeout_at(end, working).await;
        end
    };
    let mut ends = pin!(async {
        joined(&mut attempts).await;
        // Each attempt could report, and nobody else can now.
        let _ = reporting.await;
    });
    if timeout_at(end_of_grace, &mut ends).await.is_err() {
        shared.abandon.cancel();
        if timeout(LAST_MOMENT, ends).await.is_err() {
            tracing::error!(worker = %shared.name, leases = shared.leases.len(),
                "attempts did not end, or their outcomes could not be written: their leases end by themselves");
        }
    }
    restored::look_last(shared).await;
    tracing::info!(worker = %shared.name, "worker stopped");
}

/// The moment after a span, which may be the longest there is.
fn after(span: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(span).unwrap_or(now + FOR_EVER)
}

async fn work(shared: &Arc<Shared>, attempts: &mut JoinSet<()>, reports: UnboundedSender<Report>) {
    let mut wakeups = shared.ledger.wakeups();
    let mut filling = Filling::new(shared, reports);
    let mut blocked_for = SHORT_WAIT;
    // Something may be due already.
    let mut look = Look::Claim;
    let mut look_at_latest = Instant::now();
    while !shared.stopping.is_cancelled() {
        while let Some(ended) = attempts.try_join_next() {
            look_at(&ended);
        }
        if look != Look::Later && filling.room() > 0 {
            wakeups.mark_unchanged();
            let filled = filling.fill(attempts, look).await;
            let wait = match filled {
                Filled::Until(wait) => wait,
                Filled::Blocked => blocked_for,
                Filled::Full => Duration::ZERO,
            };
            let wait = wait.min(shared.poll_interval);
            blocked_for = if filled == Filled::Blocked { wait.saturating_mul(2) } else { SHORT_WAIT };
            look = if filled == Filled::Full { Look::Claim } else { Look::Later };
            look_at_latest = after(wait);
        }
        let room = filling.room() > 0;
        tokio::select! {
            biased;
            () = shared.stopping.cancelled() => {}
            () = shared.slots.freed() => {}
            _ = wakeups.changed(), if room => look = Look::Claim,
            () = sleep_until(look_at_latest), if room => look = look.max(Look::AtFirst),
        }
    }
}

async fn joined(attempts: &mut JoinSet<()>) {
    while let Some(ended) = attempts.join_next().await {
        look_at(&ended);
    }
}

/// An attempt's task does not panic by itself; what it calls (a subscriber, a recorder) may.
fn look_at(ended: &Result<(), JoinError>) {
    if ended.as_ref().is_err_and(JoinError::is_panic) {
        tracing::error!("an attempt's task panicked; its lease ends by itself");
    }
}

/// What to do about the room that there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Look {
    /// Nothing is due before the next wake-up.
    Later,
    /// Look before a claim: a look takes no lock from those who write.
    AtFirst,
    /// Claim at once, since there is most likely something.
    Claim,
}

/// How an attempt to fill the room ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filled {
    /// There is no room, and there may be more.
    Full,
    /// There is nothing to do for so long.
    Until(Duration),
    /// Something is due that cannot be had: other workers were faster, or a row cannot be read.
    Blocked,
}

/// Leases what there is room for.
struct Filling<'a> {
    shared: &'a Arc<Shared>,
    reports: UnboundedSender<Report>,
    pace: Pace,
}

impl<'a> Filling<'a> {
    fn new(shared: &'a Arc<Shared>, reports: UnboundedSender<Report>) -> Self {
        let deduplicates = shared.registry.handlers().all(|handler| handler.spec().contract.deduplicates());
        Self { shared, reports, pace: Pace::new(deduplicates, shared.clock.monotonic()) }
    }

    fn room(&self) -> usize {
        self.shared.slots.room(self.pace.ahead(), self.shared.leases.len())
    }

    async fn fill(&mut self, attempts: &mut JoinSet<()>, look: Look) -> Filled {
        match self.try_fill(attempts, look).await {
            Ok(filled) => filled,
            Err(error) => {
                self.shared.restored.doubts();
                tracing::warn!(worker = %self.shared.name, %error, "the ledger failed; trying again");
                Filled::Until(self.shared.poll_interval)
            }
        }
    }

    async fn try_fill(&mut self, attempts: &mut JoinSet<()>, mut look: Look) -> Result<Filled, LedgerError> {
        while !self.shared.stopping.is_cancelled() {
            self.pace.look(&self.shared.slots, self.shared.clock.monotonic());
            let room = self.room();
            if room == 0 {
                return Ok(Filled::Full);
            }
            if !restored::may_claim(self.shared).await {
                return Ok(Filled::Until(self.shared.poll_interval));
            }
            if look < Look::Claim {
                let wait = until_due(self.shared).await?;
                if !wait.is_zero() {
                    return Ok(Filled::Until(wait));
                }
            }
            let claimed = self.claim(attempts, room).await?;
            if claimed == 0 && look < Look::Claim {
                // What is due is no pending record: a lease that is over, or another worker was faster.
                telemetry::expired(self.shared.ledger.expire(EXPIRE_BATCH).await?);
                if self.claim(attempts, room).await? == 0 {
                    return Ok(Filled::Blocked);
                }
            }
            look = if claimed == room { Look::Claim } else { Look::AtFirst };
        }
        Ok(Filled::Until(self.shared.poll_interval))
    }

    /// Leases up to `room` records and answers how many that were.
    async fn claim(&self, attempts: &mut JoinSet<()>, room: usize) -> Result<usize, LedgerError> {
        let shared = self.shared;
        if shared.stopping.is_cancelled() {
            return Ok(0);
        }
        let asked = Reading::of(&shared.clock);
        let claim = Claim {
            namespace: shared.namespace.clone(),
            offers: shared.offers.clone(),
            worker: shared.name.clone(),
            limit: room,
            lease: shared.lease,
            start_if_safe: true,
        };
        let records = shared.ledger.claim(claim).await?;
        let claimed = records.len();
        for record in records {
            let span = tracing::info_span!("attempt",
                operation = %record.id.operation, version = %record.version, key = %record.id.digest(),
                token = record.token.get(), attempt = tracing::field::Empty, otel.kind = "consumer");
            trace::continues(&span, record.trace);
            // Held before the task runs, so that a shutdown in between reaches it.
            let held = Held::new(shared, &record, asked);
            let place = shared.slots.queue();
            let attempt = attempt::execute(Arc::clone(shared), record, held, place, self.reports.clone());
            // On the heap before it becomes a task: tasks are moved around while they are made.
            attempts.spawn(Box::pin(attempt.instrument(span)));
        }
        if claimed > 0 {
            shared.restored.worked();
        }
        Ok(claimed)
    }
}

async fn until_due(shared: &Shared) -> Result<Duration, LedgerError> {
    let wait = shared.ledger.next_due(shared.namespace.clone(), shared.offers.clone()).await?;
    Ok(wait.unwrap_or(Duration::MAX))
}

/// Once per lease: leases that no clock explains, records that waited for others that ended elsewhere, and records that
/// nobody serves.
async fn housekeeping(shared: Arc<Shared>) {
    loop {
        sleep(shared.lease).await;
        if let Err(error) = keep_house(&shared).await {
            tracing::warn!(worker = %shared.name, %error, "housekeeping failed; trying again later");
        }
    }
}

async fn keep_house(shared: &Shared) -> Result<(), LedgerError> {
    telemetry::expired(shared.ledger.expire(EXPIRE_BATCH).await?);
    while shared.ledger.follow(FOLLOW_BATCH).await?.has_more() && !shared.stopping.is_cancelled() {}
    for unserved in shared.ledger.unserved(shared.namespace.clone(), shared.offers.clone()).await? {
        tracing::warn!(
            operation = %unserved.wanted.operation, version = %unserved.wanted.version, queue = %unserved.queue,
            records = unserved.records,
            "records wait for an operation, version and queue that this worker does not serve");
    }
    Ok(())
}

/// Once per lease, purges whatever is settled for long enough: a store that is busy settles more than any one batch.
async fn purging(shared: Arc<Shared>) {
    loop {
        sleep(shared.lease).await;
        let purged = purge_all(&*shared.ledger, PURGE_BATCH, |_| !shared.stopping.is_cancelled()).await;
        if let Err(error) = purged {
            tracing::warn!(worker = %shared.name, %error, "records could not be purged; trying again later");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_may_be_longer_than_any_clock_goes() {
        assert!(after(Duration::MAX) > Instant::now() + Duration::from_hours(24));
        assert!(after(Duration::ZERO) <= Instant::now());
    }
}
