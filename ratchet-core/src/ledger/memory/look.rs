//! What is asked of the rows of a ledger in memory.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use super::rows::{Row, Rows};
use crate::decide::Stored;
use crate::ledger::{AuditPage, Count, Cursor, Decided, Filter, Offer, Page, Room, Served, Unserved};
use crate::model::{Ending, Namespace, Queue, Record, RecordId, State};
use crate::time::Timestamp;

impl Rows {
    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        self.order.values().filter_map(|id| match &self.by_id.get(id)?.stored {
            Stored::Record(record) => Some(&**record),
            Stored::Tombstone(_) => None,
        })
    }

    /// What the limits of these offers leave.
    pub(super) fn room(&self, namespace: &Namespace, offers: &[Offer]) -> Room {
        let mut room = Room::of(offers);
        if !room.is_endless() {
            let runs = |record: &&Record| record.state == State::Running && record.id.namespace == *namespace;
            self.records().filter(runs).for_each(|record| room.take(&record.id.operation, 1));
        }
        room
    }

    /// Those that wait, and how the one before each has ended.
    pub(super) fn waiting(&self) -> Vec<(RecordId, Option<Ending>)> {
        let waiting = self.records().filter(|record| record.state == State::Waiting);
        let of = |record: &Record| {
            let before = record.after.as_ref().and_then(|after| self.by_id.get(&after.id));
            (record.id.clone(), before.and_then(|row| row.stored.ending()))
        };
        waiting.map(of).collect()
    }

    pub(super) fn ids_where(&self, limit: usize, accepts: impl Fn(&Record) -> bool) -> Vec<RecordId> {
        self.records().filter(|record| accepts(record)).take(limit).map(|record| record.id.clone()).collect()
    }

    /// What can be leased, the most urgent and then the longest waiting first.
    pub(super) fn due(&self, namespace: &Namespace, offers: &[Offer], now: Timestamp) -> Vec<RecordId> {
        let is_due = |record: &&Record| record.state == State::Pending && record.ready_at <= now;
        let served = |record: &&Record| is_served(record, namespace, offers);
        let mut due: Vec<&Record> = self.records().filter(is_due).filter(served).collect();
        due.sort_by_key(|record| (Reverse(record.priority), record.ready_at));
        due.into_iter().map(|record| record.id.clone()).collect()
    }

    pub(super) fn census(&self, namespace: &Namespace) -> Vec<Count> {
        let mut counts: BTreeMap<(Served, State), (u64, Timestamp)> = BTreeMap::new();
        for record in self.records().filter(|record| record.id.namespace == *namespace) {
            let (records, oldest) =
                counts.entry((record.served(), record.state)).or_insert((0, record.created_at));
            *records += 1;
            *oldest = (*oldest).min(record.created_at);
        }
        let count = |((of, state), (records, oldest))| Count { of, state, records, oldest };
        counts.into_iter().map(count).collect()
    }

    pub(super) fn to_reconcile(
        &self,
        namespace: &Namespace,
        served: &[Served],
        limit: usize,
        now: Timestamp,
    ) -> Vec<Record> {
        let is_due = |record: &&Record| {
            record.state == State::Uncertain
                && record.id.namespace == *namespace
                && record.reconcile_at.is_some_and(|at| at <= now)
                && served.contains(&record.served())
        };
        let mut due: Vec<&Record> = self.records().filter(is_due).collect();
        due.sort_by_key(|record| record.reconcile_at);
        due.into_iter().take(limit).cloned().collect()
    }

    pub(super) fn list(&self, filter: &Filter) -> Page {
        let limit = filter.limit.max(1);
        let mut page = Page::default();
        let after = filter.after.unwrap_or(filter.first_place());
        let places: Box<dyn Iterator<Item = (&Cursor, &RecordId)>> = if filter.newest_first {
            Box::new(self.order.range(..after).rev())
        } else {
            Box::new(self.order.range(Cursor(after.0 + 1)..))
        };
        for (place, id) in places {
            let Some(Row { stored: Stored::Record(record), .. }) = self.by_id.get(id) else {
                continue;
            };
            if !is_listed(record, filter) {
                continue;
            }
            page.records.push((**record).clone());
            page.places.push(*place);
            if page.records.len() == limit {
                page.next = Some(*place);
                break;
            }
        }
        page
    }

    pub(super) fn audit_log(&self, namespace: &Namespace, before: Option<Cursor>, limit: usize) -> AuditPage {
        let places: BTreeMap<&RecordId, Cursor> = self.order.iter().map(|(place, id)| (id, *place)).collect();
        let mut page = AuditPage::default();
        for (at, (id, entry)) in self.audit.range(..before.unwrap_or(Cursor(i64::MAX))).rev() {
            let Some(place) = places.get(id).filter(|_| id.namespace == *namespace) else {
                continue;
            };
            page.decisions.push(Decided { id: id.clone(), place: *place, entry: entry.clone() });
            if page.decisions.len() == limit.max(1) {
                page.next = Some(*at);
                break;
            }
        }
        page
    }

    pub(super) fn unserved(&self, namespace: &Namespace, offers: &[Offer], now: Timestamp) -> Vec<Unserved> {
        let mut counts: BTreeMap<(Served, Queue), (u64, Timestamp)> = BTreeMap::new();
        let is_due = |record: &&Record| record.state == State::Pending && record.ready_at <= now;
        for record in self.records().filter(is_due) {
            if record.id.namespace == *namespace && !is_served(record, namespace, offers) {
                let (records, since) =
                    counts.entry((record.served(), record.queue.clone())).or_insert((0, record.ready_at));
                *records += 1;
                *since = record.ready_at.min(*since);
            }
        }
        let unserved = |((wanted, queue), (records, since))| Unserved { wanted, queue, records, since };
        counts.into_iter().map(unserved).collect()
    }

    pub(super) fn next_due(
        &self,
        namespace: &Namespace,
        offers: &[Offer],
        now: Timestamp,
    ) -> Option<Duration> {
        let open = self.room(namespace, offers).open(offers);
        let is_offered = |record: &Record| {
            record.id.namespace == *namespace
                && offers.iter().any(|offer| offer.served.operation == record.id.operation)
        };
        let due = self.records().filter_map(|record| match (record.state, &record.lease) {
            (State::Pending, _) => is_served(record, namespace, &open).then_some(record.ready_at),
            (State::Running, Some(lease)) => is_offered(record).then_some(lease.until),
            _ => None,
        });
        due.min().map(|at| at.since(now))
    }
}

fn is_listed(record: &Record, filter: &Filter) -> bool {
    record.id.namespace == filter.namespace
        && filter.operation.as_ref().is_none_or(|operation| *operation == record.id.operation)
        && filter.state.is_none_or(|state| state == record.state)
        && filter.group.as_ref().is_none_or(|group| Some(group) == record.group.as_ref())
        && filter.created_before.is_none_or(|end| record.created_at < end)
}

fn is_served(record: &Record, namespace: &Namespace, offers: &[Offer]) -> bool {
    record.id.namespace == *namespace && offers.iter().any(|offer| offer.covers(record))
}
