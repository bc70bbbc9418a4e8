//! Workers: what they can execute, and what they are given.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use ratchet::decide::Command;
use ratchet::ledger::{Claim, Offer, Order, Served};
use ratchet::{
    DocumentKind, LedgerError, Namespace, OperationName, Record, Timestamp, TraceParent, Version, WorkerId,
    trace,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::lease::Leased;
use super::names::{JobId, StepId};
use crate::serve::auth::{Grant, Worker};
use crate::serve::problem::{Problem, Problems};
use crate::serve::shelf::Kept;
use crate::serve::{App, Json};

/// What is kept of a worker, under its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Registered {
    handlers: Vec<Handler>,
    capacity: u32,
    /// The name of the key that registered it.
    owner: String,
    seen_at: Timestamp,
}

impl Kept for Registered {
    const KIND: DocumentKind = DocumentKind::from_static("worker");
}

/// A handler of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Handler {
    #[schema(min_length = 1, max_length = 128, pattern = "^[a-z0-9_.-]+$")]
    name: String,
    #[schema(min_length = 1, max_length = 32, pattern = "^[A-Za-z0-9_.+-]+$")]
    version: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RegisterBody {
    /// Any name that no other worker has.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_.+-]+$")]
    worker_id: String,
    /// How many jobs it executes at once; for people.
    #[schema(minimum = 1, maximum = 1000)]
    capacity: u32,
    #[schema(min_items = 1, max_items = 256)]
    handlers: Vec<Handler>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RegisteredBody {
    worker_id: String,
    /// How many handlers it has.
    handlers: usize,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ClaimBody {
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_.+-]+$")]
    worker_id: String,
}

#[derive(Serialize, ToSchema)]
pub(super) struct ClaimedBody {
    job: JobBody,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct JobBody {
    job_id: String,
    /// Empty for what was enqueued elsewhere than over the wire.
    run_id: String,
    step_id: String,
    tool_name: String,
    tool_version: String,
    #[schema(value_type = Value)]
    input: Value,
    /// Which execution it is, from 1 on; never part of an identity.
    attempt: u32,
    /// To be handed on to the destination as it is.
    idempotency_key: String,
    /// How long the handler may run.
    timeout_ms: u64,
    /// To be shown with heartbeats and the report.
    lease_token: String,
    /// Where in which trace it was enqueued, as the header `traceparent` says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    traceparent: Option<TraceParent>,
}

const MOST_HANDLERS: usize = 256;

/// How often a worker that asks for jobs is written down as seen.
const SEEN_EVERY: Duration = Duration::from_hours(1);

/// Says what a worker can execute. Registering again replaces what was said.
#[utoipa::path(post, path = "/workers/register", tag = "worker", request_body = RegisterBody,
    responses((status = 200, body = RegisteredBody), Problems))]
pub(super) async fn register(
    State(app): State<App>,
    Worker(grant): Worker,
    Json(body): Json<RegisterBody>,
) -> Result<Json<RegisteredBody>, Problem> {
    let worker = worker(&body.worker_id)?;
    if !(1..=MOST_HANDLERS).contains(&body.handlers.len()) || !(1..=1000).contains(&body.capacity) {
        return Err(Problem::malformed("a worker has 1 to 256 handlers and a capacity of 1 to 1000"));
    }
    for handler in &body.handlers {
        grant.require_operation(&handler.served()?.operation)?;
    }
    let handlers = body.handlers.len();
    let registered = Registered {
        handlers: body.handlers,
        capacity: body.capacity,
        owner: grant.name.clone(),
        seen_at: app.now(),
    };
    let again = |known: Option<Registered>| {
        known.is_none_or(|known| known.owner == grant.name).then(|| registered.clone())
    };
    let done = app.shelf().change(&grant.namespace, worker.as_str(), again).await?;
    if done.is_none() {
        return Err(Problem::forbidden("a worker of another key has this id: take another one"));
    }
    Ok(Json(RegisteredBody { worker_id: body.worker_id, handlers }))
}

/// Leases one job that is due to a worker. The handler counts as entered from here on.
#[utoipa::path(post, path = "/workers/claim", tag = "worker", request_body = ClaimBody,
    responses((status = 200, body = ClaimedBody), (status = 204, description = "Nothing is due."), Problems))]
pub(super) async fn claim(
    State(app): State<App>,
    Worker(grant): Worker,
    Json(body): Json<ClaimBody>,
) -> Result<Response, Problem> {
    let worker = worker(&body.worker_id)?;
    let known: Option<Registered> = app.shelf().recent(&grant.namespace, worker.as_str()).await?;
    let known = known.filter(|known| known.owner == grant.name);
    let known = known.ok_or_else(|| {
        let text = "no worker of this id is registered with this key: register it first";
        Problem::new(StatusCode::NOT_FOUND, "NOT_FOUND", text)
    })?;
    if !app.may_hand_out() {
        let text = "no job is handed out: the store may be a restored backup; `ratchet doctor` says more";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "HELD_BACK", text).retry_after(10));
    }
    if app.now().since(known.seen_at) > SEEN_EVERY {
        seen(&app, &grant, &worker).await?;
    }
    let claim = Claim {
        namespace: grant.namespace.clone(),
        offers: offers(&app, &grant, &known).await?,
        worker: worker.clone(),
        limit: 1,
        lease: LONGEST_BEAT * BEATS_PER_LEASE,
        start_if_safe: true,
    };
    match app.ledger().claim(claim).await?.pop() {
        Some(record) => {
            app.handed_out();
            started(&app, &grant, &worker, record).await
        }
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

async fn seen(app: &App, grant: &Grant, worker: &WorkerId) -> Result<(), Problem> {
    let seen_at = app.now();
    let seen = |known: Option<Registered>| known.map(|known| Registered { seen_at, ..known });
    app.shelf().change(&grant.namespace, worker.as_str(), seen).await?;
    Ok(())
}

/// For so long a worker that asks for nothing is known: one that executes for longer registers again.
const KNOWN_FOR: Duration = Duration::from_hours(24 * 7);

/// Forgets workers that are gone for long: each start of a client registers one of its own.
pub(crate) async fn forget_gone(app: &App, namespace: &Namespace) -> Result<(), LedgerError> {
    for (id, worker) in app.shelf().all::<Registered>(namespace).await? {
        if app.now().since(worker.seen_at) > KNOWN_FOR {
            app.shelf().delete::<Registered>(namespace, &id).await?;
        }
    }
    Ok(())
}

async fn offers(app: &App, grant: &Grant, known: &Registered) -> Result<Vec<Offer>, Problem> {
    let mut offers = Vec::with_capacity(known.handlers.len());
    for handler in &known.handlers {
        let served = handler.served()?;
        if grant.allows(&served.operation) {
            let queue = app.declared(&served).await?.map(|declared| declared.queue).unwrap_or_default();
            offers.push(Offer { queue, ..Offer::new(served) });
        }
    }
    Ok(offers)
}

/// Writes down that the handler is entered, with a lease that fits the pace of the worker's heartbeats.
async fn started(app: &App, grant: &Grant, worker: &WorkerId, record: Record) -> Result<Response, Problem> {
    let token = record.token;
    let by_claim = record.lease.as_ref().is_some_and(|lease| lease.started_at.is_some());
    let orders = [Command::Start { token }, Command::Renew { token, duration: lease_of(&record) }];
    let orders = orders.map(|command| Order { id: record.id.clone(), command });
    let ledger = app.ledger();
    let (answers, places) =
        tokio::try_join!(ledger.apply(orders.into()), ledger.places(vec![record.id.clone()]))?;
    let place = places.into_iter().next().flatten();
    let Some(place) = place.filter(|_| answers.iter().all(Result::is_ok)) else {
        // Somebody has cancelled it in between.
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let waited = app.now().since(record.ready_at);
    let operation = record.id.operation.to_string();
    metrics::histogram!("ratchet_claim_wait_seconds", "operation" => operation).record(waited.as_secs_f64());
    let leased = Leased { namespace: &grant.namespace, place: place.0, worker: worker.as_str() };
    let key = record.id.as_text(None).map_err(|error| Problem::refused("KEY_TOO_LONG", error.to_string()))?;
    let job = JobBody {
        job_id: JobId(place).to_string(),
        run_id: record.group.as_ref().map(ToString::to_string).unwrap_or_default(),
        step_id: StepId(place).to_string(),
        tool_name: record.id.operation.to_string(),
        tool_version: record.version.to_string(),
        input: record
            .input
            .decode()
            .map_err(|error| Problem::refused("UNREADABLE_INPUT", error.to_string()))?,
        attempt: record.attempts + u32::from(!by_claim),
        idempotency_key: key,
        timeout_ms: u64::try_from(record.policy.timeout.as_millis()).unwrap_or(u64::MAX),
        lease_token: app.leases().text(&leased, token),
        traceparent: handed_out(&record, worker),
    };
    Ok(Json(ClaimedBody { job }).into_response())
}

/// Says that a job is handed out, and where in the trace of its producer the worker goes on.
fn handed_out(record: &Record, worker: &WorkerId) -> Option<TraceParent> {
    let span = tracing::info_span!("hand out",
        operation = %record.id.operation, version = %record.version, key = %record.id.digest(),
        token = record.token.get(), %worker, otel.kind = "consumer");
    trace::continues(&span, record.trace);
    span.in_scope(|| tracing::info!("handed out"));
    trace::place_of(&span).or(record.trace)
}

/// The slowest pace of heartbeats.
const LONGEST_BEAT: Duration = Duration::from_secs(10);
/// Two heartbeats may be lost, or hang, before a lease is.
const BEATS_PER_LEASE: u32 = 3;

/// Workers beat three times in the time that an attempt may take, but not more often than once a second.
pub(super) fn lease_of(record: &Record) -> Duration {
    (record.policy.timeout / 3).clamp(Duration::from_secs(1), LONGEST_BEAT) * BEATS_PER_LEASE
}

pub(super) fn worker(id: &str) -> Result<WorkerId, Problem> {
    WorkerId::new(id.to_owned()).map_err(|error| Problem::malformed(error.to_string()))
}

impl Handler {
    fn served(&self) -> Result<Served, Problem> {
        let operation =
            OperationName::new(self.name.clone()).map_err(|error| Problem::malformed(error.to_string()))?;
        let version =
            Version::new(self.version.clone()).map_err(|error| Problem::malformed(error.to_string()))?;
        Ok(Served { operation, version })
    }
}
