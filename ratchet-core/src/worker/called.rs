//! Attempts that somebody else asks for: what an engine that pushes calls, where a worker of a database polls.

use std::sync::Arc;

use super::{Shared, Worker, worker_name};
use crate::decide::{Refusal, Stored};
use crate::execution::{Execution, Executor};
use crate::ledger::{LedgerError, Served};
use crate::model::{Outcome, Record, RecordId, State};
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
        }
    }
}

impl Worker {
    /// Tells the ledger what this worker serves, as [`run`](Self::run) does by itself.
    ///
    /// # Errors
    /// As `run`: if the ledger fails, or holds another key template for one of the operations.
    pub async fn declare(&self) -> Result<(), LedgerError> {
        self.shared.ledger.declare(self.shared.registry.declarations()).await
    }

    /// Makes one attempt at a record, as soon as a place for a handler is free; or asks its destination, if it is uncertain
    /// and that is due.
    ///
    /// For a drive that is told what to run now. It may be called as often as it likes: whoever comes while another attempt
    /// holds the lease, or after the end, is refused by the record.
    ///
    /// # Errors
    /// If the ledger fails. What was leased ends with its lease then.
    pub async fn attempt(&self, id: RecordId) -> Result<Attempted, LedgerError> {
        let shared = &self.shared;
        let Some(Stored::Record(record)) = shared.ledger.find(id).await? else {
            return Ok(Attempted::Refused(Refusal::NoRecord));
        };
        let Some(handler) = shared.handler_of(&record) else { return Ok(Attempted::NotServed) };
        if record.state == State::Uncertain {
            super::reconcile::look_into(Arc::clone(shared), *record).await;
            return Ok(Attempted::Asked);
        }
        let mut place = shared.slots.queue();
        place.enter().await;
        let executor = Executor {
            // Each attempt has a name of its own, by which it knows its lease.
            name: worker_name(&SystemRandom::shared()),
            lease: shared.lease,
            clock: shared.clock.clone(),
            contract: handler.spec().contract,
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
        let running = handler.run(call, execution.record().input.clone());
        let outcome = execution.run(running).await.unwrap_or_else(Outcome::unknown);
        if let Err(refusal) = execution.settle(outcome.clone()).await? {
            tracing::info!(%refusal, "the outcome came too late");
        }
        Ok(outcome)
    }
}
