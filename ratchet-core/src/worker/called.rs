//! Attempts that somebody else asks for: what an engine that pushes calls, where a worker of a database polls.

use std::pin::pin;
use std::sync::Arc;

use tokio::time::timeout;

use super::attempt::LET_GO;
use super::poll::LAST_MOMENT;
use super::reconcile::look_into;
use super::{Shared, Worker, worker_name};
use crate::context::CancelReason;
use crate::decide::{Refusal, Stored};
use crate::execution::{Execution, Executor};
use crate::ledger::{Declaration, LedgerError, Offer, Served};
use crate::model::{Cause, CauseKind, Namespace, Outcome, Record, RecordId, State};
use crate::operation::{Call, Handler};
use crate::random::SystemRandom;

/// What came of an attempt that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Attempted {
    /// The attempt ended, and this is what it knew.
    Ended(Outcome),
    /// The destination of an uncertain record was asked.
    Asked,
    /// The worker does not serve this namespace, operation or version, or the queue: the record waits on.
    NotServed,
    /// Nothing was executed, as it was not the time for it.
    Refused(Refusal),
    /// As many attempts wait as may: the record waits on.
    Full,
    /// The worker [stops](Worker::stop) and begins nothing more: the record waits for another one.
    Stopping,
}

impl Attempted {
    /// In a word or two, for journals and logs: nothing of the record is in it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Ended(outcome) => outcome.kind().as_str(),
            Self::Asked => "asked",
            Self::NotServed => "not served",
            Self::Refused(_) => "refused",
            Self::Full => "full",
            Self::Stopping => "stopping",
        }
    }
}

impl Worker {
    /// In which namespace it executes.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.shared.namespace
    }

    /// What it executes.
    #[must_use]
    pub fn offers(&self) -> &[Offer] {
        &self.shared.offers
    }

    /// What it [declares](Self::declare).
    #[must_use]
    pub fn declarations(&self) -> Vec<Declaration> {
        self.shared.registry.declarations()
    }

    /// Looks whether [attempts](Self::attempt) can be all that this worker was built for. Asks nobody.
    ///
    /// # Errors
    /// If the ledger cannot do what one of the operations asks for, or the worker was given a file for the store's high-water
    /// mark, which only [`run`](Self::run) heeds.
    pub fn check(&self) -> Result<(), LedgerError> {
        if self.shared.restored.has_file() {
            let what = "recognise a restored backup while it pushes attempts: build the worker without a high-water file";
            return Err(LedgerError::Unsupported { what });
        }
        self.shared.ledger.capabilities().check(&self.declarations())
    }

    /// Tells the ledger what this worker serves, before the first [`attempt`](Self::attempt).
    ///
    /// # Errors
    /// As [`check`](Self::check); if the ledger fails, or holds another key template for one of the operations.
    pub async fn declare(&self) -> Result<(), LedgerError> {
        self.check()?;
        self.shared.ledger.declare(self.declarations()).await
    }

    /// Begins no more attempts, tells those that run to stop, and waits for them: as [`run`](Self::run) does at its
    /// shutdown, as long as the grace lasts.
    pub async fn stop(&self) {
        let shared = &self.shared;
        shared.stopping.cancel();
        if timeout(self.grace, shared.slots.all_free()).await.is_ok() {
            return;
        }
        shared.abandon.cancel();
        if timeout(LAST_MOMENT, shared.slots.all_free()).await.is_err() {
            tracing::error!(worker = %shared.name, "attempts did not end: their leases end by themselves");
        }
    }

    /// Ready when few [attempts](Self::attempt) wait for a place, and says then how many more may: at least half of all that
    /// may. For one caller at a time.
    pub async fn room(&self) -> usize {
        self.shared.slots.room_to_wait().await
    }

    /// Makes one attempt at a record, as soon as a place for a handler is free; or asks its destination, if it is uncertain
    /// and that is due.
    ///
    /// For a drive that is told what to run now. It may be called as often as it likes: whoever comes while another attempt
    /// holds the lease, or after the end, is refused by the record. As many as run at once may wait, and 100 more: beyond that
    /// it is [`Attempted::Full`] until there is [room](Self::room).
    ///
    /// # Errors
    /// If the ledger fails. What was leased ends with its lease then.
    pub async fn attempt(&self, id: RecordId) -> Result<Attempted, LedgerError> {
        let shared = &self.shared;
        if shared.stopping.is_cancelled() {
            return Ok(Attempted::Stopping);
        }
        let Some(mut place) = shared.slots.queue_unless_full() else { return Ok(Attempted::Full) };
        let Some(Stored::Record(record)) = shared.ledger.find(id).await? else {
            return Ok(Attempted::Refused(Refusal::NoRecord));
        };
        let Some(handler) = shared.handler_of(&record) else { return Ok(Attempted::NotServed) };
        tokio::select! {
            biased;
            () = shared.stopping.cancelled() => return Ok(Attempted::Stopping),
            () = place.enter() => {}
        }
        if record.state == State::Uncertain {
            // A question that is given up here is asked again later.
            let asked = shared.abandon.run_until_cancelled(look_into(Arc::clone(shared), *record)).await;
            return Ok(if asked.is_some() { Attempted::Asked } else { Attempted::Stopping });
        }
        let executor = Executor {
            // Each attempt has a name of its own, by which it knows its lease.
            name: worker_name(&SystemRandom::shared()),
            lease: shared.lease,
            clock: shared.clock.clone(),
            contract: handler.spec().contract,
            policy: handler.spec().policy.clone(),
            secrets: Arc::clone(&shared.secrets),
        };
        let states = Arc::clone(&shared.states);
        let begun = Execution::begin_with(shared.ledger.clone(), record.id, executor, states).await?;
        match begun {
            Ok(execution) => Ok(Attempted::Ended(shared.run(&handler, execution).await?)),
            Err(refusal) => Ok(Attempted::Refused(refusal)),
        }
    }
}

impl Shared {
    fn handler_of(&self, record: &Record) -> Option<Handler> {
        let served = Served { operation: record.id.operation.clone(), version: record.version.clone() };
        let offered = self.offers.iter().any(|offer| offer.served == served && offer.queue == record.queue);
        let is_ours = offered && record.id.namespace == self.namespace;
        self.registry.get(&served).filter(|_| is_ours).copied()
    }

    async fn run(&self, handler: &Handler, execution: Execution) -> Result<Outcome, LedgerError> {
        let call = Call::new(execution.context().clone(), Arc::clone(&self.states));
        let handler = handler.run(call, execution.record().input.clone());
        let ended = {
            let mut running = pin!(execution.run(handler));
            tokio::select! {
                biased;
                ended = &mut running => ended,
                cause = self.given_up(&execution) => timeout(LET_GO, running).await.unwrap_or(Err(cause)),
            }
        };
        let outcome = ended.unwrap_or_else(Outcome::unknown);
        if let Err(refusal) = execution.settle(outcome.clone()).await? {
            tracing::info!(%refusal, "the outcome came too late");
        }
        Ok(outcome)
    }

    /// Ready when the worker waits no longer for an attempt that it has told to stop.
    async fn given_up(&self, execution: &Execution) -> Cause {
        self.stopping.cancelled().await;
        execution.cancel(CancelReason::Shutdown);
        self.abandon.cancelled().await;
        Cause::new(CauseKind::Shutdown, "the worker stopped before the attempt ended")
    }
}
