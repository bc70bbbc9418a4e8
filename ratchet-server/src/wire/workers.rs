//! Workers: what they can execute, and what they are given.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use ratchet::ledger::{Claim, Offer, Served};
use ratchet::{
    DocumentKind, LedgerError, Namespace, OperationName, Queue, Record, Timestamp, Version, WorkerId,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::job::{self, JobBody};
use crate::serve::auth::{Grant, Worker, renewed, unknown_key};
use crate::serve::jobs::WorkerKey;
use crate::serve::problem::{Problem, Problems};
use crate::serve::shelf::Kept;
use crate::serve::waiting::Claimant;
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
    /// How many jobs it executes at once: it is given no more before it has reported on one.
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

/// How many records one claim leases at the most until one of them may be executed.
const MOST_LEASED: usize = 8;

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

/// Leases one job that is due to a worker, and waits for one for a short time if nothing is. The handler counts as entered
/// from here on.
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
    if app.now().since(known.seen_at) > SEEN_EVERY {
        seen(&app, &grant, &worker).await?;
    }
    let offers = offers(&app, &grant, &known).await?;
    let claimer = Claimer { app: &app, grant, worker, capacity: known.capacity, offers };
    match claimer.wait_for_job().await? {
        Some(job) => Ok(Json(ClaimedBody { job }).into_response()),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// A worker that asks for a job.
struct Claimer<'a> {
    app: &'a App,
    grant: Grant,
    worker: WorkerId,
    capacity: u32,
    offers: Vec<Offer>,
}

/// What a look for a job found.
enum Looked {
    Job(Box<JobBody>),
    Nothing,
    /// The worker has as many jobs as it can hold, or none of those that were due may be executed.
    NoRoom,
}

impl Claimer<'_> {
    async fn wait_for_job(&self) -> Result<Option<JobBody>, Problem> {
        let patience = self.app.limits().claim_wait;
        let who = Claimant { worker: self.key(), capacity: self.capacity };
        let mut waiter = self.app.waiting().claim(who, &self.offers, patience);
        while waiter.may_look().await {
            self.require_good_key().await?;
            match self.look().await? {
                Looked::Job(job) => {
                    waiter.found();
                    return Ok(Some(*job));
                }
                Looked::Nothing => waiter.found_nothing(self.next_due().await?),
                Looked::NoRoom => break,
            }
        }
        Ok(None)
    }

    fn key(&self) -> WorkerKey {
        (self.grant.namespace.clone(), self.worker.clone())
    }

    /// The key was good when the wait began, and may be revoked since.
    async fn require_good_key(&self) -> Result<(), Problem> {
        let still_good = renewed(self.app, &self.grant).await?;
        still_good.map(drop).ok_or_else(unknown_key)
    }

    /// Leases what is due until something may be executed. Claims that wait look twice in a second, so that a server which is
    /// about to stop, or holds back, lets them wait no longer.
    async fn look(&self) -> Result<Looked, Problem> {
        self.app.require_taking()?;
        if !self.app.may_hand_out().await {
            let text = "no job is handed out: the store may be a restored backup; `ratchet doctor` says more";
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "HELD_BACK", text).retry_after(10));
        }
        for _ in 0..MOST_LEASED {
            let Some(place) = self.app.jobs().reserve(self.key(), self.capacity) else {
                return Ok(Looked::NoRoom);
            };
            let Some(record) = self.lease().await? else { return Ok(Looked::Nothing) };
            if let Some(job) = job::hand_out(self.app, &self.grant, &self.worker, &record, place).await? {
                return Ok(Looked::Job(Box::new(job)));
            }
        }
        Ok(Looked::NoRoom)
    }

    async fn lease(&self) -> Result<Option<Record>, Problem> {
        let claim = Claim {
            namespace: self.grant.namespace.clone(),
            offers: self.offers.clone(),
            worker: self.worker.clone(),
            limit: 1,
            lease: LONGEST_BEAT * BEATS_PER_LEASE,
            // Nothing counts as started before all that can fail is done.
            start_if_safe: false,
        };
        let claimed = self.app.ledger().claim(claim).await.inspect_err(|_| self.app.doubts_store())?;
        let record = claimed.into_iter().next();
        if record.is_some() {
            self.app.worked();
        }
        Ok(record)
    }

    /// It also has the store tell when an attempt ends that a limit makes others wait for.
    async fn next_due(&self) -> Result<Option<Duration>, Problem> {
        Ok(self.app.ledger().next_due(self.grant.namespace.clone(), self.offers.clone()).await?)
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
            let declared = app.declared(&served).await?;
            let at_most = declared.as_ref().and_then(|declared| declared.concurrency);
            let queue = declared.map(|declared| declared.queue).unwrap_or_default();
            // What was enqueued before the declaration waits where nothing is declared.
            let queues = BTreeSet::from([queue, Queue::DEFAULT]);
            offers.extend(queues.into_iter().map(|queue| Offer { served: served.clone(), queue, at_most }));
        }
    }
    Ok(offers)
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
