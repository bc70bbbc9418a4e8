//! What guards an effect in a database of the handler's own: identity, fence and outcomes, without any SQL.
//!
//! A store's `once` keeps one row per effect, written in one transaction with it. This module says what the row means; a
//! store only reads and writes it. Programs use `once` of `ratchet_sqlite` or `ratchet_postgres`.

mod error;

use std::error::Error;
use std::fmt;
use std::future::Future;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use error::{OnceError, OnceErrorKind};

use crate::context::{Context, Sending};
use crate::contract::Mechanism;
use crate::failure::Failure;
use crate::model::{Cause, CauseKind, Outcome, Payload, RecordId, State, StepName, Token};
use crate::time::Timestamp;

tokio::task_local! {
    static IN_TRANSACTION: ();
}

/// Whether this code runs inside the closure of a `once`, where no destination is asked.
pub(crate) fn is_in_transaction() -> bool {
    IN_TRANSACTION.try_with(|()| ()).is_ok()
}

/// What the row of an effect says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The highest token that asked for the effect.
    pub token: Token,
    /// What the effect left; `None` only inside the transaction that makes it.
    pub result: Option<Payload>,
}

/// What follows from a row that is there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// The effect happened and left this: hand it out, and keep the asking token as the highest.
    Stored(Payload),
    /// A newer attempt has asked: refuse.
    Superseded,
    /// Somebody committed between the row and its result: nobody knows about the effect.
    Unfinished,
}

/// Decides about an attempt that finds the row of its effect. The one that finds none makes it, and the effect.
#[must_use]
pub fn admit(asked_by: Token, seen: Seen) -> Admission {
    match seen.result {
        _ if asked_by < seen.token => Admission::Superseded,
        Some(result) => Admission::Stored(result),
        None => Admission::Unfinished,
    }
}

/// Whether a record, found in the same database and locked, is still executed by the attempt with this token.
#[must_use]
pub fn is_current(asked_by: Token, state: State, token: Token) -> bool {
    state == State::Running && token == asked_by
}

/// One effect in a database of the handler's own, and the attempt that asks for it.
#[derive(Debug)]
pub struct EffectGuard<'a> {
    ctx: &'a Context,
    step: String,
}

impl<'a> EffectGuard<'a> {
    /// The effect of this name, within what `ctx` stands for.
    ///
    /// # Errors
    /// If `once` cannot work here: inside the closure of another one, outside of the steps of an operation that keeps its
    /// effects inside them, or with a name that is none; or if the lease is over.
    pub fn of(
        ctx: &'a Context,
        name: impl TryInto<StepName, Error: fmt::Display>,
    ) -> Result<Self, OnceError> {
        let misused = |why: &dyn fmt::Display| {
            OnceError::new(OnceErrorKind::Misused, ctx.unsent(Failure::rejected(why)))
        };
        let name = name.try_into().map_err(|refused| misused(&refused))?;
        if is_in_transaction() {
            return Err(misused(
                &"a transaction of `once` is open already: do it all in one closure, or one after the other",
            ));
        }
        if ctx.step_name().is_none() && *ctx.contract().mechanism() == Mechanism::Steps {
            return Err(misused(
                &"this operation keeps its effects inside steps: put `once` into a step to `Contract::DATABASE`",
            ));
        }
        // No name holds the mark, so no two effects have one text.
        let step = match ctx.step_name() {
            Some(outer) => format!("{outer}!{name}"),
            None => name.to_string(),
        };
        let guard = Self { ctx, step };
        guard.check_lease()?;
        Ok(guard)
    }

    /// The record that the effect belongs to.
    #[must_use]
    pub fn id(&self) -> &RecordId {
        self.ctx.id()
    }

    /// Which effect of the record it is: the name, after the name of the step and `!` where there is one.
    #[must_use]
    pub fn step(&self) -> &str {
        &self.step
    }

    /// Which attempt asks.
    #[must_use]
    pub fn token(&self) -> Token {
        self.ctx.token()
    }

    /// The worker's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.ctx.now()
    }

    /// Whether the lease still stands; asked once more before COMMIT.
    ///
    /// # Errors
    /// [`OnceErrorKind::LeaseLost`].
    pub fn check_lease(&self) -> Result<(), OnceError> {
        self.ctx.check_lease().map_err(|failure| OnceError::new(OnceErrorKind::LeaseLost, failure))
    }

    /// Whether a record in the same database is still executed by this attempt.
    ///
    /// # Errors
    /// [`OnceErrorKind::LeaseLost`] if it is not.
    pub fn check_record(&self, state: State, token: Token) -> Result<(), OnceError> {
        if is_current(self.token(), state, token) {
            return Ok(());
        }
        let why = "the record is not executed by this attempt any more, so its transaction was rolled back";
        Err(self.rolled_back(OnceErrorKind::LeaseLost, Cause::new(CauseKind::LeaseLost, why)))
    }

    /// The result of an effect whose row is there already.
    ///
    /// # Errors
    /// [`OnceErrorKind::Superseded`], [`OnceErrorKind::UnreadableResult`] or [`OnceErrorKind::TransactionEnded`].
    pub fn read<T: DeserializeOwned>(&self, seen: Seen) -> Result<T, OnceError> {
        // Whatever else this attempt finds out, something has had this effect.
        self.ctx.begin_send().acted();
        let newest = seen.token;
        match admit(self.token(), seen) {
            Admission::Stored(result) => result.decode().map_err(|error| {
                let why = format_args!("the effect happened, and what it left cannot be read: {error}");
                unknown(OnceErrorKind::UnreadableResult, Cause::new(CauseKind::UnreadableAnswer, why))
            }),
            Admission::Superseded => {
                let why = "a newer attempt has had this effect, and this one is refused";
                let kind = OnceErrorKind::Superseded { seen: newest };
                Err(unknown(kind, Cause::new(CauseKind::LeaseLost, why)))
            }
            Admission::Unfinished => Err(self.transaction_ended()),
        }
    }

    /// Runs the closure's future, in which no destination is asked, and gives its value, also as it is stored.
    ///
    /// # Errors
    /// [`OnceErrorKind::Effect`] or [`OnceErrorKind::UnstorableResult`]; the store rolls the transaction back.
    pub async fn run<T: Serialize>(
        &self,
        effect: impl Future<Output = Result<T, Failure>>,
    ) -> Result<(T, Payload), OnceError> {
        let value = IN_TRANSACTION.scope((), effect).await.map_err(|failure| {
            let outcome = undone(failure.into_outcome());
            OnceError::new(OnceErrorKind::Effect, self.ctx.unsent(Failure::new(outcome)))
        })?;
        let stored = Payload::encode(&value, Payload::LARGEST_RESULT).map_err(|error| {
            let why = format_args!("what was returned cannot be kept, so it was rolled back: {error}");
            let cause = Cause::new(CauseKind::UnstorableResult, why);
            let outcome = Outcome::Rejected { cause, after_lookup: false };
            OnceError::new(OnceErrorKind::UnstorableResult, self.ctx.unsent(Failure::new(outcome)))
        })?;
        Ok((value, stored))
    }

    /// Says that COMMIT is about to be asked for. What comes back says how it ended; until then, and if it is dropped,
    /// the effect may have happened.
    ///
    /// # Errors
    /// [`OnceErrorKind::LeaseLost`] if the lease is over.
    pub fn begin_commit(&self) -> Result<Sending, OnceError> {
        self.check_lease()?;
        Ok(self.ctx.begin_send())
    }

    /// The database failed, and nothing of the transaction is left.
    pub fn not_applied(&self, kind: OnceErrorKind, error: impl Error + Send + Sync + 'static) -> OnceError {
        let outcome = undone(Failure::from(error).into_outcome());
        OnceError::new(kind, self.ctx.unsent(Failure::new(outcome)))
    }

    /// The same after a COMMIT that certainly did not take effect.
    pub fn not_committed(&self, commit: Sending, error: impl Error + Send + Sync + 'static) -> OnceError {
        let outcome = undone(Failure::from(error).into_outcome());
        OnceError::new(OnceErrorKind::Store, commit.failed(Failure::new(outcome)))
    }

    /// Nobody could find out what came of a COMMIT; the next attempt reads the row.
    pub fn commit_unknown(&self, commit: Sending, error: impl Error + Send + Sync + 'static) -> OnceError {
        OnceError::new(OnceErrorKind::CommitUnknown, commit.failed(Failure::from(error)))
    }

    /// The row of the effect is not as this transaction left it: the closure ended the transaction.
    pub fn transaction_ended(&self) -> OnceError {
        let why = "the transaction was ended inside the closure of `once`, so that it is not known what is in the database";
        unknown(OnceErrorKind::TransactionEnded, Cause::new(CauseKind::Handler, why))
    }

    /// Nothing of the transaction is left, for this cause.
    pub fn rolled_back(&self, kind: OnceErrorKind, cause: Cause) -> OnceError {
        let outcome = Outcome::NotApplied { cause, retry_after: None };
        OnceError::new(kind, self.ctx.unsent(Failure::new(outcome)))
    }
}

fn unknown(kind: OnceErrorKind, cause: Cause) -> OnceError {
    OnceError::new(kind, Failure::new(Outcome::unknown(cause)))
}

/// What a failure is worth once its transaction is rolled back: nothing of it is left, whatever it was.
fn undone(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Unknown { cause, retry_after } => Outcome::NotApplied { cause, retry_after },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(token: u64, result: Option<&str>) -> Seen {
        Seen { token: Token::new(token), result: result.map(Payload::from_stored) }
    }

    #[test]
    fn a_row_answers_every_attempt_but_older_ones() {
        let stored = Admission::Stored(Payload::from_stored("7"));
        assert_eq!(admit(Token::new(1), seen(2, Some("7"))), Admission::Superseded);
        assert_eq!(admit(Token::new(2), seen(2, Some("7"))), stored);
        assert_eq!(admit(Token::new(3), seen(2, Some("7"))), stored);
        assert_eq!(admit(Token::new(3), seen(2, None)), Admission::Unfinished);
        assert_eq!(admit(Token::new(1), seen(2, None)), Admission::Superseded);
    }

    #[test]
    fn a_record_is_executed_by_the_newest_attempt_until_it_is_settled() {
        for state in State::ALL {
            assert_eq!(is_current(Token::new(2), state, Token::new(2)), state == State::Running, "{state}");
            assert!(!is_current(Token::new(1), state, Token::new(2)), "{state}");
            assert!(!is_current(Token::new(3), state, Token::new(2)), "{state}");
        }
    }

    #[test]
    fn what_was_rolled_back_is_certain() {
        let cause = || Cause::new(CauseKind::Error, "x");
        let retry_after = Some(std::time::Duration::from_secs(1));
        let not_applied = Outcome::NotApplied { cause: cause(), retry_after };
        assert_eq!(undone(Outcome::Unknown { cause: cause(), retry_after }), not_applied);
        let rejected = Outcome::Rejected { cause: cause(), after_lookup: false };
        assert_eq!(undone(rejected.clone()), rejected);
    }
}
