//! One attempt: from the lease to the settled record.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinError;
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::Shared;
use super::heartbeat::Held;
use super::slots::{LONGEST_WAIT, Place};
use crate::context::{CancelReason, Context};
use crate::decide::{Answer, Command};
use crate::ledger::{Served, order, report};
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
            biased;
            answer = order(&*shared.ledger, &record.id, Command::Start { token: record.token }) => answer,
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
        settle(shared, record, Outcome::not_entered()).await;
    }
    // Refused where the outcome above was accepted.
    let release = order(&*shared.ledger, &record.id, Command::Release { token: record.token });
    let _ = timeout(LET_GO, release).await;
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
    let handler = handler.run(call, record.input.clone()).in_current_span();
    let mut running = AbortOnDropHandle::new(tokio::spawn(handler));
    // What a handler knows counts, even if it says so in the moment in which its time is over.
    let outcome = tokio::select! {
        biased;
        joined = &mut running => ended(joined, CauseKind::Shutdown, STOPPED),
        () = sleep(record.policy.timeout) => {
            held.signals.cancellation.cancel(CancelReason::Timeout);
            give_up(&mut running, CauseKind::Timeout, "the attempt ran longer than its timeout").await
        }
        () = shared.abandon.cancelled() => give_up(&mut running, CauseKind::Shutdown, STOPPED).await,
    };
    // Whatever the handler left running sends nothing more under this lease.
    held.signals.clock.end();
    context.judge(outcome)
}

const STOPPED: &str = "the worker stopped before the attempt ended";

fn not_entered(why: &str) -> Outcome {
    Outcome::NotApplied { cause: Cause::new(CauseKind::Handler, why), retry_after: None }
}

/// Lets the handler, which was told to stop, say what it knows, and stops it if it does not.
async fn give_up(running: &mut AbortOnDropHandle<Outcome>, kind: CauseKind, why: &str) -> Outcome {
    if let Ok(joined) = timeout(LET_GO, &mut *running).await {
        return ended(joined, kind, why);
    }
    running.abort();
    match timeout(LET_GO, running).await {
        Ok(joined) => ended(joined, kind, why),
        Err(_) => Outcome::unknown(Cause::new(kind, why)),
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

/// Reports the outcome until the ledger has it, or the worker cannot wait any longer.
async fn settle(shared: &Shared, record: &Record, outcome: Outcome) {
    let given_up = async {
        shared.abandon.cancelled().await;
        sleep(LAST_REPORT).await;
    };
    tokio::select! {
        biased;
        answer = report(&*shared.ledger, &record.id, record.token, &outcome) => {
            if answer == Ok(Answer::Settled(State::Uncertain)) {
                shared.parked.notify_one();
            }
            telemetry::reported(&record.id.operation, &outcome, &answer);
        }
        () = given_up => tracing::error!(outcome = outcome.kind().as_str(), "the outcome could not be written before the end"),
    }
}
