//! Calls that programs had begun that are gone: the engine tries them again where they began, and so for ever at an address where
//! nobody will be again. The shape of their journals is fixed, so any other program can go on with them.

use std::time::Duration;

use ratchet_core::LedgerError;
use serde::Deserialize;

use crate::engine::Engine;
use crate::names;
use crate::together::together;

/// A call is not to be had in the moments in which the engine tries it, and takes a moment to be paused.
const LOOKS: usize = 10;

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
struct Call {
    id: String,
}

impl Engine {
    /// Hands over to whoever serves them now what waits for another try at an address that is not `deployment`'s, and what was
    /// paused by somebody who did not come to the end of this.
    pub(crate) async fn adopt(&self, deployment: &str) -> Result<(), LedgerError> {
        // None of the names is of a caller's.
        let sql = format!(
            "select id from sys_invocation where (status = 'paused' or (status = 'backing-off' and \
             pinned_deployment_id <> '{deployment}')) and (target_service_name in ('{}', '{}') or target_service_name like '{}%')",
            names::RECORD,
            names::STORE,
            names::ATTEMPT,
        );
        for _ in 0..LOOKS {
            let calls: Vec<Call> = self.query(&sql, "look for calls that wait").await?;
            if calls.is_empty() {
                return Ok(());
            }
            let ids = calls.into_iter().map(|call| call.id);
            together(ids, |id| async move { self.hand_over(&id).await }).await?;
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }
}
