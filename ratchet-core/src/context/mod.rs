//! What an attempt knows about itself, and what it may do.

mod cancellation;
mod lease_clock;
mod orders;
mod sends;
mod step;
mod unit_test;

use std::fmt;
use std::sync::Arc;

pub use cancellation::CancelReason;
pub(crate) use cancellation::Cancellation;
pub(crate) use lease_clock::{LeaseClock, Reading};
use orders::{LedgerOrders, Orders, answered, unfitting};
pub use sends::Sending;
use sends::Sends;
use step::Entered;
pub use step::{NamedStep, ReconciledStep};

use ratchet_key::KeyError;

use crate::contract::{Contract, Mechanism};
use crate::decide::{Answer, Command, PinRequest};
use crate::effect_guard::is_in_transaction;
use crate::failure::Failure;
use crate::ledger::SharedLedger;
use crate::model::{
    Cause, CauseKind, Effect, Fingerprint, Outcome, Pin, Record, RecordId, StepName, Token, Version,
    WIRE_KEY_RECIPE,
};
use crate::operation::States;
use crate::reconcile::{About, Inquiry};
use crate::time::Timestamp;

/// What an attempt knows about itself. Cheap to clone.
///
/// The key is the same on every attempt and goes to the destination. Attempt and token differ from one attempt to the
/// next: they are for logs and for fencing, and must never become part of an idempotency key.
#[derive(Clone)]
pub struct Context {
    attempt: Arc<Attempt>,
    effect: Arc<Scope>,
}

/// What is the same for the whole attempt.
struct Attempt {
    id: RecordId,
    version: Version,
    number: u32,
    token: Token,
    lease: Arc<LeaseClock>,
    cancellation: Arc<Cancellation>,
    orders: Box<dyn Orders>,
    entered: Entered,
    states: Arc<States>,
}

/// What is different for each effect: of a step, or of the handler outside its steps.
struct Scope {
    step: Option<StepName>,
    contract: Contract,
    wire_key: String,
    sends: Arc<Sends>,
}

impl Context {
    pub(crate) fn of_attempt(
        record: &Record,
        ledger: SharedLedger,
        lease: Arc<LeaseClock>,
        cancellation: Arc<Cancellation>,
        states: Arc<States>,
    ) -> Result<Self, KeyError> {
        let orders = LedgerOrders { ledger, id: record.id.clone() };
        Self::new(record, Box::new(orders), lease, cancellation, states)
    }

    fn new(
        record: &Record,
        orders: Box<dyn Orders>,
        lease: Arc<LeaseClock>,
        cancellation: Arc<Cancellation>,
        states: Arc<States>,
    ) -> Result<Self, KeyError> {
        let attempt = Attempt {
            id: record.id.clone(),
            version: record.version.clone(),
            number: record.attempts,
            token: record.token,
            lease,
            cancellation,
            orders,
            entered: Entered::default(),
            states,
        };
        let effect = Scope::new(&record.id, None, record.effect.contract.clone())?;
        Ok(Self { attempt: Arc::new(attempt), effect: Arc::new(effect) })
    }

    /// The same attempt, for the effect of one step.
    fn within(&self, step: StepName, contract: Contract) -> Result<Self, KeyError> {
        let effect = Scope::new(&self.attempt.id, Some(step), contract)?;
        Ok(Self { attempt: Arc::clone(&self.attempt), effect: Arc::new(effect) })
    }

    /// What a step's destination is asked about: the effect that it may have had.
    fn inquiry(&self, step: &Self, unconfirmed: Effect) -> Inquiry {
        let about = About {
            id: self.attempt.id.clone(),
            step: step.effect.step.clone(),
            version: self.attempt.version.clone(),
            unpinned_key: step.effect.wire_key.clone(),
            effect: unconfirmed,
            attempts: self.attempt.number,
        };
        Inquiry::new(about, Arc::clone(&self.attempt.states))
    }

    /// The identity in the form that a destination receives: the same on every attempt.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.effect.wire_key
    }

    /// The identity of the record.
    #[must_use]
    pub fn id(&self) -> &RecordId {
        &self.attempt.id
    }

    /// The step that this context is for; `None` outside of steps.
    #[must_use]
    pub fn step_name(&self) -> Option<&StepName> {
        self.effect.step.as_ref()
    }

    /// The version that the producer asked for.
    #[must_use]
    pub fn version(&self) -> &Version {
        &self.attempt.version
    }

    /// What the destination promises: that of the step, or of the operation outside of steps.
    #[must_use]
    pub fn contract(&self) -> &Contract {
        &self.effect.contract
    }

    /// Which execution this is, from 1. For logs; never part of a key.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt.number
    }

    /// The fence of this attempt's lease: a destination that has seen a higher one can refuse this one.
    #[must_use]
    pub fn token(&self) -> Token {
        self.attempt.token
    }

    /// Why the handler should stop, if it should.
    #[must_use]
    pub fn cancelled(&self) -> Option<CancelReason> {
        self.attempt.cancellation.reason()
    }

    /// Waits until the handler should stop, and says why.
    pub async fn cancellation(&self) -> CancelReason {
        self.attempt.cancellation.wait().await
    }

    /// Whether the lease still stands, by the wall clock and by the monotonic one.
    ///
    /// Destination clients call it before every send. It narrows the gap in which a paused worker sends late, and does
    /// not close it: only the destination can.
    ///
    /// # Errors
    /// A failure that says that the next send did not happen; its outcome is unknown if an earlier one of this attempt
    /// may have had an effect.
    pub fn check_lease(&self) -> Result<(), Failure> {
        if self.attempt.lease.stands() {
            return Ok(());
        }
        Err(self.not_sent(Cause::new(CauseKind::LeaseLost, "the lease passed before the request was sent")))
    }

    /// A failure that says that a request did not leave, and why; its outcome is unknown if an earlier one of this attempt
    /// may have had an effect. For destination clients.
    pub fn not_sent(&self, cause: Cause) -> Failure {
        self.unsent(Failure::new(Outcome::NotApplied { cause, retry_after: None }))
    }

    /// The same for a failure that speaks of one send alone.
    pub(crate) fn unsent(&self, failure: Failure) -> Failure {
        Failure::new(self.effect.sends.judge_unsent(failure.into_outcome()))
    }

    /// Writes down what is about to be sent, before it is sent, and says what to send as the identity.
    ///
    /// `scope` is within what the destination compares keys (account, region, endpoint), `request` the fingerprint of
    /// method, URL and body. Every later attempt must send the same.
    ///
    /// # Errors
    /// A failure if the request differs from the pinned one, if the lease is gone or if it may not be sent again; in
    /// each case this request was not sent.
    pub async fn pin(&self, scope: &str, request: Fingerprint) -> Result<Pin, Failure> {
        self.check_place()?;
        self.check_lease()?;
        let request = PinRequest {
            wire_key: self.effect.wire_key.clone(),
            recipe: WIRE_KEY_RECIPE,
            scope: scope.to_owned(),
            request,
        };
        let command = Command::Pin { token: self.token(), step: self.effect.step.clone(), request };
        match self.ask(command).await? {
            Answer::Pinned(pin) => {
                self.check_lease()?;
                Ok(pin)
            }
            _ => Err(self.unsent(unfitting())),
        }
    }

    /// Asks the ledger before something is done; where it does not answer, that was not done.
    async fn ask(&self, command: Command) -> Result<Answer, Failure> {
        let ordered = self.attempt.orders.order(command).await;
        answered(ordered).map_err(|failure| self.unsent(failure))
    }

    /// Whether this is a place to send from.
    fn check_place(&self) -> Result<(), Failure> {
        if is_in_transaction() {
            return Err(self.misused(
                "a transaction of `once` is open: send before or after it, since a transaction that waits for a \
                 destination keeps everybody else waiting",
            ));
        }
        if *self.contract().mechanism() == Mechanism::Database {
            return Err(self.misused(
                "the contract says that the effect is in a database, and this is a request: put it into a step with \
                 the contract of its destination",
            ));
        }
        Ok(())
    }

    /// A failure for code that cannot work: nothing was sent, and trying again would change nothing.
    fn misused(&self, why: impl fmt::Display) -> Failure {
        self.unsent(Failure::rejected(why))
    }

    /// Says that a request is about to leave, after [`pin`](Self::pin) and before the first byte.
    ///
    /// What comes back says how the send ended. While one is without an answer, a certain word of the handler about
    /// another (`Rejected`, `NotApplied`) counts as unknown.
    ///
    /// ```
    /// # use ratchet_core::{Context, Failure, Fingerprint};
    /// # async fn transmit(_: &[u8]) -> std::io::Result<u16> { Ok(200) }
    /// async fn send(ctx: &Context, body: &[u8]) -> Result<(), Failure> {
    ///     ctx.pin("account-7", Fingerprint::of(body)).await?;
    ///     let sending = ctx.begin_send();
    ///     match transmit(body).await? {
    ///         200 => Ok(sending.acted()),
    ///         402 => Err(sending.failed(Failure::rejected("the card was declined"))),
    ///         other => Err(sending.failed(Failure::unknown(format_args!("answered {other}")))),
    ///     }
    /// }
    /// ```
    pub fn begin_send(&self) -> Sending {
        self.effect.sends.begin()
    }

    /// The worker's clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.attempt.lease.now()
    }

    /// What the handler's outcome is worth, given what it has sent.
    pub(crate) fn judge(&self, outcome: Outcome) -> Outcome {
        self.effect.sends.judge(outcome)
    }
}

impl Scope {
    fn new(id: &RecordId, step: Option<StepName>, contract: Contract) -> Result<Self, KeyError> {
        Ok(Self { wire_key: id.wire_key(step.as_ref())?, step, contract, sends: Arc::default() })
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("operation", &self.attempt.id.operation)
            .field("key", &format_args!("{}", self.attempt.id.digest()))
            .field("step", &self.effect.step)
            .field("attempt", &self.attempt.number)
            .finish_non_exhaustive()
    }
}
