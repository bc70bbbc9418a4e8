//! What listings are made of: a few words about each record, beside it in its object, which the engine's SQL finds.

use ratchet_core::decide::{LONGEST_LEASE, Stored};
use ratchet_core::ledger::{Offer, Served};
use ratchet_core::{GroupId, Namespace, Priority, Queue, RecordId, State, Timestamp, Version};
use serde::{Deserialize, Serialize};

use crate::book::Row;

/// A few words about one record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) id: RecordId,
    pub(crate) place: i64,
    pub(crate) version: Version,
    pub(crate) state: State,
    /// Only a tombstone is left.
    pub(crate) purged: bool,
    pub(crate) queue: Queue,
    pub(crate) priority: Priority,
    pub(crate) group: Option<GroupId>,
    pub(crate) created_at: Timestamp,
    pub(crate) ready_at: Timestamp,
    pub(crate) lease_until: Option<Timestamp>,
    pub(crate) reconcile_at: Option<Timestamp>,
    pub(crate) purge_at: Option<Timestamp>,
    /// How many decisions of people there are.
    pub(crate) decisions: usize,
}

impl Entry {
    pub(crate) fn of(row: &Row) -> Self {
        let stored = &row.stored;
        let record = row.record();
        let ended_at = |rest: &Stored| match rest {
            Stored::Tombstone(rest) => rest.ended_at,
            Stored::Record(record) => record.created_at,
        };
        let ends = record.filter(|record| record.state != State::Uncertain && record.state.is_settled());
        Self {
            id: stored.id().clone(),
            place: row.place,
            version: stored.version().clone(),
            state: stored.state(),
            purged: record.is_none(),
            queue: record.map(|record| record.queue.clone()).unwrap_or_default(),
            priority: record.map(|record| record.priority).unwrap_or_default(),
            group: record.and_then(|record| record.group.clone()),
            created_at: ended_at(stored),
            ready_at: record.map_or(Timestamp::EPOCH, |record| record.ready_at),
            lease_until: record.and_then(|record| record.lease.as_ref()).map(|lease| lease.until),
            reconcile_at: record.and_then(|record| record.reconcile_at),
            purge_at: ends.and_then(|record| Some(record.settled_at?.after(record.policy.retention))),
            decisions: row.audit.len(),
        }
    }

    pub(crate) fn served(&self) -> Served {
        Served { operation: self.id.operation.clone(), version: self.version.clone() }
    }

    pub(crate) fn is_in(&self, namespace: &Namespace) -> bool {
        self.id.namespace == *namespace
    }

    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        self.state == State::Pending && self.ready_at <= now
    }

    pub(crate) fn lease_is_over(&self, now: Timestamp) -> bool {
        let over = |until: Timestamp| until <= now || until > now.after(LONGEST_LEASE);
        self.state == State::Running && self.lease_until.is_some_and(over)
    }

    pub(crate) fn is_covered(&self, offers: &[Offer]) -> bool {
        offers.iter().any(|offer| offer.served == self.served() && offer.queue == self.queue)
    }
}
