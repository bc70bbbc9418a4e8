//! The drive: an endpoint that the engine pushes to. It keeps the ledger's objects and makes the attempts.

use std::future::Future;
use std::sync::Arc;

use ratchet_core::{LedgerError, RecordId, Worker};
use restate_sdk::prelude::*;
use tokio::net::TcpListener;

use crate::RestateLedger;
use crate::record_object::RecordObject;
use crate::store_object::StoreObject;

/// Makes attempts when the engine says so.
#[derive(Debug, Clone)]
struct AttemptService {
    worker: Option<Arc<Worker>>,
}

#[service(
    name = "RatchetAttempt",
    journal_retention = "0s",
    // An attempt is bounded by the timeout of its policy, and its record by the lease.
    inactivity_timeout = "1 day",
    abort_timeout = "1 day"
)]
impl AttemptService {
    /// The journal has one entry, which says what came of it; everything else about the attempt is in the record.
    ///
    /// The lease is taken within it, by a call that is not journalled: each real execution has a token of its own, and one
    /// that the engine has given up is refused by the record.
    #[handler]
    async fn run(&self, ctx: Context<'_>, Json(id): Json<RecordId>) -> HandlerResult<String> {
        let attempt = || async move {
            let Some(worker) = self.worker.clone() else { return Ok("no worker".to_owned()) };
            // A task of its own: a handler goes on when the engine's node goes away, and reports to the record.
            let attempt = tokio::spawn(async move { worker.attempt(id).await });
            Ok(attempt.await??.as_str().to_owned())
        };
        Ok(ctx.run(attempt).name("attempt").await?)
    }
}

/// Serves a ledger's objects, and a worker's operations, to the engine, until `shutdown` is ready.
///
/// `uri` is where the engine reaches this listener, such as `http://10.0.0.7:9080`.
///
/// # Errors
/// If the engine cannot be reached or refuses the handlers, or holds another key template for one of the operations.
pub async fn serve(
    ledger: &Arc<RestateLedger>,
    worker: Option<Worker>,
    listener: TcpListener,
    uri: &str,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), LedgerError> {
    let worker = worker.map(Arc::new);
    let record = RecordObject { clock: ledger.clock.clone(), random: ledger.random.clone() };
    let endpoint = Endpoint::builder()
        .bind(record)
        .bind(StoreObject { clock: ledger.clock.clone() })
        .bind(AttemptService { worker: worker.clone() })
        .build();
    let serving = HttpServer::new(endpoint).serve_with_cancel(listener, shutdown);
    let starting = async {
        ledger.engine.register(uri).await?;
        match worker {
            Some(worker) => worker.declare().await,
            None => Ok(()),
        }
    };
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => return Ok(()),
        started = starting => started?,
    }
    serving.await;
    Ok(())
}
