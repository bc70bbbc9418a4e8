//! Jobs under way: heartbeats, reports, cancelling.

use std::time::Duration;

use axum::extract::{Path, State};
use ratchet::decide::Command;
use ratchet::ledger::Order;
use ratchet::{Answer, Cause, CauseKind, Outcome, Payload, Record, Refusal, Token};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::lease::Leased;
use super::names::{self, JobId, StepId};
use super::record::{of_namespace, of_reader, refused};
use super::workers::{lease_of, worker};
use crate::serve::auth::{Executing, Grant, Reader};
use crate::serve::problem::{Problem, Problems};
use crate::serve::{App, Json};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelBody {}

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
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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

/// What an attempt says at its end.
#[derive(Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "UPPERCASE", deny_unknown_fields)]
pub(super) enum ReportBody {
    /// The effect happened.
    #[serde(rename_all = "camelCase")]
    Succeeded {
        worker_id: String,
        lease_token: String,
        /// What duplicates receive; 64 KiB of JSON at the most.
        #[schema(value_type = Value)]
        output: Value,
    },
    /// The handler failed. Whether the effect happened is unknown.
    #[serde(rename_all = "camelCase")]
    Failed {
        worker_id: String,
        lease_token: String,
        /// For people. One line of it is kept.
        error: String,
        /// Whether another attempt, with the same key, is of any use.
        retryable: bool,
        /// It waits at least so long.
        #[schema(minimum = 1000, maximum = 86_400_000)]
        retry_after_ms: Option<u64>,
    },
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
    Json(CancelBody {}): Json<CancelBody>,
) -> Result<Json<CancelledBody>, Problem> {
    let JobId(place) = JobId::parse(&job)?;
    let record = of_reader(&app, &grant, place, "job").await?;
    let command =
        Command::Cancel { by: grant.name, reason: "asked for over the wire".to_owned(), seen: None };
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
    if is_overdue(&app, &record, token) {
        return Ok(Json(BeatBody { accepted: false, cancel_requested: record.cancel_requested }));
    }
    let renewed = order(&app, &record, Command::Renew { token, duration: lease_of(&record) }).await?;
    let (accepted, cancel_requested) = match renewed {
        Ok(Answer::Renewed { cancel_requested, .. }) => (true, cancel_requested),
        _ => (false, record.cancel_requested),
    };
    Ok(Json(BeatBody { accepted, cancel_requested }))
}

/// A handler that hangs beats on for ever. When its time is long over, its lease is left to end, and its effect is unknown.
fn is_overdue(app: &App, record: &Record, token: Token) -> bool {
    const MARGIN: Duration = Duration::from_secs(10);
    let started = record.lease.as_ref().and_then(|lease| lease.started_at).filter(|_| record.token == token);
    started.is_some_and(|at| app.now().since(at) > record.policy.timeout + MARGIN)
}

/// Says how a job ended. A report that comes after its lease went to another attempt is kept on its own attempt, and
/// refused.
#[utoipa::path(post, path = "/workers/jobs/{job}/report", tag = "worker", params(("job" = String, Path)),
    request_body = ReportBody, responses((status = 200, body = ReportedBody), Problems))]
pub(super) async fn report(
    State(app): State<App>,
    Executing(grant): Executing,
    Path(job): Path<String>,
    Json(body): Json<ReportBody>,
) -> Result<Json<ReportedBody>, Problem> {
    let (worker_id, lease_token) = body.lease();
    let (record, token) = held(&app, &grant, &job, worker_id, lease_token).await?;
    let outcome = body.outcome()?;
    let kind = outcome.kind().as_str();
    let settled = order(&app, &record, Command::Settle { token, outcome }).await?;
    match settled {
        Ok(Answer::Settled(state)) => {
            let (operation, key) = (&record.id.operation, record.id.digest());
            tracing::info!(%operation, %key, %token, outcome = kind, %state, "reported");
            metrics::counter!("ratchet_attempts_total",
                "operation" => record.id.operation.to_string(), "outcome" => kind, "state" => state.as_str())
            .increment(1);
            Ok(Json(ReportedBody { accepted: true, state: names::state(state) }))
        }
        Ok(Answer::Late(_)) | Err(Refusal::Superseded) => {
            metrics::counter!("ratchet_stale_reports_total", "operation" => record.id.operation.to_string())
                .increment(1);
            tracing::warn!(operation = %record.id.operation, key = %record.id.digest(), outcome = kind, "reported late");
            Err(refused(&Refusal::Superseded))
        }
        Ok(_) => Err(Problem::unavailable("the store is closed")),
        Err(refusal) => Err(refused(&refusal)),
    }
}

impl ReportBody {
    fn lease(&self) -> (&str, &str) {
        match self {
            Self::Succeeded { worker_id, lease_token, .. } | Self::Failed { worker_id, lease_token, .. } => {
                (worker_id, lease_token)
            }
        }
    }

    /// What the attempt knows. From the wire a failure says nothing about the effect.
    fn outcome(&self) -> Result<Outcome, Problem> {
        match self {
            Self::Succeeded { output, .. } => Ok(done(output)),
            Self::Failed { retry_after_ms: Some(hint), retryable, .. }
                if !retryable || !(1000..=86_400_000).contains(hint) =>
            {
                Err(Problem::malformed(
                    "retryAfterMs is a number from 1000 to 86400000, for what is retryable",
                ))
            }
            Self::Failed { error, retryable, retry_after_ms, .. } => {
                let kind = if *retryable { CauseKind::Failed } else { CauseKind::NotRetryable };
                let retry_after = retry_after_ms.map(Duration::from_millis);
                Ok(Outcome::Unknown { cause: Cause::new(kind, error), retry_after })
            }
        }
    }
}

/// The effect happened, whether or not its result can be stored.
fn done(output: &Value) -> Outcome {
    match Payload::from_value(output, Payload::LARGEST_RESULT) {
        Ok(result) => Outcome::done(result),
        Err(error) => {
            Outcome::Done { result: None, missing: Some(Cause::new(CauseKind::UnstorableResult, error)) }
        }
    }
}

/// The record of a job and the token of a lease of it that this worker was granted, at some time.
async fn held(
    app: &App,
    grant: &Grant,
    job: &str,
    worker_id: &str,
    lease_token: &str,
) -> Result<(Record, Token), Problem> {
    let JobId(place) = JobId::parse(job)?;
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
