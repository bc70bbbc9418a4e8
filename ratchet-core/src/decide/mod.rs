//! What happens next to a record, decided by one pure function.
//!
//! [`decide`] takes a record, a command and a moment, and answers with the record as it is from then on. It reads no
//! clock and no store. Ledgers make its answers durable, the model checker explores it, pages for operators explain it.

mod command;
mod follow;
mod lease;
mod pin;
mod preview;
mod resolve;
mod settle;
mod step;
mod submit;

#[cfg(test)]
mod tests;

pub use command::{Answer, AttemptNote, Command, Decision, Difference, PinRequest, Refusal, Verdict};
pub use preview::{ReplayPreview, UnconfirmedEffect, preview_replay};
pub use submit::{Newest, Stored, SubmitDecision, decide_beside, decide_submission};

use crate::model::Record;
use crate::time::Timestamp;

/// The longest lease there is: one that ends later than this from now is taken for a fault of a clock, and as over.
pub const LONGEST_LEASE: std::time::Duration = std::time::Duration::from_mins(15);

/// When a decision is made, and the roll that spreads its retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Moment {
    /// The ledger's clock.
    pub now: Timestamp,
    /// Where in its spread the next retry falls.
    pub jitter: Jitter,
}

/// A roll between the shortest (0) and the longest (1000) wait of a spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Jitter(u16);

impl Jitter {
    /// Exactly the policy's wait.
    pub const MIDDLE: Self = Self(500);
    /// The shortest wait.
    pub const SHORTEST: Self = Self(0);
    /// The longest wait.
    pub const LONGEST: Self = Self(1000);

    /// A roll made of random bits.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        #[allow(clippy::cast_possible_truncation, reason = "the remainder is at most 1000")]
        Self((bits % 1001) as u16)
    }

    pub(crate) const fn per_mille(self) -> u32 {
        self.0 as u32
    }
}

/// Decides what happens next to `record`.
///
/// # Errors
/// If the command does not fit the record: its token is superseded, or the record is in no state for it. A refusal
/// changes nothing.
pub fn decide(record: &Record, command: &Command, moment: Moment) -> Result<Decision, Refusal> {
    match command {
        Command::Lease { worker, duration, start_if_safe } => {
            lease::grant(record, worker, *duration, *start_if_safe, moment)
        }
        Command::Adopt { token, contract, policy } => {
            lease::adopt(record, *token, contract, policy, moment.now)
        }
        Command::Start { token } => lease::start(record, *token, moment.now),
        Command::Renew { token, duration } => lease::renew(record, *token, *duration, moment.now),
        Command::Release { token } => lease::release(record, *token, moment.now),
        Command::Expire => settle::expire(record, moment),
        Command::Pin { token, step, request } => pin::pin(record, *token, step.as_ref(), request, moment.now),
        Command::BeginStep { token, step, contract, reconciles } => {
            step::begin(record, *token, step, contract, *reconciles, moment.now)
        }
        Command::RestartStep { token, step } => step::restart(record, *token, step, moment.now),
        Command::FinishStep { token, step, outcome } => {
            step::finish(record, *token, step, outcome, moment.now)
        }
        Command::Settle { token, outcome } => settle::settle(record, *token, outcome, moment),
        Command::Follow { ended } => follow::follow(record, *ended, moment.now),
        Command::Cancel { by, reason, seen } => {
            resolve::is_as_seen(record, *seen)?;
            resolve::cancel(record, by, reason, moment.now)
        }
        Command::Ask { at_most } => resolve::ask(record, *at_most, moment.now),
        Command::Resolve { by, reason, seen, verdict } => {
            resolve::resolve(record, by, reason, *seen, verdict, moment.now)
        }
        Command::Replay { by, reason, accept_risk, at_most, seen } => {
            resolve::is_as_seen(record, *seen)?;
            resolve::replay(record, by, reason, *accept_risk, *at_most, moment.now)
        }
    }
}
