//! Runs: groups of steps that a producer starts and finishes.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use ratchet::ledger::Filter;
use ratchet::{DocumentKind, GroupId, LedgerError, Namespace, Timestamp, TraceParent};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::names::{self, StepId};
use super::steps::StepBody;
use crate::said::Declarations;
use crate::serve::auth::{Grant, Producer, Reader, Scope};
use crate::serve::observe::trace_parent;
use crate::serve::problem::{Problem, Problems};
use crate::serve::shelf::Kept;
use crate::serve::{App, Json};

/// What is kept of a run, under its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Run {
    name: String,
    /// The name of the key that started it.
    pub(super) owner: String,
    status: RunStatus,
    project: Option<String>,
    environment: Option<String>,
    started_at: Timestamp,
    finished_at: Option<Timestamp>,
    /// Where in which trace its producer started it, for the workers of its steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) trace: Option<TraceParent>,
}

impl Kept for Run {
    const KIND: DocumentKind = DocumentKind::from_static("run");
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
enum RunStatus {
    /// Takes steps.
    Running,
    /// Its producer has said that it is done.
    Succeeded,
    /// Its producer has given it up.
    Failed,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct StartRun {
    /// For people.
    #[schema(min_length = 1, max_length = 200)]
    name: String,
    /// A label, together with `environmentId`. The namespace is that of the key, whatever these say.
    #[schema(max_length = 200)]
    project_id: Option<String>,
    #[schema(max_length = 200)]
    environment_id: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FinishRun {
    status: FinalStatus,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
enum FinalStatus {
    Succeeded,
    Failed,
}

#[derive(Serialize, ToSchema)]
pub(super) struct RunAnswer {
    run: RunBody,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RunBody {
    id: String,
    name: String,
    status: RunStatus,
    project_id: Option<String>,
    environment_id: Option<String>,
    /// Milliseconds since the Unix epoch.
    started_at: i64,
    finished_at: Option<i64>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct StepsOfRun {
    steps: Vec<StepBody>,
    /// The id to ask for the next page with, as `?after=`; null at the end.
    next: Option<String>,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PageQuery {
    /// Only steps behind this one, the `next` of an earlier page.
    after: Option<String>,
}

const LONGEST_TEXT: usize = 200;

/// Starts a run.
#[utoipa::path(post, path = "/runs", tag = "producer", request_body = StartRun,
    responses((status = 201, body = RunAnswer), Problems))]
pub(super) async fn start(
    State(app): State<App>,
    Producer(grant): Producer,
    headers: HeaderMap,
    Json(body): Json<StartRun>,
) -> Result<(axum::http::StatusCode, Json<RunAnswer>), Problem> {
    app.require_taking()?;
    if body.project_id.is_some() != body.environment_id.is_some() {
        return Err(Problem::malformed("projectId and environmentId come together or not at all"));
    }
    let texts = [Some(&body.name), body.project_id.as_ref(), body.environment_id.as_ref()];
    if body.name.is_empty() || texts.into_iter().flatten().any(|text| text.chars().count() > LONGEST_TEXT) {
        return Err(Problem::malformed("a run has a name, and its texts have 200 characters at the most"));
    }
    let run = Run {
        name: body.name,
        owner: grant.name,
        status: RunStatus::Running,
        project: body.project_id,
        environment: body.environment_id,
        started_at: app.now(),
        finished_at: None,
        trace: trace_parent(&headers),
    };
    let id = names::new_run(app.now())?;
    app.shelf().create(&grant.namespace, id.as_str(), &run).await?;
    Ok((axum::http::StatusCode::CREATED, answer(&id, run)))
}

/// Shows a run.
#[utoipa::path(get, path = "/runs/{run}", tag = "producer", params(("run" = String, Path)),
    responses((status = 200, body = RunAnswer), Problems))]
pub(super) async fn show(
    State(app): State<App>,
    Reader(grant): Reader,
    Path(id): Path<String>,
) -> Result<Json<RunAnswer>, Problem> {
    let (id, run) = readable(&app, &grant, &id).await?;
    Ok(answer(&id, run))
}

/// Finishes a run. It takes no more steps then; those that it has go on.
#[utoipa::path(patch, path = "/runs/{run}", tag = "producer", params(("run" = String, Path)),
    request_body = FinishRun, responses((status = 200, body = RunAnswer), Problems))]
pub(super) async fn finish(
    State(app): State<App>,
    Producer(grant): Producer,
    Path(id): Path<String>,
    Json(body): Json<FinishRun>,
) -> Result<Json<RunAnswer>, Problem> {
    let (id, _) = own(&app, &grant, &id).await?;
    let status = match body.status {
        FinalStatus::Succeeded => RunStatus::Succeeded,
        FinalStatus::Failed => RunStatus::Failed,
    };
    let finished_at = Some(app.now());
    let finished = |run: Option<Run>| match run {
        Some(run) if run.status == status => Some(run),
        Some(run) if run.status == RunStatus::Running => Some(Run { status, finished_at, ..run }),
        _ => None,
    };
    let run = app.shelf().change(&grant.namespace, id.as_str(), finished).await?;
    let run =
        run.ok_or_else(|| Problem::refused("RUN_FINISHED", "the run is finished with the other status"))?;
    Ok(answer(&id, run))
}

/// Lists the steps of a run, a hundred at a time, in the order in which they were enqueued.
#[utoipa::path(get, path = "/runs/{run}/steps", tag = "producer",
    params(("run" = String, Path), PageQuery), responses((status = 200, body = StepsOfRun), Problems))]
pub(super) async fn list(
    State(app): State<App>,
    Reader(grant): Reader,
    Path(id): Path<String>,
    query: Result<axum::extract::Query<PageQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<StepsOfRun>, Problem> {
    let query = query.map_err(|_| Problem::malformed("the query has one parameter, `after`"))?.0;
    let (id, run) = readable(&app, &grant, &id).await?;
    let after = query.after.as_deref().map(StepId::parse).transpose()?.map(|step| step.0);
    let filter = Filter {
        namespace: grant.namespace.clone(),
        group: Some(id),
        after,
        limit: 100,
        ..Filter::default()
    };
    let page = app.ledger().list(filter).await?;
    let own = grant.has(Scope::Producer) && run.owner == grant.name;
    let mut declared = Declarations::of(app.ledger());
    let mut steps = Vec::with_capacity(page.records.len());
    for (place, record) in page.places.iter().zip(&page.records) {
        if grant.allows(&record.id.operation) {
            steps.push(StepBody::of(*place, record, own, &mut declared).await?);
        }
    }
    let next = page.next.map(|place| StepId(place).to_string());
    Ok(Json(StepsOfRun { steps, next }))
}

fn answer(id: &GroupId, run: Run) -> Json<RunAnswer> {
    let run = RunBody {
        id: id.to_string(),
        name: run.name,
        status: run.status,
        project_id: run.project,
        environment_id: run.environment,
        started_at: run.started_at.as_millis(),
        finished_at: run.finished_at.map(Timestamp::as_millis),
    };
    Json(RunAnswer { run })
}

/// A run that the caller started.
pub(super) async fn own(app: &App, grant: &Grant, id: &str) -> Result<(GroupId, Run), Problem> {
    let (id, run) = find(app, &grant.namespace, id).await?;
    if run.owner == grant.name { Ok((id, run)) } else { Err(Problem::not_found("run")) }
}

async fn readable(app: &App, grant: &Grant, id: &str) -> Result<(GroupId, Run), Problem> {
    if grant.has(Scope::Operator) {
        return find(app, &grant.namespace, id).await;
    }
    own(app, grant, id).await
}

async fn find(app: &App, namespace: &Namespace, id: &str) -> Result<(GroupId, Run), Problem> {
    let id = names::run(id)?;
    let run = app.shelf().read(namespace, id.as_str()).await?;
    run.map(|run| (id, run)).ok_or_else(|| Problem::not_found("run"))
}

/// For so long a run is known at the least; longer than records are usually kept.
const KEPT_FOR: Duration = Duration::from_hours(24 * 100);

/// Forgets runs that are over for long and have no records any more.
pub(crate) async fn forget_old(app: &App, namespace: &Namespace) -> Result<(), LedgerError> {
    let mut last: Option<String> = None;
    loop {
        let page = app.shelf().page::<Run>(namespace, last.as_deref()).await?;
        for (id, run) in &page {
            // The others are younger.
            if app.now().since(run.started_at) < KEPT_FOR {
                return Ok(());
            }
            let group = GroupId::new(id.as_str()).ok();
            let filter = Filter { namespace: namespace.clone(), group, limit: 1, ..Filter::default() };
            if app.ledger().list(filter).await?.records.is_empty() {
                app.shelf().delete::<Run>(namespace, id).await?;
            }
        }
        let Some((id, _)) = page.into_iter().next_back() else { return Ok(()) };
        last = Some(id);
    }
}

impl Run {
    /// Whether it takes more steps.
    pub(super) fn is_open(&self) -> bool {
        self.status == RunStatus::Running
    }
}
