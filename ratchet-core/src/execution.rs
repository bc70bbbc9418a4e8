//! One record executed by its caller, for drives that are told what to run where a worker looks for what is due.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinError;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use crate::context::{CancelReason, Cancellation, Context, LeaseClock, Reading};
use crate::contract::Contract;
use crate::decide::{Answer, Command, LONGEST_LEASE, Refusal, Stored};
use crate::ledger::{LedgerError, SharedLedger, order, report};
use crate::model::{Cause, CauseKind, Outcome, Record, RecordId, WorkerId};
use crate::operation::States;
use crate::policy::Policy;
use crate::telemetry;
use crate::time::SharedClock;
use crate::wire_key::WireSecrets;

/// An attempt at one record that its caller names: leased and started, and renewed while its handler runs.
///
/// A worker looks for records that are due. Where somebody else decides what runs now, as a request that comes to a
/// server does, that somebody begins an execution, runs the handler in it and settles it.
///
/// ```
/// use std::time::Duration;
/// use ratchet_core::{
///     Contract, Execution, Executor, LedgerError, Outcome, Payload, Policy, RecordId, SharedLedger, SystemClock, WorkerId,
/// };
/// use std::sync::Arc;
///
/// /// Executes a record that was submitted, if it is to be executed now.
/// async fn execute(ledger: SharedLedger, id: RecordId, name: WorkerId) -> Result<(), LedgerError> {
///     let (lease, clock) = (Duration::from_secs(30), SystemClock::shared());
///     let (contract, policy) = (Contract::NONE, Policy::DEFAULT);
///     let executor = Executor { name, lease, clock, contract, policy, secrets: Arc::default() };
///     let Ok(execution) = Execution::begin(ledger, id, executor).await? else { return Ok(()) };
///     let ctx = execution.context().clone();
///     let ended = execution.run(async move { format!("\"done under {}\"", ctx.key()) }).await;
///     let outcome = match ended {
///         Ok(result) => Outcome::done(Payload::from_stored(result)),
///         Err(cause) => Outcome::unknown(cause),
///     };
///     let _refused_if_late = execution.settle(outcome).await?;
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Execution {
    ledger: SharedLedger,
    clock: SharedClock,
    record: Record,
    span: Duration,
    lease: Arc<LeaseClock>,
    cancellation: Arc<Cancellation>,
    context: Context,
}

/// Who executes a record, and for how long at a time.
#[derive(Debug, Clone)]
pub struct Executor {
    /// A name that no other execution has: it tells whose lease is on record.
    pub name: WorkerId,
    /// For how long the lease is granted, and renewed three times as often; at most [`LONGEST_LEASE`].
    pub lease: Duration,
    /// The clocks that the lease is watched by.
    pub clock: SharedClock,
    /// What the destination of the handler promises.
    pub contract: Contract,
    /// What is declared now: a record that was submitted under a laxer policy is held to it.
    pub policy: Policy,
    /// What makes keys for destinations that do not take the identity as it is.
    pub secrets: Arc<WireSecrets>,
}

impl Execution {
    /// Leases a record that waits, and writes down that its handler is about to be entered.
    ///
    /// A lease whose answer is lost, or whose caller goes away before the start, costs nothing: it ends by itself.
    ///
    /// # Errors
    /// If the ledger fails. The inner error says why this record is not to be executed now; one that must not be
    /// repeated without asking is [`Refusal::NotRepeatable`].
    pub async fn begin(
        ledger: SharedLedger,
        id: RecordId,
        executor: Executor,
    ) -> Result<Result<Self, Refusal>, LedgerError> {
        Self::begin_with(ledger, id, executor, Arc::default()).await
    }

    /// The same for a handler that asks for state.
    pub(crate) async fn begin_with(
        ledger: SharedLedger,
        id: RecordId,
        executor: Executor,
        states: Arc<States>,
    ) -> Result<Result<Self, Refusal>, LedgerError> {
        let Executor { name, lease: span, clock, contract, policy, secrets } = executor;
        let span = span.clamp(Duration::from_millis(3), LONGEST_LEASE);
        let asked = Reading::of(&clock);
        let lease = Command::Lease { worker: name.clone(), duration: span, start_if_safe: true };
        match order(&*ledger, &id, lease).await? {
            Ok(Answer::Parked(why)) => return Ok(Err(Refusal::NotRepeatable(why))),
            Ok(_) => {}
            Err(refusal) => return Ok(Err(refusal)),
        }
        // The token is in the record; and another execution may hold the lease by now.
        let Some(Stored::Record(mut record)) = ledger.find(id).await? else {
            return Ok(Err(Refusal::NoRecord));
        };
        let Some(lease) = record.lease.clone().filter(|lease| lease.worker == name) else {
            return Ok(Err(Refusal::Superseded));
        };
        if lease.started_at.is_none() {
            if let Err(refusal) = start(&ledger, &record, contract, policy).await? {
                return Ok(Err(refusal));
            }
            record.attempts += 1;
        }
        let lease = Arc::new(LeaseClock::new(clock.clone(), asked, span));
        let cancellation = Arc::<Cancellation>::default();
        let context = Context::of_attempt(
            &record,
            contract,
            secrets,
            ledger.clone(),
            lease.clone(),
            cancellation.clone(),
            states,
        );
        let Ok(context) = context else {
            return Ok(Err(Refusal::Damaged { what: "its identity is longer than a key may be".to_owned() }));
        };
        Ok(Ok(Self { ledger, clock, record: *record, span, lease, cancellation, context }))
    }

    /// What the handler is given.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The record as the attempt found it.
    pub(crate) const fn record(&self) -> &Record {
        &self.record
    }

    /// Tells the handler to stop.
    pub(crate) fn cancel(&self, reason: CancelReason) {
        self.cancellation.cancel(reason);
    }

    /// Runs the handler in a task of its own, and renews the lease meanwhile.
    ///
    /// # Errors
    /// The cause of an unknown outcome: the handler panicked, or ran longer than the record's policy allows and was
    /// stopped.
    pub async fn run<T: Send + 'static>(
        &self,
        handler: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Cause> {
        let mut running = AbortOnDropHandle::new(tokio::spawn(handler.in_current_span()));
        let ended = tokio::select! {
            joined = &mut running => joined.map_err(|error| broken_off(&error)),
            () = sleep(self.record.policy.timeout) => {
                self.cancellation.cancel(CancelReason::Timeout);
                Err(Cause::new(CauseKind::Timeout, "the attempt ran longer than its timeout"))
            }
            never = self.renewals() => match never {},
        };
        // Whatever the handler left running sends nothing more under this lease.
        self.lease.end();
        ended
    }

    /// Reports the outcome until the ledger has it, for as long as a lease lasts. What the handler sent counts too: a
    /// certain word is unknown while a send of its own is without an answer.
    ///
    /// [`Answer::Late`] says that the record has gone on without this attempt, which changes nothing then.
    ///
    /// # Errors
    /// If the ledger took it from nobody for so long. The lease ends by itself then, and the outcome is unknown.
    pub async fn settle(self, outcome: Outcome) -> Result<Result<Answer, Refusal>, LedgerError> {
        self.lease.end();
        let outcome = self.context.judge(outcome);
        let Record { id, token, .. } = &self.record;
        match timeout(self.span, report(&*self.ledger, id, *token, &outcome)).await {
            Ok(answer) => {
                telemetry::reported(&id.operation, &outcome, &answer);
                Ok(answer)
            }
            Err(elapsed) => {
                tracing::error!(outcome = outcome.kind().as_str(), "the outcome could not be written");
                Err(LedgerError::Store { doing: "write an outcome", source: elapsed.into() })
            }
        }
    }

    /// Renews the lease three times as often as needed, so that one renewal may fail or hang.
    async fn renewals(&self) -> Infallible {
        let mut beats = interval_at(Instant::now() + self.span / 3, self.span / 3);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            beats.tick().await;
            let asked = Reading::of(&self.clock);
            let renew = Command::Renew { token: self.record.token, duration: self.span };
            match timeout(self.span / 3, order(&*self.ledger, &self.record.id, renew)).await {
                Ok(Ok(Ok(Answer::Renewed { cancel_requested, .. }))) => {
                    self.lease.extend(asked, self.span);
                    if cancel_requested {
                        self.cancellation.cancel(CancelReason::Cancelled);
                    }
                }
                Ok(Err(_)) | Err(_) if self.lease.stands() => {
                    tracing::warn!("the lease could not be renewed; trying again");
                }
                _ => self.lose(),
            }
        }
    }

    fn lose(&self) {
        self.lease.end();
        self.cancellation.cancel(CancelReason::LeaseLost);
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        self.lease.end();
    }
}

/// Holds what was submitted before its operation was declared to the declaration, and writes down that the handler is about
/// to be entered.
async fn start(
    ledger: &SharedLedger,
    record: &Record,
    contract: Contract,
    policy: Policy,
) -> Result<Result<(), Refusal>, LedgerError> {
    let token = record.token;
    if record.is_laxer_than(&policy) {
        let adopt = Command::Adopt { token, contract: contract.terms(), policy: Box::new(policy) };
        match order(&**ledger, &record.id, adopt).await {
            Ok(Ok(Answer::Adopted)) => {}
            Ok(Ok(Answer::Parked(why))) => return Ok(Err(Refusal::NotRepeatable(why))),
            other => return not_started(ledger, record, other).await,
        }
    }
    match order(&**ledger, &record.id, Command::Start { token }).await {
        Ok(Ok(_)) => Ok(Ok(())),
        other => not_started(ledger, record, other).await,
    }
}

async fn not_started(
    ledger: &SharedLedger,
    record: &Record,
    answer: Result<Result<Answer, Refusal>, LedgerError>,
) -> Result<Result<(), Refusal>, LedgerError> {
    give_back(ledger, record).await;
    answer.map(|answer| Err(answer.err().unwrap_or(Refusal::Superseded)))
}

/// The handler is not entered, whether the start was written or not. Where this fails too, the lease ends by itself.
async fn give_back(ledger: &SharedLedger, record: &Record) {
    let token = record.token;
    let commands = [Command::Settle { token, outcome: Outcome::not_entered() }, Command::Release { token }];
    for command in commands {
        // Either is refused where the other fits.
        let _ = order(&**ledger, &record.id, command).await;
    }
}

/// A panic's text stays out of the record: it may hold anything.
fn broken_off(error: &JoinError) -> Cause {
    if error.is_panic() {
        Cause::new(CauseKind::Panic, "the handler panicked")
    } else {
        Cause::new(CauseKind::Shutdown, "the program stopped before the attempt ended")
    }
}
