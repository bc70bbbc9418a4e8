//! Purges everything that is settled for long enough, in bounded batches.

use super::{Ledger, LedgerError};

/// Purges batch by batch until nothing is left, or until `goes_on`, which is told after each batch how many were purged so
/// far, says no. Others come in between two batches.
pub(crate) async fn purge_all(
    ledger: &dyn Ledger,
    batch: usize,
    mut goes_on: impl FnMut(u64) -> bool,
) -> Result<u64, LedgerError> {
    let batch = batch.max(1);
    let mut total = 0;
    loop {
        let purged = ledger.purge(batch).await?;
        total += purged as u64;
        // A batch that is not full is the last one.
        if purged > 0 && !goes_on(total) || purged < batch {
            return Ok(total);
        }
        tokio::task::yield_now().await;
    }
}
