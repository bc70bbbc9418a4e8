//! Asks destinations about uncertain records whose operation says how.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Shared;
use crate::decide::{Answer, Command, Verdict};
use crate::ledger::{LedgerError, Served, order};
use crate::model::Record;
use crate::reconcile::{About, Inquiry};
use crate::telemetry;

/// How many questions are under way at once.
const QUESTIONS: usize = 16;

/// How often to look for questions that became due, beside those of this worker's own attempts.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Who decided, in the audit trail.
const RECONCILER: &str = "reconciler";

/// Asks for as long as it is polled.
pub(super) async fn run(shared: Arc<Shared>) {
    let served: Vec<Served> = shared.registry.reconciled().collect();
    if served.is_empty() {
        return;
    }
    loop {
        match round(&shared, &served).await {
            Ok(QUESTIONS..) => continue,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "uncertain records could not be looked up; trying again"),
        }
        tokio::select! {
            biased;
            () = shared.parked.notified() => {}
            () = sleep(LOOK_EVERY) => {}
        }
    }
}

/// Asks about what is due, and says how many questions that were: a ledger that takes none is not asked again at once.
async fn round(shared: &Arc<Shared>, served: &[Served]) -> Result<usize, LedgerError> {
    let due = shared.ledger.to_reconcile(shared.namespace.clone(), served.to_vec(), QUESTIONS).await?;
    let mut asked = 0;
    let mut questions = JoinSet::new();
    for record in due {
        questions.spawn(look_into(Arc::clone(shared), record));
    }
    while let Some(ended) = questions.join_next().await {
        if let Ok(was_asked) = ended {
            asked += usize::from(was_asked);
        } else {
            tracing::error!("a reconciler panicked; it is asked again later");
        }
    }
    Ok(asked)
}

/// Whether it was this worker's turn to ask.
pub(super) async fn look_into(shared: Arc<Shared>, record: Record) -> bool {
    let of = Served { operation: record.id.operation.clone(), version: record.version.clone() };
    let Some(handler) = shared.registry.get(&of) else { return false };
    let Ok(about) = About::record(&record) else { return false };
    // Whoever writes this down asks; the others find that it is not due.
    match order(&*shared.ledger, &record.id, Command::Ask { at_most: record.policy.timeout }).await {
        Ok(Ok(Answer::Asking)) => {}
        Ok(_) => return false,
        Err(error) => {
            tracing::warn!(%error, "a question could not be written down");
            return false;
        }
    }
    let about = Inquiry::new(about, Arc::clone(&shared.states));
    let asked = timeout(record.policy.timeout, handler.ask(about, &record.input)).await;
    let Ok(Some(verdict)) = asked else {
        tracing::info!(operation = %record.id.operation, key = %record.id.digest(), "still unknown");
        return true;
    };
    let command = Command::Resolve {
        by: RECONCILER.to_owned(),
        reason: grounds(&verdict).to_owned(),
        seen: record.token,
        verdict,
    };
    match order(&*shared.ledger, &record.id, command).await {
        Ok(answer) => telemetry::managed(&record.id, "reconcile", &answer),
        // The next question finds the same.
        Err(error) => tracing::warn!(%error, "a verdict could not be written down"),
    }
    true
}

fn grounds(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Applied { .. } => "the destination shows the effect",
        Verdict::NotAppliedAndClosed => "the destination closed the key, and the effect did not happen",
        Verdict::NotAppliedOldCallsRefused => {
            "the effect did not happen, and the destination refuses old calls"
        }
        Verdict::StillUnknown { .. } => "nothing was found out",
    }
}
