//! What an attempt has sent so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::model::Outcome;

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

    /// This send certainly had no effect: it did not leave, or the destination refused it.
    pub fn had_no_effect(self) {
        self.answered();
    }

    fn answered(&self) {
        self.sends.unanswered.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Cause, CauseKind, OutcomeKind};

    fn judged(sends: &Sends, after_lookup: bool) -> (OutcomeKind, OutcomeKind) {
        let cause = || Cause::new(CauseKind::Handler, "no");
        let rejected = Outcome::Rejected { cause: cause(), after_lookup };
        let not_applied = Outcome::NotApplied { cause: cause(), retry_after: None };
        (sends.judge(rejected).kind(), sends.judge_unsent(not_applied).kind())
    }

    #[test]
    fn a_certain_word_counts_while_every_send_is_answered() {
        let sends = Arc::new(Sends::default());
        assert_eq!(judged(&sends, false), (OutcomeKind::Rejected, OutcomeKind::NotApplied));
        sends.begin().had_no_effect();
        assert_eq!(judged(&sends, false), (OutcomeKind::Rejected, OutcomeKind::NotApplied));
        sends.begin().acted();
        assert_eq!(judged(&sends, false), (OutcomeKind::Rejected, OutcomeKind::Unknown));
    }

    #[test]
    fn a_send_without_an_answer_leaves_nothing_certain_but_a_look_up() {
        let sends = Arc::new(Sends::default());
        drop(sends.begin());
        sends.begin().had_no_effect();
        assert_eq!(judged(&sends, false), (OutcomeKind::Unknown, OutcomeKind::Unknown));
        assert_eq!(judged(&sends, true).0, OutcomeKind::Rejected);
    }
}
