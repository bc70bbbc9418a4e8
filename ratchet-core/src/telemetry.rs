//! What logs and metrics are told: names, counts and digests, never an input, a result or a key.

use crate::admission::WaitReason;
use crate::decide::{Answer, Refusal};
use crate::model::{DestinationName, OperationName, Outcome, RecordId, State, Submitted};

pub(crate) fn submitted(id: &RecordId, answer: &Submitted) {
    let answer = match answer {
        Submitted::New { .. } => "new",
        Submitted::Existing { .. } => "existing",
        Submitted::Conflict(_) => "conflict",
        Submitted::Expired { .. } => "expired",
    };
    tracing::debug!(operation = %id.operation, key = %id.digest(), answer, "submitted");
    #[cfg(feature = "metrics")]
    metrics::counter!("ratchet_submitted_total", "operation" => id.operation.to_string(), "answer" => answer)
        .increment(1);
}

/// An attempt told its outcome, and this is what became of it. Runs inside the attempt's span, which names the record.
pub(crate) fn reported(operation: &OperationName, outcome: &Outcome, answer: &Result<Answer, Refusal>) {
    let name = outcome.kind().as_str();
    match answer {
        Ok(Answer::Settled(state)) => settled(operation, outcome, *state),
        Ok(_) => tracing::warn!(outcome = name, "reported late: the record has gone on"),
        Err(refusal) => tracing::warn!(outcome = name, %refusal, "the outcome was refused"),
    }
}

/// An attempt ended, and this is how its record goes on.
fn settled(operation: &OperationName, outcome: &Outcome, state: State) {
    let outcome_name = outcome.kind().as_str();
    match outcome.cause() {
        None => tracing::debug!(outcome = outcome_name, %state, "attempt ended"),
        Some(cause) => tracing::warn!(outcome = outcome_name, cause = %cause.kind(), %state, "attempt ended"),
    }
    #[cfg(feature = "metrics")]
    metrics::counter!("ratchet_attempts_total",
        "operation" => operation.to_string(), "outcome" => outcome_name, "state" => state.as_str())
    .increment(1);
    #[cfg(not(feature = "metrics"))]
    let _ = operation;
}

/// A person or a reconciler decided about a record.
pub(crate) fn managed(id: &RecordId, action: &'static str, answer: &Result<Answer, Refusal>) {
    let (operation, key) = (&id.operation, id.digest());
    match answer {
        Ok(Answer::Now(state)) => tracing::info!(%operation, %key, action, %state, "record managed"),
        Ok(_) => tracing::info!(%operation, %key, action, "record managed"),
        Err(refusal) => tracing::info!(%operation, %key, action, %refusal, "not managed"),
    }
    #[cfg(feature = "metrics")]
    metrics::counter!("ratchet_managed_total", "operation" => operation.to_string(), "action" => action)
        .increment(1);
}

/// A send may begin.
pub(crate) fn admitted(destination: &DestinationName) {
    #[cfg(feature = "metrics")]
    metrics::counter!("ratchet_sends_admitted_total", "destination" => destination.to_string()).increment(1);
    #[cfg(not(feature = "metrics"))]
    let _ = destination;
}

/// A send has to wait.
pub(crate) fn postponed(destination: &DestinationName, why: WaitReason) {
    tracing::debug!(%destination, why = why.name(), "a send has to wait");
    #[cfg(feature = "metrics")]
    metrics::counter!("ratchet_sends_postponed_total",
        "destination" => destination.to_string(), "why" => why.name())
    .increment(1);
}

/// Nobody sends to a destination for a while, since it fails.
pub(crate) fn breaker_opened(destination: &DestinationName) {
    tracing::warn!(%destination, "the circuit breaker of a destination opened");
    #[cfg(feature = "metrics")]
    metrics::counter!("ratchet_breakers_opened_total", "destination" => destination.to_string()).increment(1);
}

/// Somebody opened the gate of a destination by hand.
pub(crate) fn reopened(destination: &DestinationName) {
    tracing::info!(%destination, "the gate of a destination was opened by hand");
    #[cfg(feature = "metrics")]
    metrics::counter!("ratchet_gates_reopened_total", "destination" => destination.to_string()).increment(1);
}

/// Leases were over, and their records were decided about.
pub(crate) fn expired(leases: usize) {
    if leases > 0 {
        tracing::warn!(leases, "leases were over");
    }
    #[cfg(feature = "metrics")]
    metrics::counter!("ratchet_leases_expired_total").increment(leases as u64);
}
