//! How long calls took.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long each call of a kind took.
#[derive(Default)]
pub(super) struct Latencies(Mutex<BTreeMap<&'static str, Vec<Duration>>>);

/// What is said of one kind of calls.
#[derive(Debug, Clone)]
pub(crate) struct Summary {
    pub(crate) call: &'static str,
    pub(crate) count: usize,
    pub(crate) half: Duration,
    pub(crate) most: Duration,
    pub(crate) longest: Duration,
}

impl Latencies {
    pub(super) fn add(&self, call: &'static str, took: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(call).or_default().push(took);
    }

    pub(super) fn summaries(&self) -> Vec<Summary> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter_mut().map(|(call, times)| summary(call, times)).collect()
    }
}

fn summary(call: &'static str, times: &mut [Duration]) -> Summary {
    times.sort_unstable();
    let at = |hundredths: usize| times.get(times.len() * hundredths / 100).copied().unwrap_or_default();
    let longest = times.last().copied().unwrap_or_default();
    Summary { call, count: times.len(), half: at(50), most: at(99), longest }
}
