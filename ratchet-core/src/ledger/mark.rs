//! How far a store has come, so that one that fell back to a backup can be told from one that went on.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// How far a store has come. Later marks are greater; a restored backup brings back a smaller one.
///
/// Workers raise it while they execute, and keep it outside of the store too, in a
/// [`HighWaterFile`](crate::HighWaterFile).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HighWaterMark {
    /// When the store was made, or a restored backup was last acknowledged.
    pub epoch: Timestamp,
    /// How often it was raised since then.
    pub raised: u64,
}

impl fmt::Display for HighWaterMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} since {}", self.raised, self.epoch)
    }
}

/// The mark of a store, and whether its workers hold back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StoreMark {
    /// How far the store has come.
    pub mark: HighWaterMark,
    /// Since when all workers hold back, because one of them found the store behind what it had seen.
    pub held_since: Option<Timestamp>,
}

/// What happens to the mark of a store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MarkChange {
    /// Raises it by one, unless workers hold back.
    Raise,
    /// Has all workers hold back.
    Hold,
    /// Begins a new epoch, in which workers go on. Who decided it, and why, is kept.
    Acknowledge {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
}

impl StoreMark {
    /// What becomes of it at `now`.
    ///
    /// ```
    /// use ratchet_core::Timestamp;
    /// use ratchet_core::ledger::{HighWaterMark, MarkChange, StoreMark};
    ///
    /// let made = Timestamp::from_millis(1_000);
    /// let mark = StoreMark { mark: HighWaterMark { epoch: made, raised: 6 }, held_since: None };
    /// assert_eq!(mark.after(&MarkChange::Raise, made).mark.raised, 7);
    /// ```
    #[must_use]
    pub fn after(self, change: &MarkChange, now: Timestamp) -> Self {
        let Self { mark, held_since } = self;
        match change {
            MarkChange::Raise if held_since.is_some() => self,
            MarkChange::Raise => {
                Self { mark: HighWaterMark { raised: mark.raised.saturating_add(1), ..mark }, held_since }
            }
            MarkChange::Hold => Self { mark, held_since: held_since.or(Some(now)) },
            MarkChange::Acknowledge { .. } => {
                // Also where the clock went back, since what workers keep may be of this epoch.
                let next = Timestamp::from_millis(mark.epoch.as_millis().saturating_add(1));
                Self { mark: HighWaterMark { epoch: now.max(next), raised: 0 }, held_since: None }
            }
        }
    }
}

impl StoreMark {
    /// That of a store which was filled from one that had come as far as `above`: a new epoch, later than those of both, so
    /// that no file which workers kept of either is ahead of it.
    #[must_use]
    pub fn opened(self, above: HighWaterMark, now: Timestamp) -> Self {
        let later = |mark: HighWaterMark| Timestamp::from_millis(mark.epoch.as_millis().saturating_add(1));
        let epoch = now.max(later(self.mark)).max(later(above));
        Self { mark: HighWaterMark { epoch, raised: 0 }, held_since: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE: Timestamp = Timestamp::from_millis(1_000);
    const LATER: Timestamp = Timestamp::from_millis(5_000);
    const SIX: StoreMark = StoreMark { mark: HighWaterMark { epoch: MADE, raised: 6 }, held_since: None };

    fn acknowledge() -> MarkChange {
        MarkChange::Acknowledge { by: "ada".to_owned(), reason: "looked".to_owned() }
    }

    #[test]
    fn what_is_held_back_is_raised_no_more_until_it_is_acknowledged() {
        let held = SIX.after(&MarkChange::Hold, LATER);
        assert_eq!(held, StoreMark { held_since: Some(LATER), ..SIX });
        assert_eq!(held.after(&MarkChange::Raise, LATER), held);
        assert_eq!(held.after(&MarkChange::Hold, Timestamp::from_millis(9_000)), held);
        let acknowledged = held.after(&acknowledge(), LATER);
        let expected = HighWaterMark { epoch: LATER, raised: 0 };
        assert_eq!(acknowledged, StoreMark { mark: expected, held_since: None });
        assert!(acknowledged.mark > HighWaterMark { epoch: MADE, raised: 1_000_000 });
    }

    #[test]
    fn a_store_that_was_filled_is_ahead_of_both() {
        let above = |epoch| HighWaterMark { epoch: Timestamp::from_millis(epoch), raised: 9 };
        let opened = |above, now| SIX.opened(above, Timestamp::from_millis(now)).mark.epoch.as_millis();
        assert_eq!(opened(above(7_000), 9_000), 9_000);
        assert_eq!(opened(above(7_000), 500), 7_001);
        assert_eq!(opened(above(200), 500), 1_001);
    }

    #[test]
    fn a_clock_that_went_back_makes_no_earlier_epoch() {
        let acknowledged = SIX.after(&acknowledge(), Timestamp::EPOCH);
        assert_eq!(acknowledged.mark.epoch, Timestamp::from_millis(1_001));
    }
}
