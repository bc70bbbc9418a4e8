//! The services that make attempts: one for each thing that a worker offers, and one that finds them.
//!
//! The engine sends what is due to whoever registered the service last. So each operation, version, queue and namespace has a
//! service of its own, whose name only programs register that have its code. A record object does not know who is there, and
//! the engine would keep it waiting for a service that is not: it tells the one service that is always there, which makes the
//! attempt itself where it can, and passes it on, or leaves it, where it cannot.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ratchet_core::ledger::{Offer, Served};
use ratchet_core::{
    Attempted, Fingerprint, LedgerError, Namespace, Queue, RecordId, Timestamp, Token, Version, Worker,
};
use restate_sdk::discovery::ServiceName;
use restate_sdk::endpoint::ContextInternal;
use restate_sdk::prelude::*;
use restate_sdk::service::macro_support::{ServiceBoxFuture, service_definition};
use restate_sdk::service::{Discoverable, Service};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::RestateLedger;
use crate::engine::Engine;
use crate::names;
use crate::record_object::key_of;
use crate::turned_away::TurnedAway;

/// How often it is said that nobody serves an operation and version.
const SAID_EVERY: Duration = Duration::from_mins(1);

/// A record that is due, as its object tells it. Those come first that wait for longest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Due {
    pub(crate) since: Timestamp,
    pub(crate) id: RecordId,
    pub(crate) version: Version,
    pub(crate) queue: Queue,
    pub(crate) token: Token,
    pub(crate) round: u32,
}

impl Due {
    /// What is told again while somebody is about to look is dropped by the engine. A lease changes the token, a question
    /// the time, and somebody who has come the round: what waits for a program that is gone keeps nothing from them.
    pub(crate) fn idempotency_key(&self) -> String {
        let Self { id, token, since, round, .. } = self;
        format!("{}.{}.{}.{}.{round}", key_of(id), id.generation, token.get(), since.as_millis())
    }

    fn served(&self) -> Served {
        Served { operation: self.id.operation.clone(), version: self.version.clone() }
    }

    /// Has whoever serves it attempt it. `false` if no program ever registered the service.
    pub(crate) async fn send(&self, engine: &Engine, key: &str) -> Result<bool, LedgerError> {
        let service = service_of(&self.id.namespace, &self.served(), &self.queue);
        engine.send(&service, "run", self, key, "pass an attempt on").await
    }

    fn is_offered_by(&self, worker: &Worker) -> bool {
        let offers = |offer: &Offer| offer.served == self.served() && offer.queue == self.queue;
        *worker.namespace() == self.id.namespace && worker.offers().iter().any(offers)
    }
}

/// The name of the service that attempts what waits in this queue.
fn service_of(namespace: &Namespace, of: &Served, queue: &Queue) -> String {
    let parts = [namespace.as_str(), of.operation.as_str(), of.version.as_str(), queue.as_str()];
    format!("{}-{}", names::ATTEMPT, Fingerprint::of_parts(&parts.map(str::as_bytes)))
}

/// Makes the attempts of a program.
#[derive(Debug, Clone)]
pub(crate) struct Attempts {
    pub(crate) worker: Arc<Worker>,
    pub(crate) turned_away: Arc<TurnedAway>,
}

/// Is told what is due, whatever it is.
#[derive(Debug)]
pub(crate) struct AttemptService {
    pub(crate) ledger: Arc<RestateLedger>,
    pub(crate) attempts: Option<Attempts>,
    /// When it was said last that nobody serves them.
    pub(crate) unserved: Mutex<HashMap<Served, Instant>>,
}

// What is given up is told again by its object: nothing waits for somebody who resumes it.
#[service(
    name = "RatchetAttempt",
    journal_retention = "0s",
    idempotency_retention = "0s",
    // An attempt is bounded by the timeout of its policy, and its record by the lease.
    inactivity_timeout = "1 day",
    abort_timeout = "1 day",
    invocation_retry_policy(
        initial_interval = "100ms",
        factor = 2.0,
        max_interval = "2s",
        max_attempts = 3,
        on_max_attempts = "kill"
    )
)]
impl AttemptService {
    /// The journal has one entry, which says what came of it; everything else about the attempt is in the record.
    #[handler]
    async fn run(&self, ctx: Context<'_>, Json(due): Json<Due>) -> HandlerResult<String> {
        let attempt = || async {
            match &self.attempts {
                Some(attempts) if due.is_offered_by(&attempts.worker) => attempts.make(&due).await,
                _ => Ok(self.pass_on(&due).await?.to_owned()),
            }
        };
        Ok(ctx.run(attempt).name("attempt").await?)
    }
}

impl AttemptService {
    async fn pass_on(&self, due: &Due) -> Result<&'static str, LedgerError> {
        if due.send(&self.ledger.engine, &due.idempotency_key()).await? {
            return Ok("passed on");
        }
        self.say_unserved(due).await;
        Ok("not served")
    }

    async fn say_unserved(&self, due: &Due) {
        let mut said = self.unserved.lock().await;
        let now = Instant::now();
        if said.get(&due.served()).is_some_and(|at| now.duration_since(*at) < SAID_EVERY) {
            return;
        }
        said.insert(due.served(), now);
        tracing::warn!(
            operation = %due.id.operation, version = %due.version, queue = %due.queue,
            "records wait for an operation, version and queue that no program on this engine ever served");
    }
}

impl Attempts {
    /// The lease is taken by a call that is not journalled: each real execution has a token of its own, and one that the engine
    /// has given up is refused by the record.
    async fn make(&self, due: &Due) -> HandlerResult<String> {
        let (worker, id) = (Arc::clone(&self.worker), due.id.clone());
        // A task of its own: a handler goes on when the engine's node goes away, and reports to the record.
        let attempted = tokio::spawn(async move { worker.attempt(id).await }).await??;
        match attempted {
            // The engine calls again, when the program is back.
            Attempted::Stopping => return Err(Stopping.into()),
            Attempted::Full => self.turned_away.add(due.clone()),
            _ => {}
        }
        Ok(attempted.as_str().to_owned())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the program is being stopped")]
struct Stopping;

/// The service of one offer. Its name is not known before the program runs, so it is put together here as the macro of the SDK
/// does it for one whose name is.
#[derive(Debug, Clone)]
pub(crate) struct OfferService {
    attempts: Attempts,
    name: String,
    documentation: String,
}

impl OfferService {
    /// One for each offer.
    pub(crate) fn all(attempts: &Attempts) -> Vec<Self> {
        let namespace = attempts.worker.namespace();
        let of = |Offer { served, queue, .. }: &Offer| Self {
            attempts: attempts.clone(),
            name: service_of(namespace, served, queue),
            documentation: format!(
                "Attempts at `{}`, version `{}`, from the queue `{queue}` of the namespace `{namespace}`.",
                served.operation, served.version
            ),
        };
        attempts.worker.offers().iter().map(of).collect()
    }
}

impl IntoServiceDefinition for OfferService {
    fn into_service_definition(self) -> ServiceDefinition {
        let mut described = AttemptService::discover();
        // Letters, a hyphen and digits: that is a name.
        if let Ok(name) = ServiceName::try_from(self.name.clone()) {
            described.name = name;
        }
        described.documentation = Some(self.documentation.clone());
        service_definition(self, described)
    }
}

impl Service for OfferService {
    type Future = ServiceBoxFuture;

    fn handle(&self, internal: ContextInternal) -> Self::Future {
        let attempts = self.attempts.clone();
        Box::pin(async move {
            let (Json(due), metadata) = internal.input::<Json<Due>>().await;
            let ctx = Context::from((&internal, metadata));
            let attempt = || async { attempts.make(&due).await };
            let ended = ctx.run(attempt).name("attempt").await;
            internal.handle_handler_result(ended.map_err(HandlerError::from));
            internal.end();
            Ok(())
        })
    }
}
