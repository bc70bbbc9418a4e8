//! What a worker offers to execute, and how much room the limits of operations leave.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Served;
use crate::decide::{Answer, Refusal};
use crate::model::{OperationName, Queue, Record};

/// What a worker offers to execute: the records of one operation and version in one queue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Offer {
    /// The operation and version.
    pub served: Served,
    /// From which queue.
    pub queue: Queue,
    /// How many attempts of the operation may run at once, over all workers of the namespace, all versions and all
    /// queues. Where offers of one operation differ, the lowest number counts; `None` if there is no limit.
    pub at_most: Option<NonZeroU32>,
}

impl Offer {
    /// From the queue `default`, without a limit.
    #[must_use]
    pub const fn new(served: Served) -> Self {
        Self { served, queue: Queue::DEFAULT, at_most: None }
    }

    /// Whether a record can be executed by it.
    #[must_use]
    pub fn covers(&self, record: &Record) -> bool {
        self.served.operation == record.id.operation
            && self.served.version == record.version
            && self.queue == record.queue
    }
}

/// How many more attempts of each limited operation may begin. For those who write a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Room {
    left: BTreeMap<OperationName, u64>,
}

impl Room {
    /// All the room that the limits of these offers leave while nothing runs.
    #[must_use]
    pub fn of(offers: &[Offer]) -> Self {
        let mut left = BTreeMap::new();
        for offer in offers {
            let Some(at_most) = offer.at_most else { continue };
            let at_most = u64::from(at_most.get());
            let lowest = left.entry(offer.served.operation.clone()).or_insert(at_most);
            *lowest = at_most.min(*lowest);
        }
        Self { left }
    }

    /// Whether no operation has a limit, so that nothing has to be counted.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        self.left.is_empty()
    }

    /// The operations that have a limit, in the order of their names.
    pub fn limited(&self) -> impl Iterator<Item = &OperationName> {
        self.left.keys()
    }

    /// Takes room for attempts that run; those of an operation without a limit need none.
    pub fn take(&mut self, operation: &OperationName, attempts: u64) {
        if let Some(left) = self.left.get_mut(operation) {
            *left = left.saturating_sub(attempts);
        }
    }

    /// Whether one more attempt may begin.
    #[must_use]
    pub fn has(&self, operation: &OperationName) -> bool {
        self.left.get(operation).is_none_or(|left| *left > 0)
    }

    /// Whether some operation may begin no more attempts.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.left.values().any(|left| *left == 0)
    }

    /// Those of the offers that may take one more attempt.
    #[must_use]
    pub fn open(&self, offers: &[Offer]) -> Vec<Offer> {
        offers.iter().filter(|offer| self.has(&offer.served.operation)).cloned().collect()
    }
}

/// Whether a worker of this process may wait for an attempt of a limited operation to end: only then is an end worth a
/// wake-up. For those who write a ledger.
#[derive(Debug, Clone, Default)]
pub struct AwaitedEnds(Arc<AtomicBool>);

impl AwaitedEnds {
    /// To be called before what runs is counted, so that no end falls between the count and the wait.
    pub fn expect(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether sleepers are to be woken after these answers were committed.
    #[must_use]
    pub fn came_with(&self, answers: &[Result<Answer, Refusal>]) -> bool {
        let is_end = |answer: &Result<Answer, Refusal>| {
            matches!(answer, Ok(Answer::Settled(_) | Answer::Released | Answer::Now(_)))
        };
        self.0.load(Ordering::SeqCst) && answers.iter().any(is_end) && self.0.swap(false, Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Version;

    fn offer(operation: &'static str, version: &'static str, at_most: Option<u32>) -> Offer {
        let operation = OperationName::from_static(operation);
        Offer {
            served: Served { operation, version: Version::from_static(version) },
            queue: Queue::DEFAULT,
            at_most: at_most.and_then(NonZeroU32::new),
        }
    }

    #[test]
    fn the_lowest_limit_of_an_operation_counts_for_all_its_versions() {
        let offers = [offer("a", "1", Some(3)), offer("a", "2", Some(2)), offer("a", "3", None)];
        let mut room = Room::of(&offers);
        let a = OperationName::from_static("a");
        room.take(&a, 1);
        assert!(room.has(&a) && !room.is_short());
        room.take(&a, 1);
        assert!(!room.has(&a) && room.is_short());
        assert_eq!(room.open(&offers), []);
        // More may run than the limit says, after it was lowered.
        room.take(&a, 7);
        assert!(!room.has(&a));
    }

    #[test]
    fn an_operation_without_a_limit_always_has_room() {
        let offers = [offer("a", "1", Some(1)), offer("b", "1", None)];
        let mut room = Room::of(&offers);
        let b = OperationName::from_static("b");
        room.take(&b, 1_000);
        room.take(&OperationName::from_static("a"), 1);
        assert_eq!(room.open(&offers), [offer("b", "1", None)]);
        assert!(Room::of(&[offer("b", "1", None)]).is_endless());
    }
}
