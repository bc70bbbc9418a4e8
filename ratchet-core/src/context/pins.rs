//! Where pins are written.

use std::fmt;
use std::future::Future;
use std::pin::Pin as Pinned;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::decide::{Answer, Command, Jitter, Moment, PinRequest, Refusal, decide};
use crate::failure::Failure;
use crate::ledger::{LedgerError, Order, SharedLedger};
use crate::model::{Cause, CauseKind, Outcome, Pin, Record, RecordId, Token, WorkerId};
use crate::time::SharedClock;

pub(crate) type PinFuture<'a> = Pinned<Box<dyn Future<Output = Result<Pin, Failure>> + Send + 'a>>;

/// Writes pins down before anything is sent.
pub(crate) trait Pins: Send + Sync + fmt::Debug {
    fn pin(&self, request: PinRequest) -> PinFuture<'_>;
}

/// Pins in the record of a running attempt.
#[derive(Debug)]
pub(crate) struct LedgerPins {
    pub(crate) ledger: SharedLedger,
    pub(crate) id: RecordId,
    pub(crate) token: Token,
}

impl Pins for LedgerPins {
    fn pin(&self, request: PinRequest) -> PinFuture<'_> {
        Box::pin(async move {
            let command = Command::Pin { token: self.token, step: None, request };
            let order = Order { id: self.id.clone(), command };
            match self.ledger.apply(vec![order]).await {
                Ok(answers) => {
                    answers.into_iter().next().map_or_else(|| Err(not_written(&LedgerError::Closed)), pinned)
                }
                Err(error) => Err(not_written(&error)),
            }
        })
    }
}

/// Pins in memory, by the same decision function.
#[derive(Debug)]
pub(crate) struct UnitTestPins {
    record: Mutex<Record>,
    clock: SharedClock,
}

impl UnitTestPins {
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

impl Pins for UnitTestPins {
    fn pin(&self, request: PinRequest) -> PinFuture<'_> {
        Box::pin(async move {
            let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
            let moment = Moment { now: self.clock.now(), jitter: Jitter::MIDDLE };
            let command = Command::Pin { token: record.token, step: None, request };
            pinned(decide(&record, &command, moment).map(|decision| {
                *record = decision.record;
                decision.answer
            }))
        })
    }
}

/// What a refused pin says about this attempt: nothing of it was sent.
fn pinned(answer: Result<Answer, Refusal>) -> Result<Pin, Failure> {
    match answer {
        Ok(Answer::Pinned(pin)) => Ok(pin),
        // An earlier attempt, or an earlier send of this one, may have acted; what happens next needs a person.
        Err(refusal @ Refusal::RequestChanged(_)) => {
            Err(Failure::new(Outcome::unknown(Cause::new(CauseKind::RequestChanged, refusal))))
        }
        Err(refusal @ Refusal::NotRepeatable(_)) => {
            Err(Failure::new(Outcome::unknown(Cause::new(CauseKind::Handler, refusal))))
        }
        Err(refusal) => Err(not_sent(CauseKind::LeaseLost, refusal)),
        Ok(_) => Err(not_sent(CauseKind::Handler, "the ledger gave no pin")),
    }
}

fn not_written(error: &LedgerError) -> Failure {
    not_sent(
        CauseKind::Error,
        format_args!("the request could not be written down, so it was not sent: {error}"),
    )
}

fn not_sent(kind: CauseKind, detail: impl fmt::Display) -> Failure {
    Failure::new(Outcome::NotApplied { cause: Cause::new(kind, detail), retry_after: None })
}
