//! Whether a store takes work, or is one end of a move.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::carried::Place;
use crate::ledger::{HighWaterMark, LedgerError};
use crate::random::Random;

/// The name of one move, from one source to one target.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MoveId(String);

impl MoveId {
    /// A name that no other move has.
    #[must_use]
    pub fn new(random: &dyn Random) -> Self {
        Self(format!("{:016x}{:016x}", random.bits(), random.bits()))
    }
}

impl fmt::Display for MoveId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a store does. It is kept in the store, so that every program that uses it is held to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "stands", rename_all = "snake_case")]
pub enum StoreStanding {
    /// It takes work.
    Open {
        /// The move that filled it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filled_by: Option<MoveId>,
    },
    /// A source that lets nothing begin. Attempts that run may extend their leases, finish steps and report.
    Draining {
        /// Which move.
        by: MoveId,
        /// The address of the target, without credentials.
        to: String,
    },
    /// A source in which nothing runs, and no row changes any more.
    Frozen {
        /// Which move.
        by: MoveId,
        /// The address of the target, without credentials.
        to: String,
    },
    /// What was a source, for ever.
    Moved {
        /// Which move.
        by: MoveId,
        /// The address of the target, without credentials.
        to: String,
    },
    /// A target, in which nothing changes but by what is carried into it.
    Filling {
        /// Which move.
        by: MoveId,
        /// The address of the source, without credentials.
        from: String,
        /// Where the next batch begins.
        next: Place,
    },
}

impl StoreStanding {
    /// Whether attempts may begin.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// The name of the variant, as it is stored.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Open { .. } => "open",
            Self::Draining { .. } => "draining",
            Self::Frozen { .. } => "frozen",
            Self::Moved { .. } => "moved",
            Self::Filling { .. } => "filling",
        }
    }

    /// The address of the other store, if there is one.
    #[must_use]
    pub fn other_store(&self) -> Option<&str> {
        match self {
            Self::Open { .. } => None,
            Self::Draining { to, .. } | Self::Frozen { to, .. } | Self::Moved { to, .. } => Some(to),
            Self::Filling { from, .. } => Some(from),
        }
    }

    /// What a caller is told who wanted something that the store does not do as it stands; `None` if it takes work.
    #[must_use]
    pub fn refusal(&self) -> Option<LedgerError> {
        match self {
            Self::Open { .. } => None,
            Self::Filling { from, .. } => Some(LedgerError::Filling { from: from.clone() }),
            other => other.other_store().map(|to| LedgerError::Moved { to: to.to_owned() }),
        }
    }

    /// What it becomes.
    ///
    /// # Errors
    /// If this move may not do it now. Whether a target is empty and whether something runs in a source is for the ledger to
    /// look at, in the same transaction.
    pub fn after(&self, change: &StandingChange) -> Result<Self, StandingRefused> {
        use StandingChange as Change;

        let refused = || StandingRefused::Stands { as_what: self.to_string() };
        match (self, change) {
            (Self::Filling { by, .. }, Change::Fill { by: again, .. }) if by == again => Ok(self.clone()),
            // A move that came no further than this may be forgotten: the store is as empty as it was.
            (Self::Open { .. } | Self::Filling { next: Place::START, .. }, Change::Fill { by, from }) => {
                Ok(Self::Filling { by: by.clone(), from: from.clone(), next: Place::START })
            }
            (Self::Draining { by, .. }, Change::Drain { by: again, .. }) if by == again => Ok(self.clone()),
            (Self::Open { .. }, Change::Drain { by, to }) => {
                Ok(Self::Draining { by: by.clone(), to: to.clone() })
            }
            (Self::Frozen { by, .. }, Change::Freeze { by: again }) if by == again => Ok(self.clone()),
            (Self::Draining { by, to }, Change::Freeze { by: again }) if by == again => {
                Ok(Self::Frozen { by: by.clone(), to: to.clone() })
            }
            (
                Self::Draining { .. } | Self::Frozen { .. } | Self::Filling { next: Place::START, .. },
                Change::TakeBack,
            ) => Ok(Self::Open { filled_by: None }),
            (Self::Moved { by, .. }, Change::Leave { by: again }) if by == again => Ok(self.clone()),
            (Self::Frozen { by, to }, Change::Leave { by: again }) if by == again => {
                Ok(Self::Moved { by: by.clone(), to: to.clone() })
            }
            (Self::Open { filled_by: Some(by) }, Change::Open { by: again, .. }) if by == again => {
                Ok(self.clone())
            }
            (Self::Filling { by, next: Place::End, .. }, Change::Open { by: again, .. }) if by == again => {
                Ok(Self::Open { filled_by: Some(by.clone()) })
            }
            _ => Err(refused()),
        }
    }

    /// What it becomes when a batch of `import` is written.
    ///
    /// # Errors
    /// If it is filled by another move, or from another place on: another program has carried the batch already.
    pub fn after_import(&self, import: &super::Import) -> Result<Self, StandingRefused> {
        match self {
            Self::Filling { by, from, next } if *by == import.by && *next == import.at => {
                Ok(Self::Filling { by: by.clone(), from: from.clone(), next: import.batch.next.clone() })
            }
            _ => Err(StandingRefused::Stands { as_what: self.to_string() }),
        }
    }
}

impl Default for StoreStanding {
    fn default() -> Self {
        Self::Open { filled_by: None }
    }
}

impl fmt::Display for StoreStanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { .. } => f.write_str("open"),
            Self::Draining { to, .. } => write!(f, "about to move to `{to}`"),
            Self::Frozen { to, .. } => write!(f, "being moved to `{to}`"),
            Self::Moved { to, .. } => write!(f, "moved to `{to}`"),
            Self::Filling { from, next: Place::START, .. } => write!(f, "to be filled from `{from}`"),
            Self::Filling { from, next: Place::End, .. } => write!(f, "filled from `{from}` and not opened"),
            Self::Filling { from, .. } => write!(f, "half filled from `{from}`"),
        }
    }
}

/// A step of a move.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StandingChange {
    /// An empty store becomes the target.
    Fill {
        /// Which move.
        by: MoveId,
        /// The address of the source, without credentials.
        from: String,
    },
    /// A store becomes the source, and lets nothing begin any more.
    Drain {
        /// Which move.
        by: MoveId,
        /// The address of the target, without credentials.
        to: String,
    },
    /// Nothing changes any more in a source, in which nothing runs.
    Freeze {
        /// Which move.
        by: MoveId,
    },
    /// A source takes work again, and so does a target into which nothing was carried.
    TakeBack,
    /// The source is closed for ever.
    Leave {
        /// Which move.
        by: MoveId,
    },
    /// The target takes work.
    Open {
        /// Which move.
        by: MoveId,
        /// How far the source had come: the target begins a later epoch, so that no worker takes it for a restored backup.
        above: HighWaterMark,
    },
}

/// A store does not do this step of a move.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum StandingRefused {
    /// It stands as something else.
    #[error("the store is {as_what}, so this step of a move is not its own: nothing was changed")]
    Stands {
        /// As what.
        as_what: String,
    },
    /// A target has to be empty.
    #[error(
        "the store to move to holds something already: nothing was changed; name one that was never used"
    )]
    NotEmpty,
    /// Attempts have leases.
    #[error("{leases} attempts still run: wait until they have ended, or stop their workers")]
    Running {
        /// How many.
        leases: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SystemRandom;
    use crate::time::Timestamp;

    fn id(seed: u64) -> MoveId {
        MoveId::new(&*SystemRandom::seeded(seed))
    }

    fn all() -> Vec<StoreStanding> {
        let (to, from) = (|| "sqlite:b".to_owned(), || "sqlite:a".to_owned());
        let filling = |by, next| StoreStanding::Filling { by, from: from(), next };
        let half = Place::Records { after: crate::ledger::Cursor(7) };
        vec![
            StoreStanding::default(),
            StoreStanding::Open { filled_by: Some(id(1)) },
            StoreStanding::Draining { by: id(1), to: to() },
            StoreStanding::Frozen { by: id(1), to: to() },
            StoreStanding::Moved { by: id(1), to: to() },
            filling(id(1), Place::START),
            filling(id(1), half),
            filling(id(1), Place::End),
        ]
    }

    fn changes(by: u64) -> [StandingChange; 6] {
        let above = HighWaterMark { epoch: Timestamp::EPOCH, raised: 0 };
        [
            StandingChange::Fill { by: id(by), from: "sqlite:a".to_owned() },
            StandingChange::Drain { by: id(by), to: "sqlite:b".to_owned() },
            StandingChange::Freeze { by: id(by) },
            StandingChange::TakeBack,
            StandingChange::Leave { by: id(by) },
            StandingChange::Open { by: id(by), above },
        ]
    }

    /// Rows are standings, columns changes: what each becomes, in one letter.
    fn table(by: u64) -> Vec<String> {
        let letter = |after: Result<StoreStanding, _>| match after {
            Err(_) => '.',
            Ok(StoreStanding::Open { filled_by: None }) => 'o',
            Ok(StoreStanding::Open { .. }) => 'O',
            Ok(StoreStanding::Draining { .. }) => 'd',
            Ok(StoreStanding::Frozen { .. }) => 'f',
            Ok(StoreStanding::Moved { .. }) => 'm',
            Ok(StoreStanding::Filling { .. }) => 't',
        };
        let row = |standing: &StoreStanding| {
            changes(by).iter().map(|change| letter(standing.after(change))).collect()
        };
        all().iter().map(row).collect()
    }

    #[test]
    fn a_move_goes_its_way_and_steps_may_be_repeated() {
        let expected = ["td....", "td...O", ".dfo..", "..fom.", "....m.", "t..o..", "t.....", "t....O"];
        assert_eq!(table(1), expected);
    }

    /// Only what holds nothing yet can be taken over: neither a source that waits for its target nor a filled target.
    #[test]
    fn another_move_changes_nothing_of_it() {
        let expected = ["td....", "td....", "...o..", "...o..", "......", "t..o..", "......", "......"];
        assert_eq!(table(2), expected);
    }

    #[test]
    fn what_is_not_open_says_why() {
        let told: Vec<_> =
            all().iter().map(|standing| standing.refusal().map(|error| error.to_string())).collect();
        assert_eq!(told.iter().filter(|told| told.is_none()).count(), 2);
        assert!(told[4].as_ref().is_some_and(|told| told.contains("`sqlite:b`")), "{told:?}");
        assert!(told[6].as_ref().is_some_and(|told| told.contains("`sqlite:a`")), "{told:?}");
    }

    #[test]
    fn a_standing_is_stored_under_its_name() {
        for standing in all() {
            let text = serde_json::to_string(&standing).unwrap();
            assert!(text.contains(&format!(r#""stands":"{}""#, standing.name())), "{text}");
            assert_eq!(serde_json::from_str::<StoreStanding>(&text).unwrap(), standing);
        }
    }
}
