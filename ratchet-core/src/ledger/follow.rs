//! Who waits for whom. For those who write a ledger.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Order;
use super::desk::Desk;
use crate::decide::{Answer, Command, Moment, Refusal, SubmitDecision};
use crate::model::{Ending, RecordId, State, Submission};

/// Whether records wait for others to end, as far as this process knows: only then is an end worth a look at those that
/// come after it. What it does not know of is found by [`follow`](super::Ledger::follow).
#[derive(Debug, Clone, Default)]
pub struct Followers(Arc<AtomicBool>);

impl Followers {
    /// To be called with what was found: whether any records wait.
    pub fn set(&self, waiting: bool) {
        self.0.store(waiting, Ordering::Relaxed);
    }

    /// Whether some may wait.
    #[must_use]
    pub fn may_wait(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The record of each order, to be kept until its answer is there; none if nobody waits.
    #[must_use]
    pub fn before(&self, orders: &[Order]) -> Vec<RecordId> {
        if self.may_wait() { orders.iter().map(|order| order.id.clone()).collect() } else { Vec::new() }
    }
}

/// Those of the records that were orders' that have ended, as the answers say.
#[must_use]
pub fn ended(ids: Vec<RecordId>, answers: &[Result<Answer, Refusal>]) -> Vec<RecordId> {
    let is_end = |answer: &Result<Answer, Refusal>| match answer {
        Ok(Answer::Settled(state) | Answer::Now(state)) => state.is_settled(),
        Ok(Answer::Parked(_)) => true,
        _ => false,
    };
    ids.into_iter().zip(answers).filter(|(_, answer)| is_end(answer)).map(|(id, _)| id).collect()
}

/// Whether one of the answers is that a record, which was cancelled before, waits again.
#[must_use]
pub fn waits_again(answers: &[Result<Answer, Refusal>]) -> bool {
    answers.contains(&Ok(Answer::Now(State::Waiting)))
}

/// What came of a look at records that wait.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Followed {
    /// How many are due now.
    pub due: usize,
    /// Which are skipped: others may wait for them.
    pub skipped: Vec<RecordId>,
}

impl Desk {
    /// Decides about waiting records, given by row how the one before each has ended.
    pub fn follow(&mut self, endings: &HashMap<i64, Ending>, moment: impl Fn() -> Moment) -> Followed {
        let mut followed = Followed::default();
        for place in 0..self.sheets.len() {
            let Some(ended) = endings.get(&self.sheets[place].row) else { continue };
            match self.decide(place, &Command::Follow { ended: *ended }, moment()) {
                Ok(Answer::Now(State::Pending)) => followed.due += 1,
                Ok(Answer::Now(State::Skipped)) => {
                    followed.skipped.push(self.sheets[place].record.id.clone());
                }
                _ => {}
            }
        }
        followed
    }
}

/// The record that a submission should come after, as a store has found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Predecessor {
    /// It comes after none.
    NotWanted,
    /// There is none.
    Missing,
    /// In this row.
    Row(i64),
}

impl Predecessor {
    /// What a look for it came to.
    #[must_use]
    pub fn of(found: Option<i64>) -> Self {
        found.map_or(Self::Missing, Self::Row)
    }

    /// Its row.
    #[must_use]
    pub const fn row(self) -> Option<i64> {
        match self {
            Self::Row(row) => Some(row),
            Self::NotWanted | Self::Missing => None,
        }
    }

    /// What is decided about the submission where this was found.
    #[must_use]
    pub fn check(self, decision: SubmitDecision) -> SubmitDecision {
        if self == Self::Missing { decision.without_predecessor() } else { decision }
    }
}

/// Whether two submissions, one behind the other, can be decided about by one look: one that comes after another record
/// needs a look of its own, since that record may have been made by the one in front of it.
#[must_use]
pub fn can_be_together(one: &Submission, next: &Submission) -> bool {
    one.after.is_none() && next.after.is_none()
}
