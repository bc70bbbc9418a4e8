//! Jobs under way: heartbeats, reports, cancelling.

use std::time::Duration;

use axum::extract::{Path, State};
use ratchet::decide::Command;
use ratchet::ledger::{Cursor, Order};
use ratchet::{Answer, Record, Refusal, Timestamp, Token};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::lease::Leased;
use super::names::{self, JobId, StepId};
use super::record::{of_namespace, of_reader, refused};
use super::report::{Report, ReportBody};
use super::workers::{lease_of, worker};
use crate::serve::auth::{Executing, Grant, Reader};
use crate::serve::problem::{Problem, Problems};
use crate::serve::{App, Json, named};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelBody {
    /// What `GET /steps/{step}` said of it. Without it, the job is cancelled whatever has become of it since.
    seen: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CancelledBody {
    job_id: String,
    step_id: String,
    state: String,
    /// The job is under way, and its worker is told with the next heartbeat. What it has done stays done.
    cancel_requested: bool,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeartbeatBody {
    worker_id: String,
    lease_token: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct BeatBody {
    /// Whether the lease goes on. If not, somebody else may have the job.
    accepted: bool,
    /// Somebody asked to stop.
    cancel_requested: bool,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReportedBody {
    accepted: bool,
    /// What became of the step.
    state: String,
}

/// Starts nothing more of a job. It is not a rollback.
#[utoipa::path(post, path = "/jobs/{job}/cancel", tag = "producer", params(("job" = String, Path)),
    request_body = CancelBody, responses((status = 200, body = CancelledBody), Problems))]
pub(super) async fn cancel(
    State(app): State<App>,
    Reader(grant): Reader,
    Path(job): Path<String>,
    Json(CancelBody { seen }): Json<CancelBody>,
) -> Result<Json<CancelledBody>, Problem> {
    let JobId(place) = JobId::parse(&job)?;
    let record = of_reader(&app, &grant, place, "job").await?;
    let (by, reason) = (grant.name, "asked for over the wire".to_owned());
    let command = Command::Cancel { by, reason, seen: seen.map(Token::new) };
    let (state, cancel_requested) = match order(&app, &record, command).await? {
        Ok(Answer::Now(state)) => (state, false),
        Ok(_) => (record.state, true),
        Err(refusal) => return Err(refused(&refusal)),
    };
    let (job_id, step_id) = (job, StepId(place).to_string());
    Ok(Json(CancelledBody { job_id, step_id, state: names::state(state), cancel_requested }))
}

/// Says that a job is being executed still, which extends its lease.
#[utoipa::path(post, path = "/workers/jobs/{job}/heartbeat", tag = "worker", params(("job" = String, Path)),
    request_body = HeartbeatBody, responses((status = 200, body = BeatBody), Problems))]
pub(super) async fn heartbeat(
    State(app): State<App>,
    Executing(grant): Executing,
    Path(job): Path<String>,
    Json(body): Json<HeartbeatBody>,
) -> Result<Json<BeatBody>, Problem> {
    let (record, token) = held(&app, &grant, &job, &body.worker_id, &body.lease_token).await?;
    let lease = (place_of(&job)?, token);
    let worker = (grant.namespace.clone(), worker(&body.worker_id)?);
    if is_overdue(&record, token, app.store_now().await?) {
        app.jobs().ended(&worker, lease);
        return Ok(Json(BeatBody { accepted: false, cancel_requested: record.cancel_requested }));
    }
    let renewed = order(&app, &record, Command::Renew { token, duration: lease_of(&record) }).await?;
    let (accepted, cancel_requested) = match renewed {
        Ok(Answer::Renewed { cancel_requested, .. }) => (true, cancel_requested),
        _ => (false, record.cancel_requested),
    };
    if accepted {
        app.worked();
        app.jobs().goes_on(worker, lease, lease_of(&record));
    } else {
        app.jobs().ended(&worker, lease);
    }
    Ok(Json(BeatBody { accepted, cancel_requested }))
}

/// A handler that hangs beats on for ever. When its time is long over, its lease is left to end, and its effect is unknown.
fn is_overdue(record: &Record, token: Token, now: Timestamp) -> bool {
    const MARGIN: Duration = Duration::from_secs(10);
    let started = record.lease.as_ref().and_then(|lease| lease.started_at).filter(|_| record.token == token);
    started.is_some_and(|at| now.since(at) > record.policy.timeout + MARGIN)
}

/// Says how a job ended. A report that comes after its lease went to another attempt is kept on its own attempt, and
/// refused.
#[utoipa::path(post, path = "/workers/jobs/{job}/report", tag = "worker", params(("job" = String, Path)),
    request_body = ReportBody, responses((status = 200, body = ReportedBody), Problems))]
pub(super) async fn report(
    State(app): State<App>,
    Executing(grant): Executing,
    Path(job): Path<String>,
    Report { worker_id, lease_token, outcome }: Report,
) -> Result<Json<ReportedBody>, Problem> {
    let (record, token) = held(&app, &grant, &job, &worker_id, &lease_token).await?;
    let kind = outcome.kind().as_str();
    let settled = order(&app, &record, Command::Settle { token, outcome }).await?;
    app.worked();
    app.jobs().ended(&(grant.namespace.clone(), worker(&worker_id)?), (place_of(&job)?, token));
    match settled {
        Ok(Answer::Settled(state)) => {
            let (operation, key) = (&record.id.operation, record.id.digest());
            tracing::info!(%operation, %key, %token, outcome = kind, %state, "reported");
            metrics::counter!("ratchet_attempts_total",
                "operation" => named::operation(&record.id.operation), "outcome" => kind, "state" => state.as_str())
            .increment(1);
            Ok(Json(ReportedBody { accepted: true, state: names::state(state) }))
        }
        Ok(Answer::Late(_)) | Err(Refusal::Superseded) => {
            metrics::counter!("ratchet_stale_reports_total", "operation" => named::operation(&record.id.operation))
                .increment(1);
            tracing::warn!(operation = %record.id.operation, key = %record.id.digest(), outcome = kind, "reported late");
            Err(refused(&Refusal::Superseded))
        }
        Ok(_) => Err(Problem::unavailable("the store is closed")),
        Err(refusal) => Err(refused(&refusal)),
    }
}

fn place_of(job: &str) -> Result<Cursor, Problem> {
    JobId::parse(job).map(|JobId(place)| place)
}

/// The record of a job and the token of a lease of it that this worker was granted, at some time.
async fn held(
    app: &App,
    grant: &Grant,
    job: &str,
    worker_id: &str,
    lease_token: &str,
) -> Result<(Record, Token), Problem> {
    let place = place_of(job)?;
    let record = of_namespace(app, grant, place, "job").await?;
    let worker = worker(worker_id)?;
    let leased = Leased { namespace: &grant.namespace, place: place.0, worker: worker.as_str() };
    let token = app.leases().token(&leased, lease_token);
    let token = token.ok_or_else(|| Problem::forbidden("this worker has no such lease of the job"))?;
    Ok((record, token))
}

async fn order(app: &App, record: &Record, command: Command) -> Result<Result<Answer, Refusal>, Problem> {
    let answers = app.ledger().apply(vec![Order { id: record.id.clone(), command }]).await?;
    answers.into_iter().next().ok_or_else(|| Problem::unavailable("the store is closed"))
}
