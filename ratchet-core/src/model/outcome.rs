//! What an attempt knows about its effect.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cause::{Cause, CauseKind};
use super::payload::Payload;

/// What an attempt knows about its effect when it ends.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// The effect happened. The result is missing only if it could not be stored; the cause then says why.
    Done {
        /// The result that duplicates will receive.
        result: Option<Payload>,
        /// Why the result is missing.
        missing: Option<Cause>,
    },
    /// The effect certainly did not happen; a later attempt may succeed.
    NotApplied {
        /// Why not.
        cause: Cause,
        /// The destination asks to wait at least this long; such an attempt spends none of the allowed ones.
        retry_after: Option<Duration>,
    },
    /// The destination certainly refused; another attempt would be refused too.
    Rejected {
        /// Why.
        cause: Cause,
        /// The contract says that this answer is given after the destination looked the key up, and kept under it: no
        /// earlier attempt had an effect, and none that is still under way will.
        after_lookup: bool,
    },
    /// The effect may or may not have happened.
    Unknown {
        /// What cut the knowledge off. After [`CauseKind::NotRetryable`] there is no other attempt, whatever the policy
        /// says.
        cause: Cause,
        /// The destination, or the handler, asks to wait at least this long.
        retry_after: Option<Duration>,
    },
}

/// The four kinds of outcomes, for attempts, logs and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// The effect happened.
    Done,
    /// It certainly did not.
    NotApplied,
    /// It was certainly refused.
    Rejected,
    /// Nobody knows.
    Unknown,
}

impl Outcome {
    /// The handler was not entered. As a wait, it spends none of the allowed attempts: nobody tried.
    pub(crate) fn not_entered() -> Self {
        let cause = Cause::new(CauseKind::Handler, "the handler was not entered");
        Self::NotApplied { cause, retry_after: Some(Duration::ZERO) }
    }

    /// The effect happened and left nothing to tell.
    #[must_use]
    pub const fn done(result: Payload) -> Self {
        Self::Done { result: Some(result), missing: None }
    }

    /// Nobody knows, for this reason.
    #[must_use]
    pub const fn unknown(cause: Cause) -> Self {
        Self::Unknown { cause, retry_after: None }
    }

    /// Which of the four it is.
    #[must_use]
    pub const fn kind(&self) -> OutcomeKind {
        match self {
            Self::Done { .. } => OutcomeKind::Done,
            Self::NotApplied { .. } => OutcomeKind::NotApplied,
            Self::Rejected { .. } => OutcomeKind::Rejected,
            Self::Unknown { .. } => OutcomeKind::Unknown,
        }
    }

    /// Why it is not simply done.
    #[must_use]
    pub const fn cause(&self) -> Option<&Cause> {
        match self {
            Self::Done { missing, .. } => missing.as_ref(),
            Self::NotApplied { cause, .. } | Self::Rejected { cause, .. } | Self::Unknown { cause, .. } => {
                Some(cause)
            }
        }
    }
}

impl OutcomeKind {
    /// The name that logs, metrics and ledgers use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::NotApplied => "not_applied",
            Self::Rejected => "rejected",
            Self::Unknown => "unknown",
        }
    }
}
