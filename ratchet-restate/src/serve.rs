//! The drive: an endpoint that the engine pushes to. It keeps the ledger's objects and makes the attempts.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use ratchet_core::{LedgerError, Worker};
use restate_sdk::endpoint::Builder;
use restate_sdk::prelude::*;
use tokio::net::TcpListener;
use tokio::sync::Mutex;

use crate::RestateLedger;
use crate::attempts::{AttemptService, Attempts, OfferService};
use crate::record_object::RecordObject;
use crate::store_object::StoreObject;

/// After this time a declaration is tried again that the engine did not take.
const DECLARE_AGAIN: Duration = Duration::from_secs(1);

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
    let attempts = worker.map(attempts_of);
    let records = RecordObject { clock: ledger.clock.clone(), random: ledger.random.clone() };
    let (told, unserved) = (Arc::clone(ledger), Mutex::default());
    let endpoint = Endpoint::builder()
        .bind(records)
        .bind(StoreObject { clock: ledger.clock.clone() })
        .bind(AttemptService { ledger: told, attempts: attempts.clone(), unserved });
    run(ledger, endpoint, attempts, (listener, uri), shutdown).await
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
    run(ledger, Endpoint::builder(), Some(attempts_of(worker)), (listener, uri), shutdown).await
}

fn attempts_of(worker: Worker) -> Attempts {
    Attempts { worker: Arc::new(worker), turned_away: Arc::default() }
}

async fn run(
    ledger: &Arc<RestateLedger>,
    endpoint: Builder,
    attempts: Option<Attempts>,
    (listener, uri): (TcpListener, &str),
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), LedgerError> {
    let worker = attempts.as_ref().map(|attempts| &attempts.worker);
    if let Some(worker) = worker {
        worker.check()?;
    }
    let offered = attempts.iter().flat_map(OfferService::all);
    let endpoint = offered.fold(endpoint, Builder::bind).build();
    let stopped = async {
        shutdown.await;
        if let Some(worker) = worker {
            worker.stop().await;
        }
    };
    let serving = HttpServer::new(endpoint).serve_with_cancel(listener, stopped);
    tokio::pin!(serving);
    let starting = async {
        ledger.engine.check_version().await?;
        if let Some(worker) = worker {
            // It would take what others serve, and then end.
            ledger.check_declared(worker.declarations()).await?;
        }
        ledger.engine.register(uri).await
    };
    let deployment = tokio::select! {
        () = &mut serving => return Ok(()),
        registered = starting => registered?,
    };
    tokio::select! {
        () = &mut serving => Ok(()),
        refused = drive(ledger, attempts.as_ref(), &deployment) => refused.map(|never| match never {}),
    }
}

/// Goes on with what others have begun or left, for as long as it is polled.
async fn drive(
    ledger: &RestateLedger,
    attempts: Option<&Attempts>,
    deployment: &str,
) -> Result<Infallible, LedgerError> {
    let adopting = ledger.engine.adopt(deployment);
    let Some(Attempts { worker, turned_away }) = attempts else { return Ok(adopting.await) };
    tokio::select! {
        // A call of one of the others may wait behind one that this hands over.
        never = adopting => Ok(never),
        never = turned_away.ask_again(ledger, worker) => Ok(never),
        refused = take_up(ledger, worker) => refused,
    }
}

/// Declares what the worker serves, and has what is due offered to it.
async fn take_up(ledger: &RestateLedger, worker: &Worker) -> Result<Infallible, LedgerError> {
    while let Err(error) = worker.declare().await {
        if !matches!(error, LedgerError::Store { .. }) {
            return Err(error);
        }
        tracing::warn!(%error, "what the worker serves could not be declared; trying again");
        tokio::time::sleep(DECLARE_AGAIN).await;
    }
    if let Err(error) = ledger.offer_again(worker.namespace(), worker.offers()).await {
        tracing::warn!(%error, "what is due could not be looked up: it is offered again a little later");
    }
    pending().await
}
