//! One attempt: from the lease to the settled record.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};
use tokio::time::{sleep, timeout};
use tracing::Instrument as _;

use super::Shared;
use super::heartbeat::Held;
use super::slots::{LONGEST_WAIT, Place};
use crate::context::{CancelReason, Context};
use crate::decide::{Answer, Command, Refusal};
use crate::ledger::{LedgerError, Order, Served};
use crate::model::{Cause, CauseKind, Outcome, Record, State};
use crate::operation::Call;
use crate::telemetry;

/// How long a handler may take to stop after it was told to, and to let go after it was aborted; one that blocks its
/// thread never does.
const LET_GO: Duration = Duration::from_secs(1);

/// How long a worker that stops goes on trying to report an outcome that the ledger does not take.
const LAST_REPORT: Duration = Duration::from_secs(10);

pub(super) async fn execute(shared: Arc<Shared>, mut record: Record, held: Held, mut place: Place) {
    let started = record.lease.as_ref().is_some_and(|lease| lease.started_at.is_some());
    let entered = tokio::select! {
        biased;
        () = shared.stopping.cancelled() => false,
        entered = timeout(LONGEST_WAIT, place.enter()) => entered.is_ok(),
    };
    if !entered {
        drop(place);
        return give_back(&shared, &record, started).await;
    }
    if !started {
        let answer = tokio::select! {
            answer = order(&shared, &record, Command::Start { token: record.token }) => answer,
            // Whether it counts as started is not known; the lease ends by itself.
            () = shared.abandon.cancelled() => return,
        };
        match answer {
            Ok(Ok(_)) if shared.stopping.is_cancelled() => return give_back(&shared, &record, true).await,
            Ok(Ok(_)) => record.attempts += 1,
            Ok(Err(refusal)) => {
                tracing::info!(%refusal, "not started");
                return give_back(&shared, &record, false).await;
            }
            // The mark may have been written all the same.
            Err(error) => {
                tracing::warn!(%error, "the start could not be written");
                return give_back(&shared, &record, true).await;
            }
        }
    }
    tracing::Span::current().record("attempt", record.attempts);
    let outcome = run_handler(&shared, &record, &held).await;
    // Another handler may be entered while this outcome is written.
    drop(place);
    settle(&shared, &record, outcome).await;
    shared.restored.worked();
}

/// The handler was not entered: a lease without a start costs nothing, and a start without a handler had no effect.
async fn give_back(shared: &Shared, record: &Record, maybe_started: bool) {
    if maybe_started {
        // As a wait, it spends none of the allowed attempts: nobody tried.
        let cause = Cause::new(CauseKind::Handler, "the handler was not entered");
        settle(shared, record, Outcome::NotApplied { cause, retry_after: Some(Duration::ZERO) }).await;
    }
    // Refused where the outcome above was accepted.
    let release = order(shared, record, Command::Release { token: record.token });
    let _ = timeout(LET_GO, release).await;
}

pub(super) async fn order(
    shared: &Shared,
    record: &Record,
    command: Command,
) -> Result<Result<Answer, Refusal>, LedgerError> {
    let answers = shared.ledger.apply(vec![Order { id: record.id.clone(), command }]).await?;
    answers.into_iter().next().ok_or(LedgerError::Closed)
}

async fn run_handler(shared: &Arc<Shared>, record: &Record, held: &Held) -> Outcome {
    let served = Served { operation: record.id.operation.clone(), version: record.version.clone() };
    let Some(handler) = shared.registry.get(&served) else {
        return not_entered("the ledger handed out what this worker does not serve");
    };
    let context = Context::of_attempt(
        record,
        handler.spec().contract,
        Arc::clone(&shared.secrets),
        shared.ledger.clone(),
        held.signals.clock.clone(),
        held.signals.cancellation.clone(),
        Arc::clone(&shared.states),
    );
    let Ok(context) = context else { return not_entered("the identity is longer than a key may be") };
    let call = Call::new(context.clone(), Arc::clone(&shared.states));
    // A task of its own, so that a panic ends here and an abort works between two polls.
    let mut running = Running(tokio::spawn(handler.run(call, record.input.clone()).in_current_span()));
    let outcome = tokio::select! {
        joined = &mut running.0 => ended(joined, CauseKind::Shutdown, STOPPED),
        () = sleep(record.policy.timeout) => {
            held.signals.cancellation.cancel(CancelReason::Timeout);
            running.give_up(CauseKind::Timeout, "the attempt ran longer than its timeout").await
        }
        () = shared.abandon.cancelled() => running.give_up(CauseKind::Shutdown, STOPPED).await,
    };
    // Whatever the handler left running sends nothing more under this lease.
    held.signals.clock.end();
    context.judge(outcome)
}

const STOPPED: &str = "the worker stopped before the attempt ended";

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
    /// Lets the handler, which was told to stop, say what it knows, and stops it if it does not.
    async fn give_up(&mut self, kind: CauseKind, why: &str) -> Outcome {
        if let Ok(joined) = timeout(LET_GO, &mut self.0).await {
            return ended(joined, kind, why);
        }
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
            Ok(Answer::Settled(state)) => {
                if state == State::Uncertain {
                    shared.parked.notify_one();
                }
                telemetry::settled(&record.id.operation, &outcome, state);
            }
            Ok(_) => tracing::warn!(outcome = outcome.kind().as_str(), "reported late: the record has gone on"),
            Err(refusal) => tracing::warn!(outcome = outcome.kind().as_str(), %refusal, "the outcome was refused"),
        },
        () = given_up => tracing::error!(outcome = outcome.kind().as_str(), "the outcome could not be written before the end"),
    }
}
