//! How a handler says that an attempt did not succeed.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::model::{Cause, CauseKind, Outcome};

/// Why an attempt did not succeed, and what that says about its effect.
///
/// Every `std::error::Error` converts to a `Failure` through `?`, as an *unknown* outcome: that some call failed says
/// nothing about what reached its destination. For `anyhow::Error` and `Box<dyn Error>`, which are none themselves, write
/// `.map_err(Failure::unknown)?`. Only the handler can say more:
///
/// ```
/// use std::time::Duration;
/// use ratchet_core::Failure;
///
/// fn check(balance: i64) -> Result<(), Failure> {
///     if balance < 0 {
///         return Err(Failure::rejected("the account is overdrawn"));
///     }
///     std::fs::read("rates.csv").map_err(|_| {
///         Failure::not_applied("today's rates are missing").retry_after(Duration::from_secs(600))
///     })?;
///     Ok(())
/// }
/// # let _ = check(-1);
/// ```
///
/// The texts are kept in the record for operators, cut to one line of 500 bytes; they never reach a log. Like
/// `anyhow::Error` it is not itself a `std::error::Error`, since it converts from all of them.
#[must_use = "a failure that is not returned is not reported"]
pub struct Failure(Box<Outcome>);

impl Failure {
    /// The effect certainly did not happen; a later attempt may succeed.
    pub fn not_applied(why: impl fmt::Display) -> Self {
        Self::new(Outcome::NotApplied { cause: Cause::new(CauseKind::Handler, why), retry_after: None })
    }

    /// The destination certainly refused, and would refuse again.
    pub fn rejected(why: impl fmt::Display) -> Self {
        Self::new(Outcome::Rejected { cause: Cause::new(CauseKind::Handler, why), after_lookup: false })
    }

    /// The effect may or may not have happened.
    pub fn unknown(why: impl fmt::Display) -> Self {
        Self::new(Outcome::unknown(Cause::new(CauseKind::Handler, why)))
    }

    /// What a destination client found out. An outcome of `Done` is no failure and counts as unknown.
    pub fn new(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done { .. } => Self::unknown("a failure was made of a success"),
            other => Self(Box::new(other)),
        }
    }

    /// Not to be tried again before this time has passed, as the destination asked. A rejection is not tried again at
    /// all, so it keeps no such wish.
    pub fn retry_after(mut self, wait: Duration) -> Self {
        match &mut *self.0 {
            Outcome::NotApplied { retry_after, .. } | Outcome::Unknown { retry_after, .. } => {
                *retry_after = Some(wait);
            }
            Outcome::Rejected { .. } | Outcome::Done { .. } => {}
        }
        self
    }

    /// What it says about the effect.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.0
    }

    /// The same, as a value.
    #[must_use]
    pub fn into_outcome(self) -> Outcome {
        *self.0
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(Outcome::unknown(Cause::new(CauseKind::Error, Chain(&error))))
    }
}

impl fmt::Debug for Failure {
    /// What is known about the effect, and why.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.kind().as_str())?;
        self.0.cause().map_or(Ok(()), |cause| write!(f, " ({cause})"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// An error and what caused it, in one line.
struct Chain<'a>(&'a dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::OutcomeKind;

    #[test]
    fn a_foreign_error_is_unknown_and_keeps_its_reasons() {
        let failed = || -> Result<(), Failure> { Ok("x".parse::<u8>().map(|_| ())?) };
        let outcome = failed().unwrap_err().into_outcome();
        assert_eq!(outcome.kind(), OutcomeKind::Unknown);
        assert_eq!(outcome.cause().unwrap().to_string(), "error: invalid digit found in string");
    }

    #[test]
    fn a_rejection_has_no_wish_for_a_later_attempt() {
        let outcome = Failure::rejected("no").retry_after(Duration::from_secs(1)).into_outcome();
        assert_eq!(
            outcome,
            Outcome::Rejected { cause: Cause::new(CauseKind::Handler, "no"), after_lookup: false }
        );
    }
}
