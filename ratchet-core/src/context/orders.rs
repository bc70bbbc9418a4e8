//! How an attempt has commands carried out on its own record.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::admission::{Gate, GateAnswer, GateOrder};
use crate::decide::{Answer, Command, Jitter, Moment, Refusal, decide};
use crate::failure::Failure;
use crate::ledger::{LedgerError, Ordered, SharedLedger, order};
use crate::model::{Cause, CauseKind, Outcome, Record, RecordId, Token, WorkerId};
use crate::time::SharedClock;

pub(crate) type OrderFuture<'a> = Pin<Box<dyn Future<Output = Ordered> + Send + 'a>>;
pub(crate) type GateFuture<'a> = Pin<Box<dyn Future<Output = Result<GateAnswer, LedgerError>> + Send + 'a>>;

/// Has commands carried out on the record of one running attempt.
pub(crate) trait Orders: Send + Sync + fmt::Debug {
    fn order(&self, command: Command) -> OrderFuture<'_>;

    /// Asks the gate of a destination, or reports to it.
    fn gate(&self, order: GateOrder) -> GateFuture<'_>;
}

/// On a record in a ledger.
#[derive(Debug)]
pub(crate) struct LedgerOrders {
    pub(crate) ledger: SharedLedger,
    pub(crate) id: RecordId,
}

impl Orders for LedgerOrders {
    fn order(&self, command: Command) -> OrderFuture<'_> {
        Box::pin(order(&*self.ledger, &self.id, command))
    }

    fn gate(&self, order: GateOrder) -> GateFuture<'_> {
        Box::pin(async move {
            let answers = self.ledger.admit(vec![order]).await?;
            answers.into_iter().next().ok_or(LedgerError::Closed)
        })
    }
}

/// On a record in memory, by the same decision function.
#[derive(Debug)]
pub(crate) struct UnitTestOrders {
    record: Mutex<Record>,
    clock: SharedClock,
}

impl UnitTestOrders {
    pub(crate) fn new(record: Record, clock: SharedClock) -> Self {
        let moment = Moment { now: clock.now(), jitter: Jitter::MIDDLE };
        let lease = Command::Lease {
            worker: WorkerId::from_static("unit-test"),
            duration: Duration::from_mins(1),
            start_if_safe: false,
        };
        let start = Command::Start { token: Token::new(1) };
        let started = [lease, start].iter().fold(record, |record, command| {
            decide(&record, command, moment).map_or(record, |decision| decision.record)
        });
        Self { record: Mutex::new(started), clock }
    }
}

impl Orders for UnitTestOrders {
    fn order(&self, command: Command) -> OrderFuture<'_> {
        Box::pin(async move {
            let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
            let moment = Moment { now: self.clock.now(), jitter: Jitter::MIDDLE };
            Ok(decide(&record, &command, moment).map(|decision| {
                *record = decision.record;
                decision.answer
            }))
        })
    }

    /// A unit test shares its destination with nobody.
    fn gate(&self, order: GateOrder) -> GateFuture<'_> {
        Box::pin(async move {
            let (_, answer) =
                Gate::default().decide(order.destination.limits(), &order.command, self.clock.now());
            Ok(answer)
        })
    }
}

/// The answer to what is asked before something is done. Whatever is no answer says that this was not done.
pub(crate) fn answered(ordered: Ordered) -> Result<Answer, Failure> {
    match ordered {
        Ok(Ok(answer)) => Ok(answer),
        // An earlier attempt, or an earlier send of this one, may have acted; what happens next needs a person.
        Ok(Err(refusal @ Refusal::RequestChanged(_))) => {
            Err(Failure::new(Outcome::unknown(Cause::new(CauseKind::RequestChanged, refusal))))
        }
        Ok(Err(refusal @ Refusal::NotRepeatable(_))) => {
            Err(Failure::new(Outcome::unknown(Cause::new(CauseKind::Handler, refusal))))
        }
        Ok(Err(refusal @ Refusal::Cancelled)) => Err(not_done(CauseKind::Cancelled, refusal)),
        Ok(Err(refusal)) => Err(not_done(CauseKind::LeaseLost, refusal)),
        Err(error) => Err(not_written(&error)),
    }
}

/// The ledger could not be told before something was done.
pub(crate) fn not_written(error: &LedgerError) -> Failure {
    not_done(
        CauseKind::Error,
        format_args!("it could not be written down before it was done, so it was not done: {error}"),
    )
}

/// The ledger answered another question.
pub(crate) fn unfitting() -> Failure {
    not_done(CauseKind::Handler, "the ledger gave an answer that does not fit")
}

fn not_done(kind: CauseKind, detail: impl fmt::Display) -> Failure {
    Failure::new(Outcome::NotApplied { cause: Cause::new(kind, detail), retry_after: None })
}
