//! Runs a step again, after a look at what that may do.

use axum::extract::{Path, State};
use ratchet::decide::{Command, Refusal, UnconfirmedEffect, preview_replay};
use ratchet::ledger::{Cursor, Order};
use ratchet::{Answer, Record, Timestamp, Token};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::names::{self, JobId, StepId};
use super::record::{of_namespace, refused};
use crate::serve::auth::Operator;
use crate::serve::problem::{Problem, Problems};
use crate::serve::{App, Json};

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PreviewBody {
    step_id: String,
    state: String,
    /// To be shown with the replay, so that it is refused if the step is executed meanwhile.
    seen: u64,
    /// Whether a replay is possible at all, with or without a risk.
    replayable: bool,
    /// Whether the effect may then happen twice, so that a replay needs `acknowledgeDuplicateRisk`.
    duplicate_risk: bool,
    /// What stands in the way or makes it a risk, in words.
    reason: Option<String>,
    /// The effects that some attempt may have had and nobody has confirmed.
    unconfirmed: Vec<EffectBody>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct EffectBody {
    /// Of which step inside the handler; null for the handler's own.
    part: Option<String>,
    /// Milliseconds since the Unix epoch.
    first_sent_at: Option<i64>,
    /// Until when the destination recognises a repetition; null if it never does.
    recognised_until: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ReplayBody {
    /// The caller accepts that the effect may happen twice.
    acknowledge_duplicate_risk: bool,
    /// How many executions there are at the most.
    #[schema(minimum = 1, maximum = 100)]
    max_attempts: u32,
    /// Why; kept in the record's audit trail.
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
    /// What the preview said of it. Without it, the step is replayed whatever has become of it since.
    seen: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReplayedBody {
    step_id: String,
    job_id: String,
    state: String,
}

const LONGEST_REASON: usize = 500;

const UNRECOGNISED: &str =
    "the effect may have happened, and nothing is known of a destination that would recognise a repetition";

/// Foretells what a replay would do.
#[utoipa::path(get, path = "/steps/{step}/replay", tag = "operator", params(("step" = String, Path)),
    responses((status = 200, body = PreviewBody), Problems))]
pub(super) async fn preview(
    State(app): State<App>,
    Operator(grant): Operator,
    Path(step): Path<String>,
) -> Result<Json<PreviewBody>, Problem> {
    let StepId(place) = StepId::parse(&step)?;
    let record = of_namespace(&app, &grant, place, "step").await?;
    Ok(Json(foretold(place, &record, app.store_now().await?)))
}

fn foretold(place: Cursor, record: &Record, now: Timestamp) -> PreviewBody {
    let preview = preview_replay(record, now);
    let needs_consent = matches!(preview.decision, Err(Refusal::RiskNotAccepted(_)));
    // An operation that may be duplicated runs again without consent; a person is told what that means all the same.
    let forgotten = |effect: &UnconfirmedEffect| {
        !effect.asked_first && effect.recognised_until.is_none_or(|end| end <= now)
    };
    let replayable = needs_consent || preview.decision.is_ok();
    let risk = replayable && (needs_consent || preview.unconfirmed.iter().any(forgotten));
    let reason = match preview.decision {
        Err(refusal) => Some(refusal.to_string()),
        Ok(_) => risk.then(|| UNRECOGNISED.to_owned()),
    };
    PreviewBody {
        step_id: StepId(place).to_string(),
        state: names::state(record.state),
        seen: record.token.get(),
        replayable,
        duplicate_risk: risk,
        reason,
        unconfirmed: preview.unconfirmed.iter().map(effect).collect(),
    }
}

fn effect(effect: &UnconfirmedEffect) -> EffectBody {
    EffectBody {
        part: effect.step.as_ref().map(ToString::to_string),
        first_sent_at: effect.first_sent_at.map(Timestamp::as_millis),
        recognised_until: effect.recognised_until.map(Timestamp::as_millis),
    }
}

/// Runs a step again with the same idempotency key.
#[utoipa::path(post, path = "/steps/{step}/replay", tag = "operator", params(("step" = String, Path)),
    request_body = ReplayBody, responses((status = 200, body = ReplayedBody), Problems))]
pub(super) async fn replay(
    State(app): State<App>,
    Operator(grant): Operator,
    Path(step): Path<String>,
    Json(body): Json<ReplayBody>,
) -> Result<Json<ReplayedBody>, Problem> {
    let StepId(place) = StepId::parse(&step)?;
    let record = of_namespace(&app, &grant, place, "step").await?;
    if body.reason.trim().is_empty() || body.reason.chars().count() > LONGEST_REASON {
        return Err(Problem::malformed("say why, in 1 to 500 characters"));
    }
    if !(1..=100).contains(&body.max_attempts) {
        return Err(Problem::malformed("maxAttempts is a number from 1 to 100"));
    }
    let now = app.store_now().await?;
    if foretold(place, &record, now).duplicate_risk && !body.acknowledge_duplicate_risk {
        return Err(Problem::refused("DUPLICATE_RISK", UNRECOGNISED));
    }
    // A risk is accepted only where there is one that the decision asks about: otherwise the destination is asked as usual.
    let asks = matches!(preview_replay(&record, now).decision, Err(Refusal::RiskNotAccepted(_)));
    let command = Command::Replay {
        by: grant.name,
        reason: body.reason,
        accept_risk: asks && body.acknowledge_duplicate_risk,
        at_most: Some(body.max_attempts),
        seen: body.seen.map(Token::new),
    };
    let order = Order { id: record.id.clone(), command };
    match app.ledger().apply(vec![order]).await?.pop() {
        Some(Ok(Answer::Now(state))) => Ok(Json(ReplayedBody {
            step_id: StepId(place).to_string(),
            job_id: JobId(place).to_string(),
            state: names::state(state),
        })),
        Some(Err(refusal)) => Err(refused(&refusal)),
        _ => Err(Problem::unavailable("the store is closed")),
    }
}
