//! Which steps of an attempt are under way, and which were left without an end.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::StepName;

/// The steps that this attempt entered and whose end is not written down.
#[derive(Debug, Default)]
pub(in crate::context) struct Entered(Mutex<BTreeMap<StepName, Entry>>);

#[derive(Debug, PartialEq, Eq)]
enum Entry {
    /// It runs: entering it once more at the same time would act twice.
    UnderWay,
    /// It was left, and nobody knows what came of it.
    Lost,
}

/// One entry, until it is dropped.
pub(super) struct Entering<'a> {
    among: &'a Entered,
    name: StepName,
    /// An entry before this one was lost.
    pub(super) follows_lost: bool,
    /// Nobody will know what came of this one, unless it is said.
    pub(super) is_lost: bool,
}

impl Entered {
    pub(super) fn enter(&self, name: &StepName) -> Option<Entering<'_>> {
        let earlier = self.entries().insert(name.clone(), Entry::UnderWay);
        let follows_lost = match earlier {
            Some(Entry::UnderWay) => return None,
            Some(Entry::Lost) => true,
            None => false,
        };
        Some(Entering { among: self, name: name.clone(), follows_lost, is_lost: follows_lost })
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
        } else {
            entries.remove(&self.name);
        }
    }
}
