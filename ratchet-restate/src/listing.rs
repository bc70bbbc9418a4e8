//! What is asked about all records: the engine is asked for the index entries, and objects for the records that are wanted.
//!
//! A question reads the entries of all records. That is meant for people, and for workers that look now and then.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ratchet_core::decide::{Answer, Command, Stored};
use ratchet_core::ledger::{
    AuditPage, Claim, Count, Cursor, Decided, Filter, Looked, Offer, Page, Room, Served, Unserved,
};
use ratchet_core::{Key, Ledger as _, LedgerError, Namespace, Queue, Record, RecordId, State, Timestamp};

use crate::RestateLedger;
use crate::index::Entry;
use crate::names;
use crate::record_object::key_of;
use crate::together::together;

impl RestateLedger {
    /// All entries, in the order of their places.
    pub(crate) async fn index(&self) -> Result<Vec<Entry>, LedgerError> {
        let entries: Vec<Vec<Entry>> =
            self.engine.entries(names::RECORD, names::INDEX, "list records").await?;
        let mut entries: Vec<Entry> = entries.into_iter().flatten().collect();
        entries.sort_by_key(|entry| entry.place);
        Ok(entries)
    }

    /// Leases what is due, the most urgent and then the longest waiting first. Counting what runs and leasing are two steps
    /// here, so a limit holds for this caller and not for several at once.
    pub(crate) async fn claim_found(&self, claim: Claim) -> Result<Vec<Record>, LedgerError> {
        let index = self.index().await?;
        let now = self.clock.now();
        let mut room = room(&index, &claim.namespace, &claim.offers);
        let mut due: Vec<&Entry> = index
            .iter()
            .filter(|entry| {
                entry.is_due(now) && entry.is_in(&claim.namespace) && entry.is_covered(&claim.offers)
            })
            .collect();
        due.sort_by_key(|entry| (Reverse(entry.priority), entry.ready_at));
        let mut leased = Vec::new();
        for entry in due {
            if leased.len() == claim.limit {
                break;
            }
            if !room.has(&entry.id.operation) {
                continue;
            }
            let lease = Command::Lease {
                worker: claim.worker.clone(),
                duration: claim.lease,
                start_if_safe: claim.start_if_safe,
            };
            if let Ok(Answer::Leased) = self.order(&entry.id, lease).await?
                && let Some(Stored::Record(record)) = self.find(entry.id.clone()).await?
            {
                room.take(&entry.id.operation, 1);
                leased.push(*record);
            }
        }
        Ok(leased)
    }

    /// Has the engine hand over what is due and what nobody has taken up so far, now that somebody is there who can.
    pub(crate) async fn offer_again(
        &self,
        namespace: &Namespace,
        offers: &[Offer],
    ) -> Result<(), LedgerError> {
        let now = self.clock.now();
        let index = self.index().await?;
        let due = index
            .iter()
            .filter(|entry| entry.is_due(now) && entry.is_in(namespace) && entry.is_covered(offers));
        let keys: BTreeSet<String> = due.map(|entry| key_of(&entry.id)).collect();
        let offer = |key: String| async move {
            self.engine.call::<_, u64>(names::RECORD, &key, "offer", &(), "offer a record again").await
        };
        together(keys, offer).await.map(drop)
    }

    pub(crate) async fn expire_found(&self, limit: usize) -> Result<usize, LedgerError> {
        let now = self.clock.now();
        let index = self.index().await?;
        let over = index.into_iter().filter(|entry| entry.lease_is_over(now)).take(limit);
        let mut expired = 0;
        for entry in over {
            expired += usize::from(self.order(&entry.id, Command::Expire).await?.is_ok());
        }
        if expired > 0 {
            self.wake();
        }
        Ok(expired)
    }

    /// What the objects tell each other, once more for what was lost.
    pub(crate) async fn follow_found(&self, limit: usize) -> Result<Looked, LedgerError> {
        let mut decided = 0;
        loop {
            let before = decided;
            let index = self.index().await?;
            for entry in index.into_iter().filter(|entry| entry.state == State::Waiting) {
                if decided == limit {
                    break;
                }
                decided += usize::from(self.follow_one(&entry.id).await?);
            }
            // Who is skipped may have followers again.
            if decided == before {
                break;
            }
        }
        let due = decided > 0;
        if due {
            self.wake();
        }
        // Rows have no order here: the next look begins anew.
        let last = (decided == limit).then_some(0);
        Ok(Looked { decided, due, last, waiting: true })
    }

    async fn follow_one(&self, id: &RecordId) -> Result<bool, LedgerError> {
        let Some(Stored::Record(record)) = self.find(id.clone()).await? else { return Ok(false) };
        let Some(after) = record.after else { return Ok(false) };
        let before = self.find(after.id).await?;
        let Some(ended) = before.and_then(|before| before.ending()) else { return Ok(false) };
        Ok(self.order(id, Command::Follow { ended }).await?.is_ok())
    }

    pub(crate) async fn purge_found(&self, limit: usize) -> Result<usize, LedgerError> {
        let now = self.clock.now();
        let index = self.index().await?;
        let over = index.into_iter().filter(|entry| entry.purge_at.is_some_and(|at| at <= now)).take(limit);
        let mut purged = 0;
        for entry in over {
            let taken: u64 =
                self.engine.call(names::RECORD, &key_of(&entry.id), "purge", &(), "purge").await?;
            purged += usize::try_from(taken).unwrap_or(usize::MAX);
        }
        Ok(purged)
    }

    pub(crate) async fn found_under_key(
        &self,
        namespace: &Namespace,
        key: &Key,
    ) -> Result<Vec<Stored>, LedgerError> {
        let index = self.index().await?;
        let mut ids: Vec<RecordId> = index
            .into_iter()
            .filter(|entry| entry.is_in(namespace) && entry.id.key == *key)
            .map(|entry| entry.id)
            .collect();
        ids.sort();
        let mut found = Vec::new();
        for id in ids {
            found.extend(self.find(id).await?);
        }
        Ok(found)
    }

    pub(crate) async fn count_all(&self, namespace: &Namespace) -> Result<Vec<Count>, LedgerError> {
        let mut counts: BTreeMap<(Served, State), (u64, Timestamp)> = BTreeMap::new();
        let index = self.index().await?;
        for entry in index.iter().filter(|entry| entry.is_in(namespace) && !entry.purged) {
            let (records, oldest) =
                counts.entry((entry.served(), entry.state)).or_insert((0, entry.created_at));
            *records += 1;
            *oldest = (*oldest).min(entry.created_at);
        }
        let count = |((of, state), (records, oldest))| Count { of, state, records, oldest };
        Ok(counts.into_iter().map(count).collect())
    }

    pub(crate) async fn questions(
        &self,
        namespace: &Namespace,
        served: &[Served],
        limit: usize,
    ) -> Result<Vec<Record>, LedgerError> {
        let now = self.clock.now();
        let index = self.index().await?;
        let mut due: Vec<Entry> = index
            .into_iter()
            .filter(|entry| entry.state == State::Uncertain && entry.is_in(namespace))
            .filter(|entry| {
                entry.reconcile_at.is_some_and(|at| at <= now) && served.contains(&entry.served())
            })
            .collect();
        due.sort_by_key(|entry| entry.reconcile_at);
        self.records(due.into_iter().take(limit).map(|entry| entry.id).collect()).await
    }

    pub(crate) async fn page(&self, filter: &Filter) -> Result<Page, LedgerError> {
        let limit = filter.limit.max(1);
        let after = filter.after.unwrap_or(filter.first_place()).0;
        let mut entries = self.index().await?;
        if filter.newest_first {
            entries.reverse();
        }
        let behind = |place: i64| if filter.newest_first { place < after } else { place > after };
        let listed = entries.into_iter().filter(|entry| behind(entry.place) && is_listed(entry, filter));
        let listed: Vec<Entry> = listed.take(limit).collect();
        let next = listed.last().filter(|_| listed.len() == limit).map(|entry| Cursor(entry.place));
        let places = listed.iter().map(|entry| Cursor(entry.place)).collect();
        let records = self.records(listed.into_iter().map(|entry| entry.id).collect()).await?;
        Ok(Page { records, places, next })
    }

    pub(crate) async fn decisions(
        &self,
        namespace: &Namespace,
        before: Option<Cursor>,
        limit: usize,
    ) -> Result<AuditPage, LedgerError> {
        let mut decisions = Vec::new();
        let index = self.index().await?;
        for entry in index.iter().filter(|entry| entry.is_in(namespace) && entry.decisions > 0) {
            let book = self.book(&entry.id).await?;
            for (at, decision) in book.row(entry.id.generation).into_iter().flat_map(|row| &row.audit) {
                let decided =
                    Decided { id: entry.id.clone(), place: Cursor(entry.place), entry: decision.clone() };
                decisions.push((Cursor(*at), decided));
            }
        }
        decisions.retain(|(at, _)| before.is_none_or(|before| *at < before));
        decisions.sort_by_key(|(at, _)| Reverse(*at));
        decisions.truncate(limit.max(1));
        let next = decisions.last().filter(|_| decisions.len() == limit.max(1)).map(|(at, _)| *at);
        Ok(AuditPage { decisions: decisions.into_iter().map(|(_, decided)| decided).collect(), next })
    }

    pub(crate) async fn left_behind(
        &self,
        namespace: &Namespace,
        offers: &[Offer],
    ) -> Result<Vec<Unserved>, LedgerError> {
        let now = self.clock.now();
        let mut counts: BTreeMap<(Served, Queue), (u64, Timestamp)> = BTreeMap::new();
        let index = self.index().await?;
        let due = index.iter().filter(|entry| entry.is_due(now) && entry.is_in(namespace));
        for entry in due.filter(|entry| !entry.is_covered(offers)) {
            let of = (entry.served(), entry.queue.clone());
            let (records, since) = counts.entry(of).or_insert((0, entry.ready_at));
            *records += 1;
            *since = entry.ready_at.min(*since);
        }
        let unserved = |((wanted, queue), (records, since))| Unserved { wanted, queue, records, since };
        Ok(counts.into_iter().map(unserved).collect())
    }

    pub(crate) async fn wait_for_due(
        &self,
        namespace: &Namespace,
        offers: &[Offer],
    ) -> Result<Option<Duration>, LedgerError> {
        let index = self.index().await?;
        let open = room(&index, namespace, offers).open(offers);
        let is_offered =
            |entry: &Entry| offers.iter().any(|offer| offer.served.operation == entry.id.operation);
        let due = index.iter().filter(|entry| entry.is_in(namespace)).filter_map(|entry| match entry.state {
            State::Pending => entry.is_covered(&open).then_some(entry.ready_at),
            State::Running => entry.lease_until.filter(|_| is_offered(entry)),
            _ => None,
        });
        Ok(due.min().map(|at| at.since(self.clock.now())))
    }
}

/// What the limits of these offers leave.
fn room(index: &[Entry], namespace: &Namespace, offers: &[Offer]) -> Room {
    let mut room = Room::of(offers);
    let runs = index.iter().filter(|entry| entry.state == State::Running && entry.is_in(namespace));
    runs.for_each(|entry| room.take(&entry.id.operation, 1));
    room
}

fn is_listed(entry: &Entry, filter: &Filter) -> bool {
    !entry.purged
        && entry.is_in(&filter.namespace)
        && filter.operation.as_ref().is_none_or(|operation| *operation == entry.id.operation)
        && filter.state.is_none_or(|state| state == entry.state)
        && filter.group.as_ref().is_none_or(|group| Some(group) == entry.group.as_ref())
        && filter.created_before.is_none_or(|end| entry.created_at < end)
}
