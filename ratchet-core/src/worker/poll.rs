//! The loop that leases due records while there is room.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::Instrument as _;

use super::{Shared, attempt, heartbeat};
use crate::context::CancelReason;
use crate::ledger::{Claim, LedgerError, Served};
use crate::telemetry;

/// How many leases that are over are decided about at once.
const EXPIRE_BATCH: usize = 256;

/// How long to wait when the ledger said that something is due and another worker was faster.
const SHORT_WAIT: Duration = Duration::from_millis(20);

pub(super) async fn run(shared: &Arc<Shared>, grace: Duration, shutdown: impl Future<Output = ()> + Send) {
    let mut shutdown = pin!(shutdown);
    let mut attempts = JoinSet::new();
    // Owned by a set, so that it ends with this function even if its future is dropped.
    let mut background = JoinSet::new();
    background.spawn(heartbeat::run(Arc::clone(shared)));
    background.spawn(housekeeping(Arc::clone(shared)));
    let mut wakeups = shared.ledger.wakeups();
    tracing::info!(worker = %shared.name, namespace = %shared.namespace, "worker started");
    loop {
        wakeups.mark_unchanged();
        let wait = fill(shared, &mut attempts).await;
        let room = attempts.len() < shared.concurrency;
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(_) = attempts.join_next(), if !attempts.is_empty() => {
                // Attempts that ended together are replaced together, by one claim.
                while attempts.try_join_next().is_some() {}
            }
            _ = wakeups.changed(), if room => {}
            () = sleep(wait), if room => {}
        }
    }
    drain(shared, attempts, grace).await;
    tracing::info!(worker = %shared.name, "worker stopped");
}

/// Leases as much as there is room for, and says how long to wait if that was not all of the room.
async fn fill(shared: &Arc<Shared>, attempts: &mut JoinSet<()>) -> Duration {
    match try_fill(shared, attempts).await {
        Ok(wait) => wait,
        Err(error) => {
            tracing::warn!(worker = %shared.name, %error, "the ledger failed; trying again");
            shared.poll_interval
        }
    }
}

async fn try_fill(shared: &Arc<Shared>, attempts: &mut JoinSet<()>) -> Result<Duration, LedgerError> {
    claim(shared, attempts).await?;
    if attempts.len() >= shared.concurrency {
        return Ok(shared.poll_interval);
    }
    let until_due = until_due(shared).await?;
    if !until_due.is_zero() {
        return Ok(until_due.min(shared.poll_interval));
    }
    // Something is due that the claim did not find: a lease that is over, or work that came in between.
    telemetry::expired(shared.ledger.expire(EXPIRE_BATCH).await?);
    claim(shared, attempts).await?;
    Ok(until_due_again(shared).await?.min(shared.poll_interval))
}

async fn claim(shared: &Arc<Shared>, attempts: &mut JoinSet<()>) -> Result<(), LedgerError> {
    let room = shared.concurrency.saturating_sub(attempts.len());
    if room == 0 {
        return Ok(());
    }
    let asked = shared.clock.monotonic();
    let claim = Claim {
        namespace: shared.namespace.clone(),
        served: served(shared),
        worker: shared.name.clone(),
        limit: room,
        lease: shared.lease,
        start_if_safe: true,
    };
    for record in shared.ledger.claim(claim).await? {
        let span = tracing::info_span!("attempt",
            operation = %record.id.operation, version = %record.version, key = %record.id.digest(),
            token = record.token.get(), attempt = tracing::field::Empty);
        attempts.spawn(attempt::execute(Arc::clone(shared), record, asked).instrument(span));
    }
    Ok(())
}

fn served(shared: &Shared) -> Vec<Served> {
    shared.registry.served().cloned().collect()
}

async fn until_due(shared: &Shared) -> Result<Duration, LedgerError> {
    let due = shared.ledger.next_due(shared.namespace.clone(), served(shared)).await?;
    Ok(due.map_or(Duration::MAX, |due| due.since(shared.clock.now())))
}

async fn until_due_again(shared: &Shared) -> Result<Duration, LedgerError> {
    Ok(until_due(shared).await?.max(SHORT_WAIT))
}

/// Once per lease: leases that no clock explains, records to purge, and records that nobody serves.
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
    shared.ledger.purge(EXPIRE_BATCH).await?;
    for unserved in shared.ledger.unserved(shared.namespace.clone(), served(shared)).await? {
        tracing::warn!(
            operation = %unserved.wanted.operation, version = %unserved.wanted.version, records = unserved.records,
            "records wait for an operation and version that this worker does not serve");
    }
    Ok(())
}

/// Tells what runs to stop, waits for it, and gives up what is left when the grace is over.
async fn drain(shared: &Arc<Shared>, mut attempts: JoinSet<()>, grace: Duration) {
    shared.leases.cancel_all(CancelReason::Shutdown);
    let all = async { while attempts.join_next().await.is_some() {} };
    if tokio::time::timeout(grace, all).await.is_err() {
        shared.abandon.cancel();
        while attempts.join_next().await.is_some() {}
    }
}
