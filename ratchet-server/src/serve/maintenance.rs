//! What has to be done to a store whether or not somebody asks: it stands in for the housekeeping of workers.

use std::time::Duration;

use ratchet::{LedgerError, Namespace};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::{App, keys};
use crate::wire;

/// How soon after its end a lease is decided about, and how often it is looked whether a backup was restored.
const BEAT: Duration = Duration::from_secs(1);

/// How many records one write decides about, which holds up others for as long as it takes.
const BATCH: usize = 256;

/// How often settled records are purged.
const PURGE_EVERY: Duration = Duration::from_mins(1);

/// In how many purges old documents are looked for once.
const PURGES_PER_CLEARING: u32 = 60;

/// Each goes its own way: however much there is to purge, leases that are over are decided about in time, so that the work
/// of a vanished worker goes on.
pub(super) async fn run(app: App) {
    tokio::join!(watching(&app), expiring(&app), following(&app), purging(&app));
}

async fn watching(app: &App) {
    let mut beats = every_beat();
    loop {
        beats.tick().await;
        app.look_at_store().await;
        app.tidy();
    }
}

async fn expiring(app: &App) {
    let mut beats = every_beat();
    loop {
        beats.tick().await;
        if let Err(error) = expire(app).await {
            app.doubts_store();
            tracing::warn!(%error, "leases that are over could not be decided about; trying again");
        }
    }
}

/// Looks at all that wait, and rests for ten times as long as that took.
async fn following(app: &App) {
    loop {
        let begun = Instant::now();
        if let Err(error) = follow(app).await {
            tracing::warn!(%error, "waiting records could not be decided about; trying again");
        }
        sleep((begun.elapsed() * 10).max(BEAT)).await;
    }
}

async fn purging(app: &App) {
    let mut until_clearing = 0;
    loop {
        if let Err(error) = app.client(&Namespace::DEFAULT).purge(BATCH, |_| {}).await {
            tracing::warn!(%error, "settled records could not be purged; trying again");
        }
        if until_clearing == 0 {
            until_clearing = PURGES_PER_CLEARING;
            if let Err(error) = clear(app).await {
                tracing::warn!(%error, "old runs and workers could not be forgotten; trying again");
            }
        }
        until_clearing -= 1;
        sleep(PURGE_EVERY).await;
    }
}

fn every_beat() -> tokio::time::Interval {
    let mut beats = interval(BEAT);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beats
}

/// What the server keeps of runs and workers that are gone.
async fn clear(app: &App) -> Result<(), LedgerError> {
    for namespace in keys::namespaces(app.shelf()).await? {
        wire::forget_old_runs(app, &namespace).await?;
        wire::forget_gone_workers(app, &namespace).await?;
    }
    Ok(())
}

/// Those whose predecessor has ended elsewhere. A look that decided about nothing says nothing about those behind it.
async fn follow(app: &App) -> Result<(), LedgerError> {
    while app.ledger().follow(BATCH).await?.has_more() {}
    Ok(())
}

async fn expire(app: &App) -> Result<(), LedgerError> {
    loop {
        let leases = app.ledger().expire(BATCH).await?;
        if leases > 0 {
            tracing::warn!(leases, "leases were over");
            metrics::counter!("ratchet_leases_expired_total").increment(leases as u64);
        }
        if leases < BATCH {
            return Ok(());
        }
    }
}
