//! One entry into a step: what the ledger is told before and after, and what the destination is asked.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::NamedStep;
use super::entered::{Entering, NotEntered};
use crate::context::Context;
use crate::context::orders::{answered, unfitting};
use crate::decide::{Answer, Command};
use crate::effect_guard::is_in_transaction;
use crate::failure::Failure;
use crate::ledger::Ordered;
use crate::model::{Cause, CauseKind, Effect, Outcome, OutcomeKind, Payload, StepName};
use crate::reconcile::{Closed, Found, Inquiry};

/// An entry, until it is dropped.
pub(super) struct Entry<'a> {
    /// The handler's context.
    ctx: &'a Context,
    /// That of the step.
    step: Context,
    name: StepName,
    entering: Entering<'a>,
}

/// What the ledger says to an entry.
pub(super) enum Begun {
    /// The step may be carried out.
    Entered,
    /// An earlier attempt finished it and left this.
    Finished(Option<Payload>),
    /// It may have had this effect already.
    MustAsk(Box<Effect>),
}

impl<'a> Entry<'a> {
    pub(super) fn of(step: NamedStep<'a>) -> Result<Self, Failure> {
        let NamedStep { ctx, name, contract } = step;
        if let Some(outer) = ctx.step_name() {
            return Err(ctx.misused(format_args!(
                "steps have no steps of their own: begin it with the context of the handler, after `{outer}`"
            )));
        }
        if is_in_transaction() {
            return Err(ctx.misused("a transaction of `once` is open: put the transaction into the step"));
        }
        let name = name.map_err(|refused| ctx.misused(refused))?;
        let step = ctx.within(name.clone(), contract).map_err(|error| ctx.misused(error))?;
        let entering = ctx.attempt.entered.enter(&name).map_err(|why| match why {
            NotEntered::UnderWay => {
                ctx.misused(format_args!("the step `{name}` is under way already in this attempt"))
            }
            NotEntered::Done => ctx.misused(format_args!(
                "the step `{name}` is done already in this attempt, and a name stands for one effect: give each effect a \
                 name of its own, such as `{name}.2`"
            )),
        })?;
        Ok(Self { ctx, step, name, entering })
    }

    /// Enters the step, if it may be.
    pub(super) async fn begin(&mut self, reconciles: bool) -> Result<Begun, Failure> {
        if self.entering.follows_lost {
            self.report_lost().await?;
        }
        let command = Command::BeginStep {
            token: self.ctx.token(),
            step: self.name.clone(),
            contract: self.step.contract().terms(),
            reconciles,
        };
        match self.order_entry(command).await? {
            Answer::StepBegun => {
                self.entering.is_lost = true;
                Ok(Begun::Entered)
            }
            Answer::StepDone(result) => {
                (self.entering.is_lost, self.entering.is_done) = (false, true);
                Ok(Begun::Finished(result))
            }
            Answer::AskAboutStep(unconfirmed) => Ok(Begun::MustAsk(unconfirmed)),
            _ => Err(self.unsent(unfitting())),
        }
    }

    /// Tells the ledger about an earlier entry in this attempt whose end nobody knows: its contract decides whether there
    /// is another one.
    async fn report_lost(&self) -> Result<(), Failure> {
        let cause = Cause::new(CauseKind::Handler, "the step was left before it ended");
        let ordered = self.order_finish(Outcome::unknown(cause)).await;
        answered(ordered).map(|_| ()).map_err(|failure| self.unsent(failure))
    }

    /// Has an entry written down before the step is entered.
    async fn order_entry(&self, command: Command) -> Result<Answer, Failure> {
        self.ctx.check_lease()?;
        let ordered = self.ctx.attempt.orders.order(command).await;
        if ordered.is_err() {
            // The entry may have been written all the same, and would count as one that did not report.
            let cause = Cause::new(CauseKind::Error, "the step was not entered");
            let _ = self.order_finish(Outcome::NotApplied { cause, retry_after: None }).await;
        }
        answered(ordered).map_err(|failure| self.unsent(failure))
    }

    /// Carries out the step that was entered.
    pub(super) async fn carry_out<T, F>(mut self, effect: F) -> Result<T, Failure>
    where
        T: Serialize,
        F: AsyncFnOnce(Context) -> Result<T, Failure>,
    {
        let ended = effect(self.step.clone()).await;
        let outcome = match &ended {
            Ok(value) => done(value),
            Err(failure) => self.step.judge(failure.outcome().clone()),
        };
        self.finish(outcome.clone()).await;
        ended.map_err(|_| self.beyond(outcome))
    }

    /// What an earlier attempt left.
    pub(super) fn kept<T: DeserializeOwned>(&self, result: Option<Payload>) -> Result<T, Failure> {
        let (kind, why) = match result.map(|result| result.decode()) {
            Some(Ok(value)) => return Ok(value),
            Some(Err(error)) => (CauseKind::UnreadableAnswer, error.to_string()),
            None => (CauseKind::UnstorableResult, "its result could not be kept".to_owned()),
        };
        let why = format_args!("the step `{}` was finished by an earlier attempt, and {why}", self.name);
        Err(Failure::new(Outcome::unknown(Cause::new(kind, why))))
    }

    /// Asks the destination. What the effect left is `Some`; `None` says that the step is entered, to be carried out.
    pub(super) async fn ask<T, Q>(&mut self, unconfirmed: Box<Effect>, ask: Q) -> Result<Option<T>, Failure>
    where
        T: Serialize,
        Q: AsyncFnOnce(Inquiry) -> Result<Found<T>, Failure>,
    {
        match ask(self.ctx.inquiry(&self.step, *unconfirmed)).await {
            Ok(Found::Applied(left)) => {
                self.finish(done(&left)).await;
                Ok(Some(left))
            }
            Ok(Found::NotApplied(Closed::OldCallsRefused)) => self.restart().await.map(|()| None),
            Ok(Found::NotApplied(Closed::ByTheDestination)) => {
                let cause = Cause::new(
                    CauseKind::Handler,
                    format_args!("the destination closed the key of the step `{}`", self.name),
                );
                let closed = Outcome::Rejected { cause, after_lookup: true };
                self.finish(closed.clone()).await;
                Err(self.beyond(closed))
            }
            Ok(Found::InFlight | Found::StillUnknown) => Err(Failure::unknown(format_args!(
                "the destination was asked about the step `{}`, and it is still unknown whether it had its effect",
                self.name
            ))),
            // Whatever it says, it speaks of the question and not of the effect.
            Err(failure) => Err(Failure::new(uncertain(failure.into_outcome()))),
        }
    }

    async fn restart(&mut self) -> Result<(), Failure> {
        let command = Command::RestartStep { token: self.ctx.token(), step: self.name.clone() };
        match self.order_entry(command).await? {
            Answer::StepBegun => {
                self.entering.is_lost = true;
                Ok(())
            }
            _ => Err(self.unsent(unfitting())),
        }
    }

    /// Writes the end down. Where that fails, the step stays entered, and is decided by its contract if this attempt dies.
    async fn finish(&mut self, outcome: Outcome) {
        let is_done = outcome.kind() == OutcomeKind::Done;
        let is_written = self.write_end(outcome).await;
        (self.entering.is_lost, self.entering.is_done) = (!is_written, is_written && is_done);
    }

    async fn write_end(&self, outcome: Outcome) -> bool {
        for wait in WAITS {
            tokio::time::sleep(wait).await;
            match self.order_finish(outcome.clone()).await {
                Ok(Ok(_)) => return true,
                Ok(Err(refusal)) => {
                    tracing::warn!(step = %self.name, %refusal, "the end of a step was refused");
                    return false;
                }
                Err(error) => {
                    tracing::warn!(step = %self.name, %error, "the end of a step could not be written");
                }
            }
        }
        false
    }

    async fn order_finish(&self, outcome: Outcome) -> Ordered {
        let command = Command::FinishStep { token: self.ctx.token(), step: self.name.clone(), outcome };
        self.ctx.attempt.orders.order(command).await
    }

    /// What the outcome of this step is worth to the handler: what is certain about it, and what was looked up about it,
    /// says nothing about what the handler did outside of it.
    fn beyond(&self, outcome: Outcome) -> Failure {
        let outcome = match outcome {
            Outcome::Rejected { cause, .. } => Outcome::Rejected { cause, after_lookup: false },
            other => other,
        };
        self.unsent(Failure::new(outcome))
    }

    pub(super) fn unsent(&self, failure: Failure) -> Failure {
        self.ctx.unsent(failure)
    }
}

fn done<T: Serialize>(value: &T) -> Outcome {
    match Payload::encode(value, Payload::LARGEST_RESULT) {
        Ok(result) => Outcome::done(result),
        Err(error) => {
            tracing::warn!(%error, "the result of a step cannot be kept; an attempt after this one has to do without it");
            Outcome::Done { result: None, missing: Some(Cause::new(CauseKind::UnstorableResult, error)) }
        }
    }
}

fn uncertain(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::NotApplied { cause, retry_after } => Outcome::Unknown { cause, retry_after },
        Outcome::Rejected { cause, .. } => Outcome::unknown(cause),
        other => other,
    }
}

/// How often, and after which waits, it is tried to write the end of a step down.
const WAITS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(50), Duration::from_millis(250)];
