//! The steps of a move, in their order.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::address::without_credentials;
use super::carried::{Import, Place};
use super::standing::{MoveId, StandingChange, StandingRefused, StoreStanding};
use super::sums::Sums;
use crate::ledger::{LedgerError, SharedLedger};
use crate::random::{SharedRandom, SystemRandom};

/// How many leases that are over are decided about at once.
const EXPIRE_BATCH: usize = 256;

/// How often a source is asked whether something still runs in it, or whether its tables are free.
const ASK_EVERY: Duration = Duration::from_millis(200);

/// From where to where, and how.
#[derive(Debug, Clone)]
pub struct Move {
    /// The store that is left.
    pub source: SharedLedger,
    /// The store that takes over: empty, or filled by this very move.
    pub target: SharedLedger,
    /// The address of the source, [without credentials](super::without_credentials).
    pub from: String,
    /// The address of the target, without credentials.
    pub to: String,
    /// How many things are carried at once.
    pub batch: usize,
    /// For how long to wait until nothing runs in the source.
    pub wait: Duration,
    /// Where the name of the move comes from.
    pub random: SharedRandom,
}

/// What has just become true, and stays so whatever happens to the program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// The target takes nothing but what is carried into it.
    TargetClosed,
    /// Nothing begins in the source any more.
    SourceClosed,
    /// Attempts run in the source.
    Waiting {
        /// How many.
        leases: u64,
    },
    /// Nothing changes in the source any more.
    SourceFrozen,
    /// So many things were carried by this run.
    Carried {
        /// How many.
        items: u64,
    },
    /// Both stores hold the same.
    Compared(Sums),
    /// The source is closed for ever.
    SourceLeft,
    /// The target takes work.
    TargetOpened,
}

/// How a move ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// It is done.
    Done,
    /// It was done before.
    Before,
}

/// A move stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
    /// A store did not answer.
    #[error("the {which} did not do it: {source}. Run the move again: it goes on where it was")]
    Ledger {
        /// Source or target.
        which: &'static str,
        /// What it said.
        source: LedgerError,
    },
    /// A store does not take part.
    #[error("the {which} refuses: {source}")]
    Refused {
        /// Source or target.
        which: &'static str,
        /// Why.
        source: StandingRefused,
    },
    /// The two stores do not belong to one move.
    #[error(
        "the store to move from is {source_is}, and the one to move to is {target_is}: they are not the two ends of one \
         move. Name the other end, or take the move back"
    )]
    NotOneMove {
        /// How the one stands.
        source_is: String,
        /// How the other stands.
        target_is: String,
    },
    /// Both addresses lead to one store.
    #[error(
        "the two addresses lead to one and the same store, which takes work as before: name another one to move to"
    )]
    OneStore,
    /// Workers of the source hold back.
    #[error(
        "workers of the store to move from hold back, since a backup was restored: what it holds as pending may have been \
         sent. Look into it, run `ratchet acknowledge-restore`, and move then"
    )]
    HeldBack,
    /// Something still runs in the source.
    #[error(
        "{leases} attempts still run in the store to move from, which takes nothing new: wait for longer, or stop the workers, \
         and run the move again; or take it back"
    )]
    StillRunning {
        /// How many.
        leases: u64,
    },
    /// The target does not hold what the source holds.
    #[error(
        "the stores differ: there are {in_source} in the one and {in_target} in the other. Nothing was opened: take the move \
         back, and report it"
    )]
    Differ {
        /// What the source holds.
        in_source: Sums,
        /// What the target holds.
        in_target: Sums,
    },
}

const SOURCE: &str = "store to move from";
const TARGET: &str = "store to move to";

fn at(which: &'static str) -> impl Fn(LedgerError) -> MoveError {
    move |source| MoveError::Ledger { which, source }
}

impl Move {
    /// From one store to another, whose addresses are told without credentials: 500 things at once, after a wait of five
    /// minutes at the most.
    #[must_use]
    pub fn new(source: SharedLedger, target: SharedLedger, from: &str, to: &str) -> Self {
        let (from, to) = (without_credentials(from), without_credentials(to));
        let (wait, random) = (Duration::from_mins(5), SystemRandom::shared());
        Self { source, target, from, to, batch: 500, wait, random }
    }

    /// Carries the move out, or on from where it was, and tells of each step once it is durable.
    ///
    /// # Errors
    /// Where it stops. Nothing is undone: run it again, or [take it back](Self::take_back).
    pub async fn run(&self, mut tell: impl FnMut(Progress)) -> Result<Moved, MoveError> {
        let source = self.source.standing().await.map_err(at(SOURCE))?;
        let target = self.target.standing().await.map_err(at(TARGET))?;
        let by = match (&source, &target) {
            (
                StoreStanding::Open { .. },
                StoreStanding::Open { .. } | StoreStanding::Filling { next: Place::START, .. },
            ) => self.begin(&mut tell).await?,
            (
                StoreStanding::Draining { by, .. }
                | StoreStanding::Frozen { by, .. }
                | StoreStanding::Moved { by, .. },
                StoreStanding::Filling { by: same, .. },
            ) if by == same => by.clone(),
            (StoreStanding::Moved { by, .. }, StoreStanding::Open { filled_by: Some(same) })
                if by == same =>
            {
                return Ok(Moved::Before);
            }
            _ => {
                return Err(MoveError::NotOneMove {
                    source_is: source.to_string(),
                    target_is: target.to_string(),
                });
            }
        };
        if !matches!(source, StoreStanding::Moved { .. }) {
            self.freeze(&by, &mut tell).await?;
            self.carry(&by, &mut tell).await?;
            self.compare(&mut tell).await?;
            // The last moment at which the move can be taken back, which this step and that exclude each other in: the
            // target opens only behind it.
            self.change(SOURCE, StandingChange::Leave { by: by.clone() }).await?;
            tell(Progress::SourceLeft);
        }
        let above = self.source.mark().await.map_err(at(SOURCE))?.mark;
        self.change(TARGET, StandingChange::Open { by, above }).await?;
        tell(Progress::TargetOpened);
        Ok(Moved::Done)
    }

    /// The source takes work again. The target, if something was carried into it, stays closed for ever.
    ///
    /// # Errors
    /// If the source has been left already, or is part of no move.
    pub async fn take_back(&self) -> Result<(), MoveError> {
        let source = self.source.standing().await.map_err(at(SOURCE))?;
        if !source.is_open() {
            self.change(SOURCE, StandingChange::TakeBack).await?;
        }
        let target = self.target.standing().await.map_err(at(TARGET))?;
        if matches!(target, StoreStanding::Filling { next: Place::START, .. }) {
            self.change(TARGET, StandingChange::TakeBack).await?;
        }
        Ok(())
    }

    /// The target first: a source that is closed for a target that cannot be used would stand still for nothing. The name is
    /// new, so that no other source and no other target has it.
    async fn begin(&self, tell: &mut impl FnMut(Progress)) -> Result<MoveId, MoveError> {
        if self.source.mark().await.map_err(at(SOURCE))?.held_since.is_some() {
            return Err(MoveError::HeldBack);
        }
        let by = MoveId::new(&*self.random);
        self.change(TARGET, StandingChange::Fill { by: by.clone(), from: self.from.clone() }).await?;
        if matches!(self.source.standing().await.map_err(at(SOURCE))?, StoreStanding::Filling { by: here, .. } if here == by)
        {
            self.change(TARGET, StandingChange::TakeBack).await?;
            return Err(MoveError::OneStore);
        }
        tell(Progress::TargetClosed);
        self.change(SOURCE, StandingChange::Drain { by: by.clone(), to: self.to.clone() }).await?;
        tell(Progress::SourceClosed);
        Ok(by)
    }

    /// Waits until nothing runs: what reports ends as it says, and what does not as every lease that is over.
    async fn freeze(&self, by: &MoveId, tell: &mut impl FnMut(Progress)) -> Result<(), MoveError> {
        let last = Instant::now() + self.wait;
        let mut told = None;
        loop {
            let leases = match self.change(SOURCE, StandingChange::Freeze { by: by.clone() }).await {
                Ok(()) => break,
                Err(MoveError::Refused { source: StandingRefused::Running { leases }, .. }) => leases,
                Err(error) => return Err(error),
            };
            // What is over is decided about, and looked at again at once. A source that is frozen has nothing of it.
            if self.source.expire(EXPIRE_BATCH).await.map_err(at(SOURCE))? > 0 {
                continue;
            }
            if told != Some(leases) {
                tell(Progress::Waiting { leases });
                told = Some(leases);
            }
            if Instant::now() >= last {
                return Err(MoveError::StillRunning { leases });
            }
            sleep(ASK_EVERY).await;
        }
        tell(Progress::SourceFrozen);
        Ok(())
    }

    async fn carry(&self, by: &MoveId, tell: &mut impl FnMut(Progress)) -> Result<(), MoveError> {
        let StoreStanding::Filling { mut next, .. } = self.target.standing().await.map_err(at(TARGET))?
        else {
            return Ok(());
        };
        let mut items = 0;
        while next != Place::End {
            let batch = self.source.export(next.clone(), self.batch).await.map_err(at(SOURCE))?;
            let (carried, then) = (batch.items.len() as u64, batch.next.clone());
            let imported = self.target.import(Import { by: by.clone(), at: next, batch }).await;
            imported.map_err(at(TARGET))?.map_err(|source| MoveError::Refused { which: TARGET, source })?;
            items += carried;
            next = then;
            tell(Progress::Carried { items });
        }
        Ok(())
    }

    async fn compare(&self, tell: &mut impl FnMut(Progress)) -> Result<(), MoveError> {
        let (in_source, in_target) =
            tokio::join!(Sums::of(&*self.source, self.batch), Sums::of(&*self.target, self.batch));
        let (in_source, in_target) = (in_source.map_err(at(SOURCE))?, in_target.map_err(at(TARGET))?);
        if in_source != in_target {
            return Err(MoveError::Differ { in_source, in_target });
        }
        tell(Progress::Compared(in_source));
        Ok(())
    }

    /// Where tables are in use at the moment, they are waited for as attempts are.
    async fn change(&self, which: &'static str, change: StandingChange) -> Result<(), MoveError> {
        let ledger = if which == SOURCE { &self.source } else { &self.target };
        let last = Instant::now() + self.wait;
        loop {
            match ledger.change_standing(change.clone()).await {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(source)) => return Err(MoveError::Refused { which, source }),
                Err(LedgerError::Busy { .. }) if Instant::now() < last => sleep(ASK_EVERY).await,
                Err(source) => return Err(MoveError::Ledger { which, source }),
            }
        }
    }
}
