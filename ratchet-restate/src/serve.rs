//! The drive: an endpoint that the engine pushes to. It keeps the ledger's objects and makes the attempts.

use std::future::Future;
use std::sync::Arc;

use ratchet_core::{LedgerError, Worker};
use restate_sdk::endpoint::Builder;
use restate_sdk::prelude::*;
use tokio::net::TcpListener;
use tokio::sync::Mutex;

use crate::RestateLedger;
use crate::attempts::{AttemptService, OfferService};
use crate::record_object::RecordObject;
use crate::store_object::StoreObject;

/// Serves a ledger's objects, and a worker's operations, to the engine, until `shutdown` is ready.
///
/// `uri` is where the engine reaches this listener, such as `http://10.0.0.7:9080`. It should stay the same over restarts: calls
/// that were under way go on where they began.
///
/// At the shutdown the worker [stops](Worker::stop), while the objects go on until its attempts have ended.
///
/// # Errors
/// If the engine cannot be reached or refuses the handlers, holds another key template for one of the operations, or cannot do
/// what one of them asks for.
pub async fn serve(
    ledger: &Arc<RestateLedger>,
    worker: Option<Worker>,
    listener: TcpListener,
    uri: &str,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), LedgerError> {
    let worker = worker.map(Arc::new);
    let records = RecordObject { clock: ledger.clock.clone(), random: ledger.random.clone() };
    let (told, unserved) = (Arc::clone(ledger), Mutex::default());
    let endpoint = Endpoint::builder()
        .bind(records)
        .bind(StoreObject { clock: ledger.clock.clone() })
        .bind(AttemptService { ledger: told, worker: worker.clone(), unserved });
    run(ledger, endpoint, worker, (listener, uri), shutdown).await
}

/// Serves a worker's operations alone, where other programs [serve](serve) the ledger's objects: when this program is down, its
/// operations wait, and nobody else does.
///
/// # Errors
/// As [`serve`].
pub async fn serve_attempts(
    ledger: &Arc<RestateLedger>,
    worker: Worker,
    listener: TcpListener,
    uri: &str,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), LedgerError> {
    run(ledger, Endpoint::builder(), Some(Arc::new(worker)), (listener, uri), shutdown).await
}

async fn run(
    ledger: &Arc<RestateLedger>,
    endpoint: Builder,
    worker: Option<Arc<Worker>>,
    (listener, uri): (TcpListener, &str),
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), LedgerError> {
    if let Some(worker) = &worker {
        // Before it is registered in the place of others.
        worker.check()?;
    }
    let offered = worker.iter().flat_map(OfferService::all);
    let endpoint = offered.fold(endpoint, Builder::bind).build();
    let stopped = async {
        shutdown.await;
        if let Some(worker) = &worker {
            worker.stop().await;
        }
    };
    let serving = HttpServer::new(endpoint).serve_with_cancel(listener, stopped);
    tokio::pin!(serving);
    let starting = async {
        ledger.engine.check_version().await?;
        ledger.engine.register(uri).await
    };
    let deployment = tokio::select! {
        () = &mut serving => return Ok(()),
        registered = starting => registered?,
    };
    let taking_up = take_up(ledger, worker.as_deref(), &deployment);
    tokio::select! {
        () = &mut serving => return Ok(()),
        taken_up = taking_up => taken_up?,
    }
    serving.await;
    Ok(())
}

/// Goes on with what others have begun or left.
async fn take_up(
    ledger: &RestateLedger,
    worker: Option<&Worker>,
    deployment: &str,
) -> Result<(), LedgerError> {
    let calls = async {
        if let Err(error) = ledger.engine.adopt(deployment).await {
            tracing::warn!(%error, "calls that others had begun could not be looked up: they are tried where they began");
        }
    };
    let records = async {
        let Some(worker) = worker else { return Ok(()) };
        worker.declare().await?;
        if let Err(error) = ledger.offer_again(worker.namespace(), worker.offers()).await {
            tracing::warn!(%error, "what is due could not be looked up: it is offered again a little later");
        }
        Ok(())
    };
    // A call of the second may wait behind one that the first hands over.
    let ((), taken_up) = tokio::join!(calls, records);
    taken_up
}
