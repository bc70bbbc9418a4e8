//! A job as a worker gets it. What can fail comes before the start, so that an answer which is never sent costs nothing.

use ratchet::decide::Command;
use ratchet::ledger::{Cursor, Declared, Order};
use ratchet::{LedgerError, Record, TraceParent, WorkerId, trace};
use serde::Serialize;
use serde_json::Value;
use tokio::runtime::Handle;
use utoipa::ToSchema;

use super::lease::Leased;
use super::names::{JobId, StepId};
use super::workers::lease_of;
use crate::serve::auth::Grant;
use crate::serve::jobs::JobPlace;
use crate::serve::problem::Problem;
use crate::serve::{App, named};

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobBody {
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

/// What has to be known of a leased record before its handler is entered.
struct Known {
    at: Cursor,
    /// What is declared about its operation, where that is stricter than what it was enqueued with.
    stricter: Option<Declared>,
}

/// The job of a leased record; `None` if it may not be executed after all.
pub(super) async fn hand_out(
    app: &App,
    grant: &Grant,
    worker: &WorkerId,
    record: &Record,
    place: JobPlace<'_>,
) -> Result<Option<JobBody>, Problem> {
    // The lease of a record that nobody can execute is left to its end: others have their turn meanwhile.
    let job = of_record(record)?;
    let untold = Untold::of(app, record);
    let begun = match known(app, record).await {
        Ok(known) => start(app, record, known.stricter.as_ref()).await.map(|began| began.then_some(known)),
        Err(error) => Err(error),
    };
    let known = match begun {
        Ok(Some(known)) => known,
        Ok(None) => {
            untold.leave();
            return Ok(None);
        }
        Err(error) => {
            app.doubts_store();
            untold.give_back().await;
            return Err(error.into());
        }
    };
    let at = known.at;
    let token = record.token;
    place.take((at, token), lease_of(record));
    untold.leave();
    let leased = Leased { namespace: &grant.namespace, place: at.0, worker: worker.as_str() };
    Ok(Some(JobBody {
        job_id: JobId(at).to_string(),
        step_id: StepId(at).to_string(),
        lease_token: app.leases().text(&leased, token),
        traceparent: handed_out(record, worker),
        ..job
    }))
}

/// What the record alone says of the job.
fn of_record(record: &Record) -> Result<JobBody, Problem> {
    let unfit = |why: String| Problem::refused("UNREADABLE_INPUT", why);
    Ok(JobBody {
        job_id: String::new(),
        run_id: record.group.as_ref().map(ToString::to_string).unwrap_or_default(),
        step_id: String::new(),
        tool_name: record.id.operation.to_string(),
        tool_version: record.version.to_string(),
        input: record.input.decode().map_err(|error| unfit(error.to_string()))?,
        attempt: record.attempts + 1,
        idempotency_key: record.id.as_text(None).map_err(|error| unfit(error.to_string()))?,
        timeout_ms: u64::try_from(record.policy.timeout.as_millis()).unwrap_or(u64::MAX),
        lease_token: String::new(),
        traceparent: None,
    })
}

async fn known(app: &App, record: &Record) -> Result<Known, LedgerError> {
    let served = record.served();
    let (at, declared, now) = tokio::try_join!(place(app, record), app.declared(&served), app.store_now())?;
    metrics::histogram!("ratchet_claim_wait_seconds", "operation" => named::operation(&record.id.operation))
        .record(now.since(record.ready_at).as_secs_f64());
    let stricter = declared.filter(|declared| record.is_laxer_than(&declared.policy));
    Ok(Known { at, stricter })
}

async fn place(app: &App, record: &Record) -> Result<Cursor, LedgerError> {
    let places = app.ledger().places(vec![record.id.clone()]).await?;
    places.into_iter().next().flatten().ok_or(LedgerError::Closed)
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

/// Writes down that the handler is entered, with a lease that fits the pace of the worker's heartbeats. `false` if somebody
/// has cancelled the record in between, or it is declared by now that it must not be repeated.
async fn start(app: &App, record: &Record, stricter: Option<&Declared>) -> Result<bool, LedgerError> {
    let token = record.token;
    let adopt = stricter.map(|declared| Command::Adopt {
        token,
        contract: declared.contract.clone(),
        policy: Box::new(declared.policy.clone()),
    });
    let begin = [Command::Start { token }, Command::Renew { token, duration: lease_of(record) }];
    let orders = adopt.into_iter().chain(begin);
    let orders = orders.map(|command| Order { id: record.id.clone(), command }).collect();
    let answers = app.ledger().apply(orders).await?;
    Ok(answers.iter().rev().take(2).all(Result::is_ok))
}

/// A lease that no worker is told of yet. It is given back also where the caller goes away meanwhile.
struct Untold(Option<(App, Record)>);

impl Untold {
    fn of(app: &App, record: &Record) -> Self {
        Self(Some((app.clone(), record.clone())))
    }

    /// A worker is told, or the lease ends by itself.
    fn leave(mut self) {
        self.0 = None;
    }

    async fn give_back(mut self) {
        if let Some((app, record)) = &self.0 {
            give_back(app, record).await;
        }
        self.0 = None;
    }
}

impl Drop for Untold {
    fn drop(&mut self) {
        // Where the whole process ends, the lease ends by itself.
        if let (Some((app, record)), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(async move { give_back(&app, &record).await });
        }
    }
}

/// Gives the lease of a job back that no worker was told of, whether or not its start was written down. What fails is made
/// good by the end of the lease.
async fn give_back(app: &App, record: &Record) {
    let mut started = record.clone();
    if let Some(lease) = &mut started.lease {
        lease.started_at = Some(lease.until);
    }
    let orders = vec![Order::giving_back(started), Order::giving_back(record.clone())];
    if let Err(error) = app.ledger().apply(orders).await {
        tracing::warn!(%error, "a lease could not be given back; it ends by itself");
    }
}
