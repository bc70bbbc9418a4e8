//! Named steps: effects inside a handler, each with an identity, a contract and a result of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Context;
use super::orders::{Ordered, answered, unfitting};
use crate::contract::Contract;
use crate::decide::{Answer, Command};
use crate::effect_guard::is_in_transaction;
use crate::failure::Failure;
use crate::model::{Cause, CauseKind, Outcome, Payload, StepName};

/// A named effect inside a handler, before it is entered; made by [`Context::step`].
#[derive(Debug)]
#[must_use = "a step does nothing until it is run"]
pub struct NamedStep<'a> {
    ctx: &'a Context,
    name: Result<StepName, String>,
    contract: Contract,
}

impl Context {
    /// A named effect of this handler, such as `charge` beside `notify`, with an identity of its own: its key is that of
    /// the operation with the mark `!charge`, on every attempt.
    ///
    /// A step that is finished is not run again: later attempts get its stored result. One that was entered and did not
    /// report is decided by its own contract, which is [`Contract::NONE`] unless [`to`](NamedStep::to) says otherwise.
    /// Declare `destination = steps` for an operation that has no effect outside its steps.
    ///
    /// The name is part of the identity: `a-z`, `0-9`, `_`, `.` and `-`, at most 64 of them, and the same on every
    /// attempt and in every version. A constant [`StepName`] is checked while compiling; a name that is refused rejects
    /// the attempt.
    ///
    /// ```
    /// use ratchet_core::{Context, Contract, Failure, StepName};
    ///
    /// const PAYMENTS: Contract = Contract::header("Idempotency-Key");
    /// const NOTIFY: StepName = StepName::from_static("notify");
    ///
    /// # async fn charge(_: &Context) -> Result<String, Failure> { Ok(String::new()) }
    /// # async fn mail(_: &Context, _: &str) -> Result<(), Failure> { Ok(()) }
    /// async fn collect(ctx: Context) -> Result<String, Failure> {
    ///     let receipt = ctx.step("charge").to(PAYMENTS).run(async |step: Context| charge(&step).await).await?;
    ///     ctx.step(NOTIFY).run(async |step: Context| mail(&step, &receipt).await).await?;
    ///     Ok(receipt)
    /// }
    /// ```
    pub fn step(&self, name: impl TryInto<StepName, Error: fmt::Display>) -> NamedStep<'_> {
        let name = name.try_into().map_err(|error| error.to_string());
        NamedStep { ctx: self, name, contract: Contract::NONE }
    }
}

impl NamedStep<'_> {
    /// What the destination of this step promises.
    pub fn to(mut self, contract: Contract) -> Self {
        self.contract = contract;
        self
    }

    /// Runs the step, or returns what it left when it was finished by an earlier attempt.
    ///
    /// What the closure is given is the context of the step: send with it, and not with that of the handler. What it
    /// returns is kept for later attempts as JSON of at most [`Payload::LARGEST_RESULT`] bytes. Several steps may run at
    /// the same time, each name once.
    ///
    /// # Errors
    /// The failure of the closure, for the handler to pass on: a step that certainly had no effect makes an attempt that
    /// may be tried again, and leaves what other steps did as it is. Without an entry, a failure that says that the step
    /// was not entered, or that an earlier entry may have had its effect and must not be repeated.
    pub async fn run<T, F>(self, effect: F) -> Result<T, Failure>
    where
        T: Serialize + DeserializeOwned,
        F: AsyncFnOnce(Context) -> Result<T, Failure>,
    {
        let (ctx, step) = (self.ctx, self.context()?);
        let Some(name) = step.step_name() else { return Err(ctx.unsent(unfitting())) };
        let Some(mut entry) = ctx.attempt.entered.enter(name) else {
            return Err(ctx.misused(format_args!("the step `{name}` is under way already in this attempt")));
        };
        if entry.follows_lost {
            lost(ctx, &step, name).await?;
        }
        if let Some(result) = begin(ctx, &step, name).await? {
            entry.is_lost = false;
            return kept(name, result);
        }
        entry.is_lost = true;
        let ended = effect(step.clone()).await;
        let outcome = match &ended {
            Ok(value) => done(value),
            Err(failure) => step.judge(failure.outcome().clone()),
        };
        entry.is_lost = !finish(&step, name, outcome.clone()).await;
        // What is certain about this step alone is not so about what the handler did outside of it.
        ended.map_err(|_| ctx.unsent(Failure::new(outcome)))
    }

    /// The context of the step.
    fn context(&self) -> Result<Context, Failure> {
        let ctx = self.ctx;
        if let Some(outer) = ctx.step_name() {
            return Err(ctx.misused(format_args!(
                "steps have no steps of their own: begin it with the context of the handler, after `{outer}`"
            )));
        }
        if is_in_transaction() {
            return Err(ctx.misused("a transaction of `once` is open: put the transaction into the step"));
        }
        let name = self.name.clone().map_err(|refused| ctx.misused(refused))?;
        ctx.within(name, self.contract).map_err(|error| ctx.misused(error))
    }
}

/// Tells the ledger about an earlier entry in this attempt whose end nobody knows: its contract decides whether there is
/// another one.
async fn lost(ctx: &Context, step: &Context, name: &StepName) -> Result<(), Failure> {
    let cause = Cause::new(CauseKind::Handler, "the step was left before it ended");
    let ordered = order_finish(step, name, Outcome::unknown(cause)).await;
    answered(ordered).map(|_| ()).map_err(|failure| ctx.unsent(failure))
}

/// Enters the step; the result of one that is finished already is `Some`.
async fn begin(ctx: &Context, step: &Context, name: &StepName) -> Result<Option<Option<Payload>>, Failure> {
    ctx.check_lease()?;
    let command =
        Command::BeginStep { token: ctx.token(), step: name.clone(), contract: step.contract().terms() };
    let ordered = ctx.attempt.orders.order(command).await;
    if ordered.is_err() {
        // The entry may have been written all the same, and would count as one that did not report.
        let cause = Cause::new(CauseKind::Error, "the step was not entered");
        let _ = order_finish(step, name, Outcome::NotApplied { cause, retry_after: None }).await;
    }
    match answered(ordered).map_err(|failure| ctx.unsent(failure))? {
        Answer::StepBegun => Ok(None),
        Answer::StepDone(result) => Ok(Some(result)),
        _ => Err(ctx.unsent(unfitting())),
    }
}

/// What an earlier attempt left.
fn kept<T: DeserializeOwned>(name: &StepName, result: Option<Payload>) -> Result<T, Failure> {
    let (kind, why) = match result.map(|result| result.decode()) {
        Some(Ok(value)) => return Ok(value),
        Some(Err(error)) => (CauseKind::UnreadableAnswer, error.to_string()),
        None => (CauseKind::UnstorableResult, "its result could not be kept".to_owned()),
    };
    let cause =
        Cause::new(kind, format_args!("the step `{name}` was finished by an earlier attempt, and {why}"));
    Err(Failure::new(Outcome::unknown(cause)))
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

/// How often, and after which waits, it is tried to write the end of a step down.
const WAITS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(50), Duration::from_millis(250)];

/// Writes the end down, and says whether it is. Where it is not, the step stays entered, and is decided by its contract
/// if this attempt dies.
async fn finish(step: &Context, name: &StepName, outcome: Outcome) -> bool {
    for wait in WAITS {
        tokio::time::sleep(wait).await;
        match order_finish(step, name, outcome.clone()).await {
            Ok(Ok(_)) => return true,
            Ok(Err(refusal)) => {
                tracing::warn!(step = %name, %refusal, "the end of a step was refused");
                return false;
            }
            Err(error) => tracing::warn!(step = %name, %error, "the end of a step could not be written"),
        }
    }
    false
}

async fn order_finish(step: &Context, name: &StepName, outcome: Outcome) -> Ordered {
    let command = Command::FinishStep { token: step.token(), step: name.clone(), outcome };
    step.attempt.orders.order(command).await
}

/// The steps that this attempt entered and whose end is not written down.
#[derive(Debug, Default)]
pub(super) struct Entered(Mutex<BTreeMap<StepName, Entry>>);

#[derive(Debug, PartialEq, Eq)]
enum Entry {
    /// It runs: entering it once more at the same time would act twice.
    UnderWay,
    /// It was left, and nobody knows what came of it.
    Lost,
}

/// One entry, until it is dropped.
struct Entering<'a> {
    among: &'a Entered,
    name: StepName,
    /// An entry before this one was lost.
    follows_lost: bool,
    /// Nobody will know what came of this one, unless it is said.
    is_lost: bool,
}

impl Entered {
    fn enter(&self, name: &StepName) -> Option<Entering<'_>> {
        let earlier = self.entries().insert(name.clone(), Entry::UnderWay);
        let follows_lost = match earlier {
            Some(Entry::UnderWay) => return None,
            Some(Entry::Lost) => true,
            None => false,
        };
        Some(Entering { among: self, name: name.clone(), follows_lost, is_lost: follows_lost })
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<StepName, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entering<'_> {
    fn drop(&mut self) {
        let mut entries = self.among.entries();
        if self.is_lost {
            entries.insert(self.name.clone(), Entry::Lost);
        } else {
            entries.remove(&self.name);
        }
    }
}
