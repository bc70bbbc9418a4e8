//! Who waits for whom. For those who write a ledger.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use super::Order;
use super::desk::Desk;
use crate::decide::{Answer, Command, Moment, Refusal, SubmitDecision};
use crate::model::{Ending, RecordId, State, Submission};

/// Whether records wait for others to end, as far as this process knows: only then is an end worth a look at those that
/// come after it. What it does not know of is found by [`follow`](super::Ledger::follow).
#[derive(Debug, Default)]
pub struct Followers {
    /// How often one came.
    arrived: AtomicU64,
    /// How many had come when a look found none.
    gone: AtomicU64,
    /// Up to which row all of them have been looked at.
    behind: AtomicI64,
}

impl Followers {
    /// To be called when records that wait may have been written, after that.
    pub fn arrived(&self) {
        self.arrived.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether some may wait.
    #[must_use]
    pub fn may_wait(&self) -> bool {
        self.arrived.load(Ordering::SeqCst) > self.gone.load(Ordering::SeqCst)
    }

    /// The next look at all that wait: from where the last one ended.
    #[must_use]
    pub fn next(&self, limit: usize) -> Whose {
        let arrived = self.arrived.load(Ordering::SeqCst);
        Whose::Any { behind: self.behind.load(Ordering::Relaxed), limit, arrived }
    }

    /// To be called with what that look came to. Who came while it was under way is not forgotten.
    pub fn looked(&self, whose: &Whose, looked: &Looked) {
        let Whose::Any { arrived, .. } = whose else { return };
        self.behind.store(looked.last.unwrap_or(0), Ordering::Relaxed);
        if !looked.waiting {
            self.gone.fetch_max(*arrived, Ordering::SeqCst);
        } else if !self.may_wait() {
            self.arrived();
        }
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

/// Whose followers are to be decided about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// Of these records, which have ended.
    Ended(Vec<RecordId>),
    /// Of all: the next `limit` that wait, from behind this row on.
    Any {
        /// The row.
        behind: i64,
        /// How many at the most.
        limit: usize,
        /// How often one had come when the look began.
        arrived: u64,
    },
}

/// How many followers of ended records one round decides about.
pub const IN_A_ROUND: i64 = 256;

/// How many rounds one look has at the most, since who is skipped may have followers again. The rest is found later.
pub const MOST_ROUNDS: usize = 64;

/// How many waiting records are looked at when one of them waits anew.
pub const MOST_LOOKED_AT: usize = 1024;

/// The row of a record that waits, and how the one before it has ended, if it has.
pub type Waiting = (i64, Option<Ending>);

/// Those whose wait is over, by row.
#[must_use]
pub fn endings(found: Vec<Waiting>) -> HashMap<i64, Ending> {
    found.into_iter().filter_map(|(row, ended)| Some((row, ended?))).collect()
}

/// What came of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Looked {
    /// How many were decided about.
    pub decided: usize,
    /// Whether something is due now.
    pub due: bool,
    /// The last of those that wait, if there may be more behind it.
    pub last: Option<i64>,
    /// Whether there was any.
    pub waiting: bool,
}

impl Looked {
    /// At those of all that wait which were found `behind` a row.
    #[must_use]
    pub fn at(found: &[Waiting], behind: i64, limit: usize) -> Self {
        let last = found.last().filter(|_| found.len() == limit).map(|(row, _)| *row);
        Self { last, waiting: !found.is_empty() || behind > 0, ..Self::default() }
    }

    /// Whether more records may wait, which the next look is at.
    #[must_use]
    pub const fn has_more(&self) -> bool {
        self.last.is_some()
    }

    /// Adds what was decided, and answers who was skipped: others may wait for them.
    pub fn add(&mut self, followed: Followed) -> Vec<RecordId> {
        let Followed { due, skipped } = followed;
        self.decided += due + skipped.len();
        self.due |= due > 0;
        skipped
    }
}

/// What was decided about records that wait.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_during_a_look_is_not_forgotten() {
        let followers = Followers::default();
        followers.arrived();
        let look = followers.next(10);
        followers.arrived();
        followers.looked(&look, &Looked::default());
        assert!(followers.may_wait(), "one came after the look had begun");
        followers.looked(&followers.next(10), &Looked::default());
        assert!(!followers.may_wait());
        followers.looked(&look, &Looked { waiting: true, ..Looked::default() });
        assert!(followers.may_wait(), "somebody else's were found");
    }
}
