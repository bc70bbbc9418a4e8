//! What an attempt knows about itself, and what it may do.

mod cancellation;
mod lease_clock;
mod pins;
mod sends;

use std::fmt;
use std::sync::Arc;

pub use cancellation::CancelReason;
pub(crate) use cancellation::Cancellation;
pub(crate) use lease_clock::LeaseClock;
pub(crate) use pins::{LedgerPins, Pins, UnitTestPins};
pub use sends::Sending;
use sends::Sends;

use ratchet_key::{Key, KeyError};

use crate::contract::Contract;
use crate::decide::PinRequest;
use crate::failure::Failure;
use crate::ledger::SharedLedger;
use crate::model::{
    Cause, CauseKind, Fingerprint, Generation, Namespace, Outcome, Pin, Priority, Record, RecordId,
    Submission, Token, Version, WIRE_KEY_RECIPE,
};
use crate::operation::Spec;
use crate::time::{SharedClock, SystemClock};

/// What an attempt knows about itself. Cheap to clone.
///
/// The key is the same on every attempt and goes to the destination. Attempt and token differ from one attempt to the
/// next: they are for logs and for fencing, and must never become part of an idempotency key.
#[derive(Clone)]
pub struct Context {
    shared: Arc<Shared>,
}

struct Shared {
    id: RecordId,
    version: Version,
    contract: Contract,
    wire_key: String,
    attempt: u32,
    token: Token,
    lease: Arc<LeaseClock>,
    cancellation: Arc<Cancellation>,
    pins: Box<dyn Pins>,
    sends: Arc<Sends>,
}

impl Context {
    pub(crate) fn of_attempt(
        record: &Record,
        ledger: SharedLedger,
        lease: Arc<LeaseClock>,
        cancellation: Arc<Cancellation>,
    ) -> Result<Self, KeyError> {
        let pins = LedgerPins { ledger, id: record.id.clone(), token: record.token };
        Ok(Self {
            shared: Arc::new(Shared {
                wire_key: record.id.wire_key(None)?,
                id: record.id.clone(),
                version: record.version.clone(),
                contract: record.effect.contract.clone(),
                attempt: record.attempts,
                token: record.token,
                lease,
                cancellation,
                pins: Box::new(pins),
                sends: Arc::default(),
            }),
        })
    }

    /// A context for a unit test that calls a handler directly: the first attempt, in the default namespace, with a
    /// lease that lasts.
    ///
    /// # Errors
    /// If the identity is too long.
    pub(crate) fn of_unit_test(spec: &Spec, key: Key) -> Result<Self, KeyError> {
        let id = RecordId {
            namespace: Namespace::DEFAULT,
            operation: spec.name.clone(),
            key,
            generation: Generation::FIRST,
        };
        let clock: SharedClock = SystemClock::shared();
        Ok(Self {
            shared: Arc::new(Shared {
                wire_key: id.wire_key(None)?,
                pins: Box::new(UnitTestPins::new(unit_test_record(spec, &id), clock.clone())),
                id,
                version: spec.version.clone(),
                contract: spec.contract.clone(),
                attempt: 1,
                token: Token::new(1),
                lease: Arc::new(LeaseClock::endless(clock)),
                cancellation: Arc::new(Cancellation::new()),
                sends: Arc::default(),
            }),
        })
    }

    /// The identity in the form that a destination receives: the same on every attempt.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.shared.wire_key
    }

    /// The identity of the record.
    #[must_use]
    pub fn id(&self) -> &RecordId {
        &self.shared.id
    }

    /// The version that the producer asked for.
    #[must_use]
    pub fn version(&self) -> &Version {
        &self.shared.version
    }

    /// What the operation's destination promises.
    #[must_use]
    pub fn contract(&self) -> &Contract {
        &self.shared.contract
    }

    /// Which execution this is, from 1. For logs; never part of a key.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.shared.attempt
    }

    /// The fence of this attempt's lease: a destination that has seen a higher one can refuse this one.
    #[must_use]
    pub fn token(&self) -> Token {
        self.shared.token
    }

    /// Why the handler should stop, if it should.
    #[must_use]
    pub fn cancelled(&self) -> Option<CancelReason> {
        self.shared.cancellation.reason()
    }

    /// Waits until the handler should stop, and says why.
    pub async fn cancellation(&self) -> CancelReason {
        self.shared.cancellation.wait().await
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
        if self.shared.lease.stands() {
            return Ok(());
        }
        Err(self.not_sent(Cause::new(CauseKind::LeaseLost, "the lease passed before the request was sent")))
    }

    /// A failure that says that a request did not leave, and why; its outcome is unknown if an earlier one of this attempt
    /// may have had an effect. For destination clients.
    pub fn not_sent(&self, cause: Cause) -> Failure {
        self.unsent(Failure::new(Outcome::NotApplied { cause, retry_after: None }))
    }

    fn unsent(&self, failure: Failure) -> Failure {
        Failure::new(self.shared.sends.judge_unsent(failure.into_outcome()))
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
        self.check_lease()?;
        let request = PinRequest {
            wire_key: self.shared.wire_key.clone(),
            recipe: WIRE_KEY_RECIPE,
            scope: scope.to_owned(),
            request,
        };
        let pin = self.shared.pins.pin(request).await.map_err(|failure| self.unsent(failure))?;
        self.check_lease()?;
        Ok(pin)
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
        self.shared.sends.begin()
    }

    /// What the handler's outcome is worth, given what it has sent.
    pub(crate) fn judge(&self, outcome: Outcome) -> Outcome {
        self.shared.sends.judge(outcome)
    }
}

fn unit_test_record(spec: &Spec, id: &RecordId) -> Record {
    use crate::decide::{SubmitDecision, decide_submission};
    use crate::model::Payload;
    use crate::time::Timestamp;

    let submission = Submission {
        id: id.clone(),
        version: spec.version.clone(),
        input: Payload::from_stored("null"),
        compared: None,
        policy: spec.policy.clone(),
        contract: spec.contract.clone(),
        not_before: None,
        priority: Priority::default(),
        renewal: None,
    };
    match decide_submission(None, &submission, Timestamp::EPOCH) {
        SubmitDecision::Insert { record, .. } => *record,
        SubmitDecision::Answer(_) => unreachable!("there is no record that could answer"),
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("operation", &self.shared.id.operation)
            .field("key", &format_args!("{}", self.shared.id.digest()))
            .field("attempt", &self.shared.attempt)
            .finish_non_exhaustive()
    }
}
