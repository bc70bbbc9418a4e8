//! Which steps of an attempt are under way, which are done, and which were left without an end.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::StepName;

/// The steps that this attempt entered.
#[derive(Debug, Default)]
pub(in crate::context) struct Entered(Mutex<BTreeMap<StepName, Entry>>);

#[derive(Debug, PartialEq, Eq)]
enum Entry {
    /// It runs: entering it once more at the same time would act twice.
    UnderWay,
    /// It was left, and nobody knows what came of it.
    Lost,
    /// It is done: whoever enters it once more means another effect, which would never happen.
    Done,
}

/// Why a step cannot be entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotEntered {
    UnderWay,
    Done,
}

/// One entry, until it is dropped.
pub(super) struct Entering<'a> {
    among: &'a Entered,
    name: StepName,
    /// An entry before this one was lost.
    pub(super) follows_lost: bool,
    /// Nobody will know what came of this one, unless it is said.
    pub(super) is_lost: bool,
    pub(super) is_done: bool,
}

impl Entered {
    pub(super) fn enter(&self, name: &StepName) -> Result<Entering<'_>, NotEntered> {
        let mut entries = self.entries();
        let follows_lost = match entries.get(name) {
            Some(Entry::UnderWay) => return Err(NotEntered::UnderWay),
            Some(Entry::Done) => return Err(NotEntered::Done),
            Some(Entry::Lost) => true,
            None => false,
        };
        entries.insert(name.clone(), Entry::UnderWay);
        Ok(Entering { among: self, name: name.clone(), follows_lost, is_lost: follows_lost, is_done: false })
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<StepName, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entering<'_> {
    fn drop(&mut self) {
        let mut entries = self.among.entries();
        if self.is_lost {
            entries.insert(self.name.clone(), Entry::Lost);
        } else if self.is_done {
            entries.insert(self.name.clone(), Entry::Done);
        } else {
            entries.remove(&self.name);
        }
    }
}
