//! Tells the ledger how attempts ended: all that ended while earlier ones were written go with one call.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{Instrument as _, Span};

use super::Shared;
use super::heartbeat::Held;
use crate::decide::{Answer, Command, Refusal};
use crate::ledger::{LedgerError, Order, report};
use crate::model::{Outcome, RecordId, State, Token};
use crate::telemetry;

/// The most outcomes in one call.
const MOST_TOGETHER: usize = 512;

/// The most calls that are under way: one is written while the next one gathers, and one that hangs stops nothing.
const MOST_CALLS: usize = 4;

/// How long a worker that stops goes on trying to report an outcome that the ledger does not take.
pub(super) const LAST_REPORT: Duration = Duration::from_secs(10);

/// How an attempt ended, and its lease, which is kept until the ledger knows.
pub(super) struct Report {
    pub(super) id: RecordId,
    pub(super) token: Token,
    pub(super) outcome: Outcome,
    pub(super) held: Held,
    /// That of the attempt.
    pub(super) span: Span,
}

/// Reports until no attempt is left that could end.
pub(super) async fn run(shared: Arc<Shared>, mut ended: UnboundedReceiver<Report>) {
    let (mut calls, mut alone) = (JoinSet::new(), JoinSet::new());
    let mut reports = Vec::new();
    loop {
        tokio::select! {
            biased;
            Some(untold) = calls.join_next(), if !calls.is_empty() => {
                for report in untold.unwrap_or_default() {
                    alone.spawn(tell(Arc::clone(&shared), report));
                }
            }
            Some(_) = alone.join_next(), if !alone.is_empty() => {}
            taken = ended.recv_many(&mut reports, MOST_TOGETHER), if calls.len() < MOST_CALLS => {
                if taken == 0 {
                    break;
                }
                calls.spawn(tell_together(Arc::clone(&shared), std::mem::take(&mut reports)));
            }
        }
    }
    while let Some(untold) = calls.join_next().await {
        for report in untold.unwrap_or_default() {
            alone.spawn(tell(Arc::clone(&shared), report));
        }
    }
    while alone.join_next().await.is_some() {}
}

/// Answers with what could not be told. What is wrong with one must not keep the others, so each is told alone then.
async fn tell_together(shared: Arc<Shared>, reports: Vec<Report>) -> Vec<Report> {
    let settles = |report: &Report| Order {
        id: report.id.clone(),
        command: Command::Settle { token: report.token, outcome: report.outcome.clone() },
    };
    let orders = reports.iter().map(settles).collect();
    let answers = timeout(shared.lease, shared.ledger.apply(orders)).await;
    match answers.unwrap_or(Err(LedgerError::Closed)) {
        Ok(answers) if answers.len() == reports.len() => {
            for (report, answer) in reports.iter().zip(&answers) {
                report.span.in_scope(|| told(&shared, &report.id, &report.outcome, answer));
            }
            drop(reports);
            shared.restored.worked();
            shared.slots.reported();
            Vec::new()
        }
        Ok(_) => reports,
        Err(error) => {
            tracing::warn!(outcomes = reports.len(), %error, "outcomes could not be written; trying again");
            reports
        }
    }
}

async fn tell(shared: Arc<Shared>, report: Report) {
    let Report { id, token, outcome, held, span } = report;
    settle(&shared, &id, token, &outcome).instrument(span).await;
    drop(held);
    shared.restored.worked();
    shared.slots.reported();
}

/// Reports an outcome until the ledger has it, or the worker cannot wait any longer.
pub(super) async fn settle(shared: &Shared, id: &RecordId, token: Token, outcome: &Outcome) {
    let given_up = async {
        shared.abandon.cancelled().await;
        sleep(LAST_REPORT).await;
    };
    tokio::select! {
        biased;
        answer = report(&*shared.ledger, id, token, outcome) => told(shared, id, outcome, &answer),
        () = given_up => tracing::error!(outcome = outcome.kind().as_str(), "the outcome could not be written before the end"),
    }
}

fn told(shared: &Shared, id: &RecordId, outcome: &Outcome, answer: &Result<Answer, Refusal>) {
    if *answer == Ok(Answer::Settled(State::Uncertain)) {
        shared.parked.notify_one();
    }
    telemetry::reported(&id.operation, outcome, answer);
}
