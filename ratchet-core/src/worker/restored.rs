//! Claims nothing from a backup that was restored.

use std::sync::Arc;

use tokio::time::{MissedTickBehavior, interval, timeout};

use super::Shared;
use crate::restore_guard::RestoreGuard;

/// Whether records may be claimed. Looks at the store if that is not known.
pub(super) async fn may_claim(shared: &Shared) -> bool {
    shared.restored.is_open() || look(shared).await
}

/// Looks for as long as it is polled.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut looks = interval(RestoreGuard::LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        look(&shared).await;
    }
}

/// The mark covers what was executed since the last look. It is not worth a long wait.
pub(super) async fn look_last(shared: &Shared) {
    let _ = timeout(RestoreGuard::LOOK_EVERY, look(shared)).await;
}

async fn look(shared: &Shared) -> bool {
    if !shared.leases.is_empty() {
        shared.restored.worked();
    }
    shared.restored.look().await
}
