//! What has to be done to a store whether or not somebody asks: it stands in for the housekeeping of workers.

use std::time::Duration;

use ratchet::{LedgerError, Namespace};
use tokio::time::{MissedTickBehavior, interval};

use super::{App, keys};
use crate::wire;

/// How soon after its end a lease is decided about.
const BEAT: Duration = Duration::from_secs(1);

/// How many records one write decides about, which holds up others for as long as it takes.
const BATCH: usize = 256;

/// In how many beats settled records are purged once.
const BEATS_PER_PURGE: u32 = 60;

/// In how many purges old documents are looked for once.
const PURGES_PER_CLEARING: u32 = 60;

/// Decides about leases that are over, so that the work of a vanished worker goes on, and purges.
pub(super) async fn run(app: App) {
    let mut beats = interval(BEAT);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut until_purge, mut until_clearing) = (0, 0);
    loop {
        beats.tick().await;
        app.look_at_store().await;
        app.metrics().tidy();
        if let Err(error) = expire(&app).await {
            tracing::warn!(%error, "leases that are over could not be decided about; trying again");
        }
        if let Err(error) = follow(&app).await {
            tracing::warn!(%error, "waiting records could not be decided about; trying again");
        }
        if until_purge == 0 {
            until_purge = BEATS_PER_PURGE;
            if let Err(error) = app.client(&Namespace::DEFAULT).purge(BATCH, |_| {}).await {
                tracing::warn!(%error, "settled records could not be purged; trying again");
            }
            if until_clearing == 0 {
                until_clearing = PURGES_PER_CLEARING;
                if let Err(error) = clear(&app).await {
                    tracing::warn!(%error, "old runs and workers could not be forgotten; trying again");
                }
            }
            until_clearing -= 1;
        }
        until_purge -= 1;
    }
}

/// What the server keeps of runs and workers that are gone.
async fn clear(app: &App) -> Result<(), LedgerError> {
    for namespace in keys::namespaces(app.shelf()).await? {
        wire::forget_old_runs(app, &namespace).await?;
        wire::forget_gone_workers(app, &namespace).await?;
    }
    Ok(())
}

/// Those whose predecessor has ended elsewhere.
async fn follow(app: &App) -> Result<(), LedgerError> {
    while app.ledger().follow(BATCH).await? == BATCH {}
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
