//! One attempt: from the lease to the settled record.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};
use tokio::time::{sleep, timeout};
use tracing::Instrument as _;

use super::Shared;
use super::heartbeat::Held;
use crate::context::{CancelReason, Cancellation, Context, LeaseClock};
use crate::decide::{Answer, Command, Refusal};
use crate::ledger::{LedgerError, Order};
use crate::model::{Cause, CauseKind, Outcome, Record};
use crate::operation::Call;
use crate::telemetry;

/// How long an aborted handler may take to let go; one that blocks its thread never does.
const LET_GO: Duration = Duration::from_secs(1);

/// How long a worker that stops goes on trying to report an outcome that the ledger does not take.
const LAST_REPORT: Duration = Duration::from_secs(10);

pub(super) async fn execute(shared: Arc<Shared>, mut record: Record, asked: Duration) {
    let Some(lease) = record.lease.clone() else { return };
    let held = Held {
        clock: Arc::new(LeaseClock::new(shared.clock.clone(), lease.until, asked, shared.lease)),
        cancellation: Arc::new(Cancellation::new()),
    };
    shared.leases.add(record.id.clone(), record.token, held.clone());
    if lease.started_at.is_none() {
        match start(&shared, &record).await {
            Ok(()) => record.attempts += 1,
            // Nothing was started, so nothing is lost: the lease is given back or ends by itself.
            Err(why) => {
                tracing::info!(%why, "not started");
                let _ = order(&shared, &record, Command::Release { token: record.token }).await;
                shared.leases.remove(&record.id, record.token);
                return;
            }
        }
    }
    tracing::Span::current().record("attempt", record.attempts);
    let outcome = run_handler(&shared, &record, &held).await;
    settle(&shared, &record, outcome).await;
    shared.leases.remove(&record.id, record.token);
}

async fn order(
    shared: &Shared,
    record: &Record,
    command: Command,
) -> Result<Result<Answer, Refusal>, LedgerError> {
    let answers = shared.ledger.apply(vec![Order { id: record.id.clone(), command }]).await?;
    answers.into_iter().next().ok_or(LedgerError::Closed)
}

async fn start(shared: &Shared, record: &Record) -> Result<(), String> {
    match order(shared, record, Command::Start { token: record.token }).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(refusal)) => Err(refusal.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

async fn run_handler(shared: &Arc<Shared>, record: &Record, held: &Held) -> Outcome {
    let served =
        crate::ledger::Served { operation: record.id.operation.clone(), version: record.version.clone() };
    let context =
        Context::of_attempt(record, shared.ledger.clone(), held.clock.clone(), held.cancellation.clone());
    let (handler, context) = match (shared.registry.get(&served), context) {
        (Some(handler), Ok(context)) => (handler, context),
        (None, _) => {
            return not_entered("the ledger handed out an operation that this worker does not serve");
        }
        (_, Err(_)) => return not_entered("the identity is longer than a key may be"),
    };
    let call = Call::new(context, Arc::clone(&shared.states));
    // A task of its own, so that a panic ends here and an abort works between two polls.
    let mut running = Running(tokio::spawn(handler.run(call, record.input.clone()).in_current_span()));
    tokio::select! {
        joined = &mut running.0 => ended(joined, CauseKind::Shutdown, "the worker stopped before the attempt ended"),
        () = sleep(record.policy.timeout) => {
            held.cancellation.cancel(CancelReason::Timeout);
            running.give_up(CauseKind::Timeout, "the attempt ran longer than its timeout").await
        }
        () = shared.abandon.cancelled() => {
            running.give_up(CauseKind::Shutdown, "the worker stopped before the attempt ended").await
        }
    }
}

fn not_entered(why: &str) -> Outcome {
    Outcome::NotApplied { cause: Cause::new(CauseKind::Handler, why), retry_after: None }
}

/// A handler in its own task, which ends with this value.
struct Running(JoinHandle<Outcome>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Running {
    /// Stops the handler. If it has ended meanwhile, what it knows counts.
    async fn give_up(&mut self, kind: CauseKind, why: &str) -> Outcome {
        self.0.abort();
        match timeout(LET_GO, &mut self.0).await {
            Ok(joined) => ended(joined, kind, why),
            Err(_) => Outcome::unknown(Cause::new(kind, why)),
        }
    }
}

/// A panic's text stays out of the record: it may hold anything.
fn ended(joined: Result<Outcome, JoinError>, kind: CauseKind, why: &str) -> Outcome {
    match joined {
        Ok(outcome) => outcome,
        Err(error) if error.is_panic() => {
            Outcome::unknown(Cause::new(CauseKind::Panic, "the handler panicked"))
        }
        Err(_) => Outcome::unknown(Cause::new(kind, why)),
    }
}

/// Reports the outcome until the ledger has it: what happened must not be forgotten because a disk was full.
async fn settle(shared: &Shared, record: &Record, outcome: Outcome) {
    let command = Command::Settle { token: record.token, outcome: outcome.clone() };
    let mut wait = Duration::from_millis(50);
    let report = async {
        loop {
            match order(shared, record, command.clone()).await {
                Ok(answer) => break answer,
                Err(error) => tracing::warn!(%error, "the outcome could not be written; trying again"),
            }
            sleep(wait).await;
            wait = (wait * 2).min(Duration::from_secs(5));
        }
    };
    let given_up = async {
        shared.abandon.cancelled().await;
        sleep(LAST_REPORT).await;
    };
    tokio::select! {
        answer = report => match answer {
            Ok(Answer::Settled(state)) => telemetry::settled(&record.id.operation, &outcome, state),
            Ok(_) => tracing::warn!(outcome = outcome.kind().as_str(), "reported late: the record has gone on"),
            Err(refusal) => tracing::warn!(outcome = outcome.kind().as_str(), %refusal, "the outcome was refused"),
        },
        () = given_up => tracing::error!(outcome = outcome.kind().as_str(), "the outcome could not be written before the end"),
    }
}
