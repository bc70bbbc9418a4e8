//! One attempt: from the lease to the settled record.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{sleep, timeout};
use tracing::Span;

use super::Shared;
use super::heartbeat::Held;
use super::report::{Report, settle};
use super::slots::{LONGEST_WAIT, Place};
use crate::context::{CancelReason, Context};
use crate::decide::{Answer, Command};
use crate::ledger::order;
use crate::model::{Cause, CauseKind, Outcome, Record};
use crate::operation::{Call, Handler};

/// How long a handler may take to stop after it was told to; one that blocks its thread never does.
pub(super) const LET_GO: Duration = Duration::from_secs(1);

pub(super) async fn execute(
    shared: Arc<Shared>,
    mut record: Record,
    held: Held,
    mut place: Place,
    reports: UnboundedSender<Report>,
) {
    let started = record.lease.as_ref().is_some_and(|lease| lease.started_at.is_some());
    if !enters(&shared, &mut place).await {
        drop(place);
        return give_back(&shared, &record, started).await;
    }
    if !started {
        if !adopts(&shared, &record).await {
            return give_back(&shared, &record, false).await;
        }
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
    let span = Span::current();
    span.record("attempt", record.attempts);
    let outcome = run_handler(&shared, &record, &held).await;
    // Another handler may be entered while this outcome is written.
    drop(place);
    // Nobody takes reports any more after the last moment of the worker: the lease ends by itself.
    let _ = reports.send(Report { id: record.id, token: record.token, outcome, held, span });
}

/// Holds what was enqueued before its operation was declared to the declaration. `false` if it may not be executed.
async fn adopts(shared: &Shared, record: &Record) -> bool {
    let Some(spec) = shared.registry.get(&record.served()).map(Handler::spec) else { return true };
    if !record.is_laxer_than(&spec.policy) {
        return true;
    }
    let (contract, policy) = (spec.contract.terms(), Box::new(spec.policy.clone()));
    let adopt = Command::Adopt { token: record.token, contract, policy };
    matches!(order(&*shared.ledger, &record.id, adopt).await, Ok(Ok(Answer::Adopted)))
}

/// Waits for its turn. `false` if there will be none.
async fn enters(shared: &Shared, place: &mut Place) -> bool {
    if shared.stopping.is_cancelled() || place.is_entered() {
        return !shared.stopping.is_cancelled();
    }
    tokio::select! {
        biased;
        () = shared.stopping.cancelled() => false,
        entered = timeout(LONGEST_WAIT, place.enter()) => entered.is_ok(),
    }
}

/// The handler was not entered: a lease without a start costs nothing, and a start without a handler had no effect.
///
/// Boxed, since every attempt would keep room for it otherwise.
fn give_back<'a>(
    shared: &'a Shared,
    record: &'a Record,
    maybe_started: bool,
) -> Pin<Box<impl Future<Output = ()> + Send + 'a>> {
    Box::pin(async move {
        if maybe_started {
            settle(shared, &record.id, record.token, &Outcome::not_entered()).await;
        }
        // Refused where the outcome above was accepted.
        let release = order(&*shared.ledger, &record.id, Command::Release { token: record.token });
        let _ = timeout(LET_GO, release).await;
    })
}

async fn run_handler(shared: &Shared, record: &Record, held: &Held) -> Outcome {
    let Some(handler) = shared.registry.get(&record.served()) else {
        return not_entered("the ledger handed out what this worker does not serve");
    };
    let signals = &held.signals;
    let context = Context::of_attempt(
        record,
        handler.spec().contract,
        Arc::clone(&shared.secrets),
        shared.ledger.clone(),
        signals.clock.clone(),
        signals.cancellation.clone(),
        Arc::clone(&shared.states),
    );
    let Ok(context) = context else { return not_entered("the identity is longer than a key may be") };
    let call = Call::new(context.clone(), Arc::clone(&shared.states));
    signals.enters(record.policy.timeout);
    let mut running = Running(handler.run(call, record.input.clone()));
    // A handler that is ready at once costs neither a timer nor a place among those who wait for the end.
    let outcome = tokio::select! {
        biased;
        outcome = &mut running => outcome,
        () = sleep(record.policy.timeout) => {
            signals.cancellation.cancel(CancelReason::Timeout);
            give_up(&mut running, CauseKind::Timeout, "the attempt ran longer than its timeout").await
        }
        () = shared.abandon.cancelled() => {
            give_up(&mut running, CauseKind::Shutdown, "the worker stopped before the attempt ended").await
        }
    };
    drop(running);
    signals.leaves();
    context.judge(outcome)
}

fn not_entered(why: &str) -> Outcome {
    Outcome::NotApplied { cause: Cause::new(CauseKind::Handler, why), retry_after: None }
}

/// Lets the handler, which was told to stop, say what it knows. It is polled no more if it does not.
async fn give_up(running: &mut Running, kind: CauseKind, why: &str) -> Outcome {
    timeout(LET_GO, running).await.unwrap_or_else(|_| Outcome::unknown(Cause::new(kind, why)))
}

/// A handler whose panic is an outcome.
struct Running(Pin<Box<dyn Future<Output = Outcome> + Send>>);

impl Future for Running {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Outcome> {
        // It is not polled again after a panic.
        let polled = catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context)));
        // A panic's text stays out of the record: it may hold anything.
        polled.unwrap_or_else(|_| {
            Poll::Ready(Outcome::unknown(Cause::new(CauseKind::Panic, "the handler panicked")))
        })
    }
}
