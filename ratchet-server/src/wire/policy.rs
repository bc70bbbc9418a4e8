//! How steps are retried: the policies of endpoints, and what applies to one step.

use std::time::Duration;

use axum::extract::{Path, State};
use ratchet::ledger::{Declared, Served};
use ratchet::{
    Contract, DocumentKind, Fingerprint, Namespace, OnUnknown, OperationName, Policy, Priority, Queue,
    RetryPolicy, Terms, VolatileFields,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::tools;
use crate::serve::auth::{Operator, Reader};
use crate::serve::problem::{Problem, Problems};
use crate::serve::shelf::Kept;
use crate::serve::{App, Json};

/// When a step that failed is executed again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "preset", rename_all = "UPPERCASE", deny_unknown_fields)]
pub(super) enum PolicyBody {
    /// 5 executions, the first wait 30 s, doubling up to 15 minutes, spread by 20 per cent.
    Standard {},
    /// 8 executions, the first wait 5 s, doubling up to 5 minutes, spread by 20 per cent.
    Aggressive {},
    /// 3 executions, the first wait 2 minutes, doubling up to 30 minutes, spread by 20 per cent.
    Relaxed {},
    /// All of it as given.
    #[serde(rename_all = "camelCase")]
    Custom {
        /// The first execution included.
        #[schema(minimum = 1, maximum = 100)]
        max_attempts: u32,
        #[schema(minimum = 0, maximum = 86_400_000)]
        initial_delay_ms: u64,
        /// By how much each wait is longer than the one before; hundredths count.
        #[schema(minimum = 1, maximum = 100)]
        multiplier: f64,
        /// The longest wait, before the spread.
        #[schema(minimum = 0, maximum = 86_400_000)]
        max_delay_ms: u64,
        /// By how many per cent a wait is spread in both directions, to the nearest whole one.
        #[schema(minimum = 0, maximum = 100)]
        jitter_percent: f64,
    },
}

/// What is kept of an endpoint, under its name.
#[derive(Serialize, Deserialize)]
struct EndpointPolicy {
    policy: PolicyBody,
}

impl Kept for EndpointPolicy {
    const KIND: DocumentKind = DocumentKind::from_static("endpoint_policy");
}

/// The most executions that a policy or a producer may ask for.
const MOST_ATTEMPTS: u32 = 100;
const A_DAY_MS: u64 = 86_400_000;

impl PolicyBody {
    /// The policy in the core's terms.
    pub(super) fn retry(&self) -> Result<RetryPolicy, Problem> {
        match *self {
            Self::Standard {} => Ok(RetryPolicy::STANDARD),
            Self::Aggressive {} => Ok(RetryPolicy::AGGRESSIVE),
            Self::Relaxed {} => Ok(RetryPolicy::RELAXED),
            Self::Custom { max_attempts, initial_delay_ms, multiplier, max_delay_ms, jitter_percent } => {
                let sound = (1..=MOST_ATTEMPTS).contains(&max_attempts)
                    && initial_delay_ms <= A_DAY_MS
                    && max_delay_ms <= A_DAY_MS
                    && (1.0..=100.0).contains(&multiplier)
                    && (0.0..=100.0).contains(&jitter_percent);
                if !sound {
                    return Err(Problem::malformed(OUT_OF_BOUNDS));
                }
                Ok(RetryPolicy {
                    max_attempts,
                    first_delay: Duration::from_millis(initial_delay_ms),
                    growth_percent: rounded(multiplier * 100.0),
                    max_delay: Duration::from_millis(max_delay_ms),
                    jitter_percent: rounded(jitter_percent),
                    ..RetryPolicy::STANDARD
                })
            }
        }
    }
}

const OUT_OF_BOUNDS: &str = "a custom policy has maxAttempts from 1 to 100, initialDelayMs and maxDelayMs up to 86400000, \
    multiplier from 1 to 100 and jitterPercent from 0 to 100";

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 0 and 10000")]
fn rounded(number: f64) -> u32 {
    number.round() as u32
}

/// Shows the policy of an endpoint; one that was never set is STANDARD.
#[utoipa::path(get, path = "/endpoints/{endpoint}/policy", tag = "operator",
    params(("endpoint" = String, Path)), responses((status = 200, body = PolicyBody), Problems))]
pub(super) async fn show(
    State(app): State<App>,
    Reader(grant): Reader,
    Path(endpoint): Path<String>,
) -> Result<Json<PolicyBody>, Problem> {
    let endpoint = named(&endpoint)?;
    let kept: Option<EndpointPolicy> = app.shelf().read(&grant.namespace, endpoint.as_str()).await?;
    Ok(Json(kept.map_or(PolicyBody::Standard {}, |kept| kept.policy)))
}

/// Sets the policy of an endpoint, for steps that are enqueued from now on: each keeps the policy that it was enqueued with.
#[utoipa::path(put, path = "/endpoints/{endpoint}/policy", tag = "operator",
    params(("endpoint" = String, Path)), request_body = PolicyBody,
    responses((status = 200, body = PolicyBody), Problems))]
pub(super) async fn set(
    State(app): State<App>,
    Operator(grant): Operator,
    Path(endpoint): Path<String>,
    Json(policy): Json<PolicyBody>,
) -> Result<Json<PolicyBody>, Problem> {
    policy.retry()?;
    let endpoint = named(&endpoint)?;
    grant.require_operation(&endpoint)?;
    app.shelf().change(&grant.namespace, endpoint.as_str(), |_| Some(EndpointPolicy { policy })).await?;
    Ok(Json(policy))
}

/// Endpoints are named like operations, which are endpoints of their own unless said otherwise.
fn named(endpoint: &str) -> Result<OperationName, Problem> {
    OperationName::new(endpoint.to_owned())
        .map_err(|error| Problem::malformed(format!("this is no endpoint: {error}")))
}

/// What a producer says about the retries of one step.
pub(super) struct Wishes<'a> {
    pub(super) endpoint: &'a str,
    pub(super) contract: Option<&'a str>,
    pub(super) timeout_ms: Option<u64>,
    pub(super) max_attempts: Option<u32>,
}

/// What applies to one step, as its record keeps it.
pub(super) struct Applies {
    pub(super) policy: Policy,
    pub(super) contract: Terms,
    pub(super) queue: Queue,
    pub(super) priority: Priority,
    volatile: VolatileFields,
}

impl Applies {
    /// What tells another input under the same key, where that is not all of it.
    pub(super) fn compared(&self, input: &Value) -> Option<Fingerprint> {
        self.volatile.compared(input)
    }
}

/// What applies to a step: what its operation declares, be it of another version, and over that the policy of its endpoint, of its tool's contract,
/// and the producer's own wishes.
pub(super) async fn of(
    app: &App,
    namespace: &Namespace,
    of: &Served,
    wishes: &Wishes<'_>,
) -> Result<Applies, Problem> {
    let declared = app.declared(of).await?;
    let is_declared = declared.is_some();
    let mut applies = declared.map_or_else(of_the_wire, as_declared);
    let endpoint = named(wishes.endpoint)?;
    let kept: Option<EndpointPolicy> = app.shelf().recent(namespace, endpoint.as_str()).await?;
    let tool = tools::contract_of(app, namespace, &of.operation, wishes.contract).await?;
    let chosen = tool.and_then(|tool| tool.retry_policy).or(kept.map(|kept| kept.policy));
    let retry = &mut applies.policy.retry;
    if let Some(chosen) = chosen {
        *retry = RetryPolicy { horizon: retry.horizon, ..chosen.retry()? };
    }
    if let Some(attempts) = wishes.max_attempts {
        if !(1..=MOST_ATTEMPTS).contains(&attempts) {
            return Err(Problem::malformed("maxAttempts is a number from 1 to 100"));
        }
        retry.max_attempts = attempts;
    }
    if let Some(timeout) = wishes.timeout_ms {
        if !(1000..=A_DAY_MS).contains(&timeout) {
            return Err(Problem::malformed("timeoutMs is a number from 1000 to 86400000"));
        }
        applies.policy.timeout = Duration::from_millis(timeout);
    }
    if !is_declared {
        // Its attempts bound it; each may have to wait for a day.
        let retry = &mut applies.policy.retry;
        retry.horizon = RetryPolicy::LONGEST_DELAY.saturating_mul(retry.max_attempts);
    }
    Ok(applies)
}

fn as_declared(declared: Declared) -> Applies {
    let Declared { policy, contract, queue, priority, volatile, .. } = declared;
    Applies { policy, contract, queue, priority, volatile }
}

/// Nobody has said what the destination of such an operation promises. Clients of the protocol expect that what failed is
/// tried again with the same key, which acts twice where the destination does not deduplicate.
fn of_the_wire() -> Applies {
    Applies {
        policy: Policy { on_unknown: OnUnknown::MayDuplicate, ..Policy::DEFAULT },
        contract: Contract::NONE.terms(),
        queue: Queue::DEFAULT,
        priority: Priority::default(),
        volatile: VolatileFields::default(),
    }
}
