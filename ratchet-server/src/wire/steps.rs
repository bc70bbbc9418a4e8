//! How a step stands.

use axum::extract::{Path, State};
use ratchet::ledger::Cursor;
use ratchet::{LedgerError, Record, Timestamp};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::names::{self, JobId, StepId};
use super::record::{cause_of, is_own, of_reader, result_of};
use crate::said::Declarations;
use crate::serve::auth::Reader;
use crate::serve::problem::{Problem, Problems};
use crate::serve::{App, Json};

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct StepBody {
    step_id: String,
    job_id: String,
    /// Null for what was enqueued elsewhere than over the wire.
    run_id: Option<String>,
    name: String,
    version: String,
    /// `WAITING`, `PENDING` or `RUNNING`, or how it ended: `SUCCEEDED`, `FAILED` (refused), `EXHAUSTED` (without effect),
    /// `UNCERTAIN` (failed, effect unknown), `CANCELLED`, `ABANDONED` or `SKIPPED`.
    state: String,
    /// How many executions were started.
    attempts: u32,
    /// To be shown by whoever decides about the step as it is now: it changes with each execution.
    seen: u64,
    /// Some attempt may have had its effect, and nobody has confirmed it.
    effect_unknown: bool,
    /// Why the last attempt did not end well; what its worker said of it, for the producer that enqueued it, and for others
    /// without what the operation hides of its input.
    error: Option<String>,
    /// Milliseconds since the Unix epoch.
    created_at: i64,
    /// Not executed before this point, while it is pending.
    ready_at: Option<i64>,
    ended_at: Option<i64>,
    /// What the handler left; for the producer that enqueued it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    output: Option<Value>,
}

impl StepBody {
    /// The result is for those who enqueued it.
    pub(super) async fn of(
        place: Cursor,
        record: &Record,
        own: bool,
        declared: &mut Declarations<'_>,
    ) -> Result<Self, LedgerError> {
        Ok(Self {
            step_id: StepId(place).to_string(),
            job_id: JobId(place).to_string(),
            run_id: record.group.as_ref().map(ToString::to_string),
            name: record.id.operation.to_string(),
            version: record.version.to_string(),
            state: names::state(record.state),
            attempts: record.attempts,
            seen: record.token.get(),
            effect_unknown: record.may_be_applied(),
            error: cause_of(record, own, declared).await?,
            created_at: record.created_at.as_millis(),
            ready_at: (!record.state.is_settled()).then_some(record.ready_at.as_millis()),
            ended_at: record.settled_at.map(Timestamp::as_millis),
            output: own.then(|| result_of(record)).flatten(),
        })
    }
}

/// Shows how a step stands.
#[utoipa::path(get, path = "/steps/{step}", tag = "producer", params(("step" = String, Path)),
    responses((status = 200, body = StepBody), Problems))]
pub(super) async fn show(
    State(app): State<App>,
    Reader(grant): Reader,
    Path(step): Path<String>,
) -> Result<Json<StepBody>, Problem> {
    let StepId(place) = StepId::parse(&step)?;
    let record = of_reader(&app, &grant, place, "step").await?;
    let own = is_own(&app, &grant, &record).await?;
    Ok(Json(StepBody::of(place, &record, own, &mut Declarations::of(app.ledger())).await?))
}
