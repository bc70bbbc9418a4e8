//! Puts a step on record.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use ratchet::ledger::Served;
use ratchet::{
    After, Branch, Generation, GroupId, Key, OperationName, Payload, PayloadError, RecordId, Stored,
    Submission, Submitted, TraceParent, Version, trace,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::names::{self, JobId, StepId};
use super::policy::{self, Wishes};
use super::record::{is_own, result_of, seen_by};
use super::runs::{self, Run};
use crate::serve::auth::{Grant, Producer};
use crate::serve::observe::{is_about, trace_parent};
use crate::serve::problem::{Problem, Problems};
use crate::serve::{App, Json, named};

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EnqueueBody {
    /// The operation.
    #[schema(min_length = 1, max_length = 128, pattern = "^[a-z0-9_.-]+$")]
    name: String,
    /// The version of its handler; never substituted.
    #[schema(min_length = 1, max_length = 32, pattern = "^[A-Za-z0-9_.+-]+$")]
    version: String,
    /// Handed to the handler. Integers beyond ±(2^53−1) are refused, since JSON implementations round them.
    #[schema(value_type = Value)]
    input: Value,
    /// Whose policy applies; the operation's name unless said otherwise.
    #[schema(min_length = 1, max_length = 128, pattern = "^[a-z0-9_.-]+$")]
    endpoint: Option<String>,
    /// The identity of the action: the same for every repetition, and handed to the destination as it is.
    #[schema(min_length = 1, max_length = 255)]
    idempotency_key: String,
    /// Which contract of the tool applies; the one that was published last unless said otherwise.
    #[schema(min_length = 1, max_length = 64)]
    contract_version: Option<String>,
    /// How long one attempt may run.
    #[schema(minimum = 1000, maximum = 86_400_000)]
    timeout_ms: Option<u64>,
    /// How many executions there are at the most, the first one included.
    #[schema(minimum = 1, maximum = 100)]
    max_attempts: Option<u32>,
    /// Waits for the end of another step.
    after: Option<AfterBody>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AfterBody {
    /// A step that the producer may see: one of its own, or any of its operations where the key is an operator's too.
    step_id: String,
    /// On which end this one is executed; on any other it is skipped.
    on: On,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
enum On {
    /// A follow-up.
    Succeeded,
    /// A fallback. The effect of the failed step may have happened all the same.
    Failed,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Enqueued {
    step_id: String,
    job_id: String,
    /// The run that the step belongs to: for one that was on record already, the run that enqueued it first.
    run_id: Option<String>,
    /// As in the answer to `GET /steps/{step}`.
    state: String,
    /// Whether it was put on record now; otherwise it was before.
    created: bool,
    /// The version that it was enqueued for first.
    version: String,
    /// What the handler left; for the producer that enqueued it first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    output: Option<Value>,
}

/// Puts a step on record, once for each operation and idempotency key. Asking again is safe.
#[utoipa::path(post, path = "/runs/{run}/enqueue", tag = "producer", params(("run" = String, Path)),
    request_body = EnqueueBody,
    responses(
        (status = 201, body = Enqueued, description = "It is on record now."),
        (status = 200, body = Enqueued, description = "It was on record before."),
        Problems))]
pub(super) async fn enqueue(
    State(app): State<App>,
    Producer(grant): Producer,
    Path(run): Path<String>,
    headers: HeaderMap,
    Json(body): Json<EnqueueBody>,
) -> Result<(StatusCode, Json<Enqueued>), Problem> {
    app.require_taking()?;
    let (group, run) = runs::own(&app, &grant, &run).await?;
    let submission =
        Submission { trace: place_in_trace(&headers, &run), ..submission(&app, &grant, group, body).await? };
    // What a finished run has enqueued may be asked for again.
    if !run.is_open() && app.ledger().find(submission.id.clone()).await?.is_none() {
        return Err(Problem::refused("RUN_FINISHED", "the run is finished and takes no more steps"));
    }
    let asked = submission.id.clone();
    let answer = app.ledger().submit(vec![submission]).await?.pop();
    let answer = answer.ok_or_else(|| Problem::unavailable("the store is closed"))?;
    tell(&asked, &answer);
    match answer {
        Submitted::New { id } => answered(&app, &grant, id, true).await,
        Submitted::Existing { id, .. } => answered(&app, &grant, id, false).await,
        Submitted::Conflict(ratchet::Conflict::NoPredecessor) => {
            Err(Problem::not_found("step to come after"))
        }
        Submitted::Conflict(conflict) => Err(Problem::refused("IDEMPOTENCY_CONFLICT", conflict.to_string())),
        Submitted::Expired { ended_on, state } => {
            let text = format!("this action ended on {ended_on} ({state}) and its record is purged");
            Err(Problem::refused("IDEMPOTENCY_KEY_EXPIRED", text))
        }
    }
}

/// Where in which trace the call belongs: what it says itself, or else what the one that started the run did.
fn place_in_trace(headers: &HeaderMap, run: &Run) -> Option<TraceParent> {
    let told = trace_parent(headers);
    if told.is_none() && run.trace.is_some() { run.trace } else { trace::current().or(told) }
}

async fn submission(
    app: &App,
    grant: &Grant,
    group: GroupId,
    body: EnqueueBody,
) -> Result<Submission, Problem> {
    let operation = OperationName::new(body.name).map_err(|error| Problem::malformed(error.to_string()))?;
    grant.require_operation(&operation)?;
    let version = Version::new(body.version).map_err(|error| Problem::malformed(error.to_string()))?;
    let of = Served { operation: operation.clone(), version: version.clone() };
    let wishes = Wishes {
        endpoint: body.endpoint.as_deref().unwrap_or(operation.as_str()),
        contract: body.contract_version.as_deref(),
        timeout_ms: body.timeout_ms,
        max_attempts: body.max_attempts,
    };
    let terms = policy::of(app, &grant.namespace, &of, &wishes).await?;
    let input =
        Payload::from_value(&body.input, Payload::LARGEST_INPUT).map_err(|error| unstorable(&error))?;
    let compared = terms.compared(&body.input);
    let after = match body.after {
        None => None,
        Some(after) => Some(predecessor(app, grant, &after).await?),
    };
    Ok(Submission {
        id: identity(grant, operation, &body.idempotency_key)?,
        version,
        input,
        compared,
        policy: terms.policy,
        contract: terms.contract,
        not_before: None,
        queue: terms.queue,
        priority: terms.priority,
        group: Some(group),
        after,
        renewal: None,
        trace: None,
    })
}

/// The key as it is; what the marks of the identity add counts towards its limit.
fn identity(grant: &Grant, operation: OperationName, key: &str) -> Result<RecordId, Problem> {
    let refused =
        |error: ratchet::KeyError| Problem::malformed(format!("this is no idempotency key: {error}"));
    let key = Key::parse(key).map_err(refused)?;
    let id = RecordId { namespace: grant.namespace.clone(), operation, key, generation: Generation::FIRST };
    id.next_generation().as_text(None).map_err(refused)?;
    Ok(id)
}

async fn predecessor(app: &App, grant: &Grant, after: &AfterBody) -> Result<After, Problem> {
    let StepId(place) = StepId::parse(&after.step_id)?;
    let id = seen_by(app, grant, place, "step to come after").await?;
    let on = match after.on {
        On::Succeeded => Branch::Succeeded,
        On::Failed => Branch::Failed,
    };
    Ok(After { id, on })
}

async fn answered(
    app: &App,
    grant: &Grant,
    id: RecordId,
    created: bool,
) -> Result<(StatusCode, Json<Enqueued>), Problem> {
    let ledger = app.ledger();
    let (found, places) = tokio::try_join!(ledger.find(id.clone()), ledger.places(vec![id]))?;
    let (Some(Stored::Record(record)), Some(Some(place))) = (found, places.into_iter().next()) else {
        return Err(Problem::refused("IDEMPOTENCY_KEY_EXPIRED", "the record was purged just now"));
    };
    let own = is_own(app, grant, &record).await?;
    let answer = Enqueued {
        step_id: StepId(place).to_string(),
        job_id: JobId(place).to_string(),
        run_id: record.group.as_ref().map(ToString::to_string),
        state: names::state(record.state),
        created,
        version: record.version.to_string(),
        output: own.then(|| result_of(&record)).flatten(),
    };
    Ok((if created { StatusCode::CREATED } else { StatusCode::OK }, Json(answer)))
}

fn unstorable(error: &PayloadError) -> Problem {
    Problem::malformed(format!("the input is refused: {error}"))
}

/// What the core tells logs and metrics about submissions of Rust programs.
fn tell(id: &RecordId, answer: &Submitted) {
    let answer = match answer {
        Submitted::New { .. } => "new",
        Submitted::Existing { .. } => "existing",
        Submitted::Conflict(_) => "conflict",
        Submitted::Expired { .. } => "expired",
    };
    is_about(id);
    tracing::info!(operation = %id.operation, key = %id.digest(), answer, "submitted");
    metrics::counter!("ratchet_submitted_total", "operation" => named::operation(&id.operation), "answer" => answer)
        .increment(1);
}
