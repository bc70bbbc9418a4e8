//! What an attempt knows about itself, and what it may do.

mod admission;
mod cancellation;
mod lease_clock;
mod offers;
mod orders;
mod pinning;
mod sends;
mod step;
mod unit_test;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use admission::Admitted;
pub use cancellation::CancelReason;
pub(crate) use cancellation::Cancellation;
pub(crate) use lease_clock::{LeaseClock, Reading};
use offers::Offers;
use orders::{LedgerOrders, Orders, answered};
pub use sends::Sending;
use sends::Sends;
use step::Entered;
pub use step::{NamedStep, ReconciledStep};

use ratchet_key::KeyError;

use crate::contract::Contract;
use crate::decide::{Answer, Command};
use crate::failure::Failure;
use crate::ledger::SharedLedger;
use crate::model::{
    Cause, CauseKind, Effect, Outcome, Record, RecordId, SecretId, StepName, Token, TraceParent, Version,
};
use crate::operation::States;
use crate::reconcile::{About, Inquiry};
use crate::time::Timestamp;
use crate::wire_key::WireSecrets;

/// What an attempt knows about itself. Cheap to clone.
///
/// The key is the same on every attempt and goes to the destination. Attempt and token differ from one attempt to the
/// next: they are for logs and for fencing, and must never become part of an idempotency key.
#[derive(Clone)]
pub struct Context {
    attempt: Arc<Attempt>,
    effect: Arc<Target>,
}

/// What is the same for the whole attempt.
struct Attempt {
    id: RecordId,
    version: Version,
    number: u32,
    token: Token,
    trace: Option<TraceParent>,
    lease: Arc<LeaseClock>,
    cancellation: Arc<Cancellation>,
    orders: Box<dyn Orders>,
    entered: Entered,
    secrets: Arc<WireSecrets>,
    /// The secrets of what earlier attempts pinned.
    pinned_with: BTreeMap<Option<StepName>, SecretId>,
    states: Arc<States>,
}

/// What is different for each effect: of a step, or of the handler outside its steps.
struct Target {
    step: Option<StepName>,
    contract: Contract,
    key: String,
    sends: Arc<Sends>,
    offers: Offers,
}

impl Context {
    pub(crate) fn of_attempt(
        record: &Record,
        contract: Contract,
        secrets: Arc<WireSecrets>,
        ledger: SharedLedger,
        lease: Arc<LeaseClock>,
        cancellation: Arc<Cancellation>,
        states: Arc<States>,
    ) -> Result<Self, KeyError> {
        let orders = LedgerOrders { ledger, id: record.id.clone() };
        Self::new(record, contract, secrets, Box::new(orders), lease, cancellation, states)
    }

    fn new(
        record: &Record,
        contract: Contract,
        secrets: Arc<WireSecrets>,
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
            trace: record.trace,
            lease,
            cancellation,
            orders,
            entered: Entered::default(),
            secrets,
            pinned_with: pinned_with(record),
            states,
        };
        let effect = Target::new(&record.id, None, contract)?;
        Ok(Self { attempt: Arc::new(attempt), effect: Arc::new(effect) })
    }

    /// The same attempt, for the effect of one step.
    fn within(&self, step: StepName, contract: Contract) -> Result<Self, KeyError> {
        let effect = Target::new(&self.attempt.id, Some(step), contract)?;
        Ok(Self { attempt: Arc::clone(&self.attempt), effect: Arc::new(effect) })
    }

    /// What a step's destination is asked about: the effect that it may have had.
    fn inquiry(&self, step: &Self, unconfirmed: Effect) -> Inquiry {
        let about = About {
            id: self.attempt.id.clone(),
            step: step.effect.step.clone(),
            version: self.attempt.version.clone(),
            unpinned_key: step.effect.key.clone(),
            effect: unconfirmed,
            attempts: self.attempt.number,
        };
        Inquiry::new(about, Arc::clone(&self.attempt.states))
    }

    /// The identity as text: the same on every attempt. What a destination receives is this only where it takes such keys;
    /// [`pin`](Self::pin) says what to send.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.effect.key
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

    /// Where in which trace the next call belongs, to be handed on in a header `traceparent`: at the current span, or at that
    /// of the producer where no spans are recorded. Destination clients send it; it is never part of what is pinned.
    #[must_use]
    pub fn trace_parent(&self) -> Option<TraceParent> {
        crate::trace::current().or(self.attempt.trace)
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

    /// Asks the ledger before something is done; where it does not answer, that was not done.
    async fn ask(&self, command: Command) -> Result<Answer, Failure> {
        let ordered = self.attempt.orders.order(command).await;
        answered(ordered).map_err(|failure| self.unsent(failure))
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

impl Target {
    fn new(id: &RecordId, step: Option<StepName>, contract: Contract) -> Result<Self, KeyError> {
        let key = id.as_text(step.as_ref())?;
        Ok(Self { key, step, contract, sends: Arc::default(), offers: Offers::default() })
    }
}

/// With which secrets the pins of a record were made.
fn pinned_with(record: &Record) -> BTreeMap<Option<StepName>, SecretId> {
    let own = [(None, &record.effect)].into_iter();
    let steps = record.steps.iter().map(|(name, step)| (Some(name.clone()), &step.effect));
    let secret = |effect: &Effect| effect.pin.as_ref().and_then(|pin| pin.secret.clone());
    own.chain(steps).filter_map(|(step, effect)| Some((step, secret(effect)?))).collect()
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
