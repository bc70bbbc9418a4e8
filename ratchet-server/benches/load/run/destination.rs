//! A destination that knows a key again, and counts.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What was asked for, and what was done about it.
#[derive(Default)]
pub(super) struct Destination(Mutex<Books>);

#[derive(Default)]
struct Books {
    /// When orders were asked for that no worker has come with yet.
    asked: HashMap<u64, Instant>,
    /// Orders whose enqueueing was answered.
    accepted: HashSet<u64>,
    /// How often each key came.
    keys: HashMap<String, u64>,
    /// Effects of each order: of its own, under whatever key.
    effects: HashMap<u64, u64>,
    /// Orders whose success was reported, and the report answered.
    settled: HashSet<u64>,
}

/// What the books say at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) accepted: u64,
    /// Orders that had an effect.
    pub(crate) applied: u64,
    /// Accepted orders that had none.
    pub(crate) lost: u64,
    /// Orders that had more than one.
    pub(crate) doubled: u64,
    /// Calls that the destination recognised as repeated.
    pub(crate) repeated: u64,
    /// Orders whose effect was reported.
    pub(crate) settled: u64,
}

impl Destination {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn ask(&self, order: u64) {
        self.books().asked.insert(order, Instant::now());
    }

    /// How long it took until a worker has an order; `None` if one had it before.
    pub(super) fn picked_up(&self, order: u64) -> Option<Duration> {
        self.books().asked.remove(&order).map(|asked| asked.elapsed())
    }

    pub(super) fn accept(&self, order: u64) {
        self.books().accepted.insert(order);
    }

    /// Has the effect of an order unless it had one under this key.
    pub(super) fn apply(&self, key: &str, order: u64) {
        let mut books = self.books();
        let calls = books.keys.entry(key.to_owned()).or_default();
        *calls += 1;
        if *calls == 1 {
            *books.effects.entry(order).or_default() += 1;
        }
    }

    pub(super) fn settle(&self, order: u64) {
        self.books().settled.insert(order);
    }

    pub(super) fn accepted(&self) -> usize {
        self.books().accepted.len()
    }

    pub(super) fn applied(&self) -> usize {
        self.books().effects.len()
    }

    /// How many accepted orders are not reported as done.
    pub(super) fn unsettled(&self) -> usize {
        let books = self.books();
        books.accepted.difference(&books.settled).count()
    }

    pub(super) fn count(&self) -> Count {
        let books = self.books();
        let of = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        Count {
            accepted: of(books.accepted.len()),
            applied: of(books.effects.len()),
            lost: of(books.accepted.iter().filter(|order| !books.effects.contains_key(order)).count()),
            doubled: of(books.effects.values().filter(|effects| **effects > 1).count()),
            repeated: books.keys.values().map(|calls| calls - 1).sum(),
            settled: of(books.settled.len()),
        }
    }
}
