//! Named steps: effects inside a handler, each with an identity, a contract and a result of its own.

mod entered;
mod entry;

use std::fmt;
use std::marker::PhantomData;

pub(super) use entered::Entered;
use entry::{Begun, Entry};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Context;
use super::orders::unfitting;
use crate::contract::Contract;
use crate::failure::Failure;
#[cfg(doc)]
use crate::model::Payload;
use crate::model::StepName;
use crate::reconcile::{Found, Inquiry};

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
    /// A name stands for one effect: in a loop, each round has one of its own, such as `notify.2`. A name that is done already in
    /// the same attempt rejects it.
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

impl<'a> NamedStep<'a> {
    /// What the destination of this step promises.
    pub fn to(mut self, contract: Contract) -> Self {
        self.contract = contract;
        self
    }

    /// How to ask the destination what happened, for a step that may have had its effect and must not be repeated: since
    /// its destination recognises nothing, may have forgotten it, or was sent it too long ago.
    ///
    /// Such a step does not park the record: the next attempt asks, before it sends anything. `T` is what the step itself
    /// leaves.
    ///
    /// | the answer | the step |
    /// |---|---|
    /// | [`Found::Applied`] | finished, with this result; the closure of `run` is not called |
    /// | [`Closed::OldCallsRefused`](crate::Closed::OldCallsRefused) | runs again, with the same identity |
    /// | [`Closed::ByTheDestination`](crate::Closed::ByTheDestination) | not applied; the handler gets a rejected failure |
    /// | anything else | unknown; the next attempt asks again, and the last one parks the record |
    ///
    /// ```
    /// use ratchet_core::{Context, Contract, Failure, Found, Inquiry};
    ///
    /// # struct Bank;
    /// # impl Bank {
    /// #     async fn book(&self, _: &Context) -> Result<String, Failure> { Ok(String::new()) }
    /// #     async fn by_reference(&self, _: &str) -> Result<Option<String>, Failure> { Ok(None) }
    /// # }
    /// async fn pay(ctx: &Context, bank: &Bank) -> Result<String, Failure> {
    ///     let book = ctx.step("book").to(Contract::NONE).reconcile(async |about: Inquiry| {
    ///         let booking = bank.by_reference(about.key()).await?;
    ///         Ok(booking.map_or(Found::StillUnknown, Found::Applied))
    ///     });
    ///     book.run(async |step: Context| bank.book(&step).await).await
    /// }
    /// ```
    ///
    /// A question about something else than what the step leaves does not compile:
    ///
    /// ```compile_fail,E0271
    /// # use ratchet_core::{Context, Failure, Found, Inquiry};
    /// # async fn count(about: Inquiry) -> Result<Found<u32>, Failure> { Ok(Found::Applied(about.attempts())) }
    /// # async fn name(step: Context) -> Result<String, Failure> { Ok(step.key().to_owned()) }
    /// # async fn handler(ctx: Context) -> Result<(), Failure> {
    /// ctx.step("charge").reconcile(count).run(name).await?;
    /// # Ok(()) }
    /// ```
    pub fn reconcile<T, Q>(self, ask: Q) -> ReconciledStep<'a, T, Q>
    where
        Q: AsyncFnOnce(Inquiry) -> Result<Found<T>, Failure>,
    {
        ReconciledStep { step: self, ask, result: PhantomData }
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
        let mut entry = Entry::of(self)?;
        match entry.begin(false).await? {
            Begun::Entered => entry.carry_out(effect).await,
            Begun::Finished(result) => entry.kept(result),
            Begun::MustAsk(_) => Err(entry.unsent(unfitting())),
        }
    }
}

/// A named effect whose destination can be asked what happened; made by [`NamedStep::reconcile`].
#[must_use = "a step does nothing until it is run"]
pub struct ReconciledStep<'a, T, Q> {
    step: NamedStep<'a>,
    ask: Q,
    result: PhantomData<fn() -> T>,
}

impl<T, Q> ReconciledStep<'_, T, Q>
where
    T: Serialize + DeserializeOwned,
    Q: AsyncFnOnce(Inquiry) -> Result<Found<T>, Failure>,
{
    /// As [`NamedStep::run`], and asks first where an earlier entry may have had its effect and must not be repeated.
    ///
    /// # Errors
    /// As those of [`NamedStep::run`]. Beside them, an unknown failure if asking told nothing, and a rejected one if the
    /// destination closed the key.
    pub async fn run<F>(self, effect: F) -> Result<T, Failure>
    where
        F: AsyncFnOnce(Context) -> Result<T, Failure>,
    {
        let mut entry = Entry::of(self.step)?;
        match entry.begin(true).await? {
            Begun::Entered => entry.carry_out(effect).await,
            Begun::Finished(result) => entry.kept(result),
            Begun::MustAsk(unconfirmed) => match entry.ask(unconfirmed, self.ask).await? {
                Some(applied) => Ok(applied),
                None => entry.carry_out(effect).await,
            },
        }
    }
}

impl<T, Q> fmt::Debug for ReconciledStep<'_, T, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReconciledStep").field("step", &self.step).finish_non_exhaustive()
    }
}
