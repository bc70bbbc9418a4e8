//! Calls that programs had begun that are gone: the engine tries them again where they began, and so for ever at an address where
//! nobody will be again. The shape of their journals is fixed, so any other program can go on with them.

use std::convert::Infallible;
use std::time::Duration;

use ratchet_core::LedgerError;
use serde::Deserialize;

use crate::engine::Engine;
use crate::names;
use crate::together::together;

/// How often it is looked at the start: a call is not to be had in the moments in which the engine tries it, and takes a moment
/// to be paused.
const FIRST_LOOKS: usize = 10;

/// Between two of them.
const SOON: Duration = Duration::from_secs(1);

/// Between two later looks: others may be gone at any time.
const LATER: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
struct Call {
    id: String,
}

impl Engine {
    /// Hands over to whoever serves them now what waits for another try at an address that is not `deployment`'s, and what was
    /// paused by somebody who did not come to the end of this. Goes on for as long as it is polled.
    pub(crate) async fn adopt(&self, deployment: &str) -> Infallible {
        let mut pauses = std::iter::repeat_n(SOON, FIRST_LOOKS);
        loop {
            if let Err(error) = self.adopt_waiting(deployment).await {
                tracing::warn!(%error, "calls that others had begun could not be handed over; trying again");
            }
            tokio::time::sleep(pauses.next().unwrap_or(LATER)).await;
        }
    }

    async fn adopt_waiting(&self, deployment: &str) -> Result<(), LedgerError> {
        // None of the names is of a caller's.
        let sql = format!(
            "select id from sys_invocation where (status = 'paused' or (status = 'backing-off' and \
             pinned_deployment_id <> '{deployment}')) and (target_service_name in ('{}', '{}') or target_service_name like '{}%')",
            names::RECORD,
            names::STORE,
            names::ATTEMPT,
        );
        let calls: Vec<Call> = self.query(&sql, "look for calls that wait").await?;
        let ids = calls.into_iter().map(|call| call.id);
        together(ids, |id| async move { self.hand_over(&id).await }).await.map(drop)
    }
}
