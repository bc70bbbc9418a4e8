//! What an attempt has sent so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::failure::Failure;
use crate::model::{Outcome, OutcomeKind};

/// What an attempt has sent so far. A handler may send several times, and a certain answer to one send says nothing about
/// another.
#[derive(Debug, Default)]
pub(crate) struct Sends {
    unanswered: AtomicU32,
    acted: AtomicBool,
}

/// A send that is under way. Dropped without a word, it stays unknown for the whole attempt, which is what a broken
/// connection and a dropped future are.
#[derive(Debug)]
#[must_use = "a send that is dropped without a word counts as unknown"]
pub struct Sending {
    sends: Arc<Sends>,
}

impl Sends {
    pub(crate) fn begin(self: &Arc<Self>) -> Sending {
        self.unanswered.fetch_add(1, Ordering::SeqCst);
        Sending { sends: Arc::clone(self) }
    }

    fn is_any_unanswered(&self) -> bool {
        self.unanswered.load(Ordering::SeqCst) > 0
    }

    /// Whether a send of this attempt had an effect, or may have had one.
    pub(crate) fn may_have_acted(&self) -> bool {
        self.acted.load(Ordering::SeqCst) || self.is_any_unanswered()
    }

    /// What a handler's outcome is worth: one that is certain about its last send is not about an earlier one.
    pub(crate) fn judge(&self, outcome: Outcome) -> Outcome {
        if self.is_any_unanswered() { unless_certain(outcome) } else { outcome }
    }

    /// The same for an outcome of our own that says that nothing was sent: it speaks of one send alone.
    pub(crate) fn judge_unsent(&self, outcome: Outcome) -> Outcome {
        if self.acted.load(Ordering::SeqCst) { unless_certain(outcome) } else { self.judge(outcome) }
    }
}

fn unless_certain(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::NotApplied { cause, retry_after } => Outcome::Unknown { cause, retry_after },
        Outcome::Rejected { cause, after_lookup: false } => Outcome::unknown(cause),
        other => other,
    }
}

impl Sending {
    /// The destination said that the effect happened.
    pub fn acted(self) {
        self.sends.acted.store(true, Ordering::SeqCst);
        self.answered();
    }

    /// The send did not end well. What the failure says is certain about this send alone, so it counts as unknown if
    /// another send of the attempt may have had an effect.
    pub fn failed(self, failure: Failure) -> Failure {
        if failure.outcome().kind() != OutcomeKind::Unknown {
            self.answered();
        }
        Failure::new(self.sends.judge_unsent(failure.into_outcome()))
    }

    fn answered(&self) {
        self.sends.unanswered.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Cause, CauseKind};

    fn rejected(after_lookup: bool) -> Outcome {
        Outcome::Rejected { cause: Cause::new(CauseKind::Handler, "no"), after_lookup }
    }

    fn failed(sends: &Arc<Sends>, outcome: Outcome) -> OutcomeKind {
        sends.begin().failed(Failure::new(outcome)).outcome().kind()
    }

    #[test]
    fn a_certain_word_counts_while_every_send_is_answered() {
        let sends = Arc::new(Sends::default());
        assert_eq!(failed(&sends, rejected(false)), OutcomeKind::Rejected);
        assert_eq!(sends.judge(rejected(false)).kind(), OutcomeKind::Rejected);
    }

    #[test]
    fn a_send_that_acted_leaves_the_last_word_to_the_handler_alone() {
        let sends = Arc::new(Sends::default());
        sends.begin().acted();
        assert_eq!(failed(&sends, rejected(false)), OutcomeKind::Unknown);
        assert_eq!(sends.judge(rejected(false)).kind(), OutcomeKind::Rejected);
    }

    #[test]
    fn a_send_without_an_answer_leaves_nothing_certain_but_a_look_up() {
        let sends = Arc::new(Sends::default());
        drop(sends.begin());
        assert_eq!(failed(&sends, rejected(false)), OutcomeKind::Unknown);
        assert_eq!(sends.judge(rejected(false)).kind(), OutcomeKind::Unknown);
        assert_eq!(sends.judge(rejected(true)).kind(), OutcomeKind::Rejected);
    }
}
