//! A ledger in memory, for users' unit tests and as the reference that stores are compared with.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ratchet_key::Key;
use tokio::sync::watch;

use super::follow::{Followers, waits_again};
use super::{
    AuditPage, Capabilities, Claim, Count, Cursor, Decided, Declaration, Declared, Document, DocumentId,
    DocumentQuery, DocumentWrite, DocumentWritten, Filter, HighWaterMark, Inspection, Ledger, LedgerFuture,
    MarkChange, Offer, Order, Page, Room, Served, StoreMark, Unserved,
};
use crate::admission::{Gate, GateAnswer, GateOrder, KnownGate, decide_all};
use crate::decide::{
    Answer, AttemptNote, Command, Decision, LONGEST_LEASE, Moment, Refusal, Stored, SubmitDecision, decide,
    decide_submission,
};
use crate::high_water::HighWaterFile;
use crate::model::{
    After, Attempt, AuditEntry, DestinationName, Ending, HiddenPaths, Namespace, OperationName, Queue,
    Record, RecordId, State, Submission, Submitted, Tombstone,
};
use crate::random::{SharedRandom, SystemRandom};
use crate::time::{SharedClock, SystemClock, Timestamp};

/// A ledger that lives as long as the process.
///
/// ```
/// # use ratchet_core::MemoryLedger;
/// let ledger = MemoryLedger::new();
/// ```
#[derive(Debug)]
pub struct MemoryLedger {
    rows: Mutex<Rows>,
    clock: SharedClock,
    random: SharedRandom,
    followers: Followers,
    wakeups: watch::Sender<u64>,
}

#[derive(Debug)]
struct Rows {
    by_id: BTreeMap<RecordId, Row>,
    order: BTreeMap<Cursor, RecordId>,
    audit: BTreeMap<Cursor, (RecordId, AuditEntry)>,
    templates: BTreeMap<OperationName, Vec<String>>,
    hidden: BTreeMap<Served, HiddenPaths>,
    declared: BTreeMap<Served, Declared>,
    mark: StoreMark,
    gates: BTreeMap<DestinationName, Gate>,
    documents: BTreeMap<DocumentId, Document>,
}

#[derive(Debug)]
struct Row {
    stored: Stored,
    attempts: Vec<Attempt>,
}

impl MemoryLedger {
    /// An empty ledger with the clocks of the operating system.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Self::with(SystemClock::shared(), SystemRandom::shared())
    }

    /// An empty ledger with a clock and a source of randomness of the caller's.
    #[must_use]
    pub fn with(clock: SharedClock, random: SharedRandom) -> Arc<Self> {
        let rows = Mutex::new(Rows::made_at(clock.now()));
        let followers = Followers::default();
        Arc::new(Self { rows, clock, random, followers, wakeups: watch::Sender::new(0) })
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides about those that wait, if there are any.
    fn decide_followers(&self, rows: &mut Rows) -> usize {
        let mut decided = 0;
        while self.followers.may_wait() {
            let waiting = rows.waiting();
            self.followers.set(!waiting.is_empty());
            let follow = |(id, ended): (RecordId, Option<Ending>)| {
                rows.apply(&id, &Command::Follow { ended: ended? }, self.moment()).ok()
            };
            match waiting.into_iter().filter_map(follow).count() {
                0 => break,
                more => decided += more,
            }
        }
        decided
    }

    fn moment(&self) -> Moment {
        Moment { now: self.clock.now(), jitter: self.random.jitter() }
    }
}

impl Rows {
    fn made_at(now: Timestamp) -> Self {
        let mark = StoreMark { mark: HighWaterMark { epoch: now, raised: 0 }, held_since: None };
        Self {
            by_id: BTreeMap::new(),
            order: BTreeMap::new(),
            audit: BTreeMap::new(),
            templates: BTreeMap::new(),
            hidden: BTreeMap::new(),
            declared: BTreeMap::new(),
            mark,
            gates: BTreeMap::new(),
            documents: BTreeMap::new(),
        }
    }

    fn newest(&self, id: &RecordId) -> Option<&Stored> {
        let same_key = |(other, _): &(&RecordId, &Row)| {
            other.namespace == id.namespace && other.operation == id.operation && other.key == id.key
        };
        let first = RecordId { generation: crate::Generation::FIRST, ..id.clone() };
        self.by_id.range(first..).take_while(same_key).last().map(|(_, row)| &row.stored)
    }

    fn submit(&mut self, submission: &Submission, now: Timestamp) -> Submitted {
        let decision = decide_submission(self.newest(&submission.id), submission, now);
        let stands = |after: &After| self.by_id.contains_key(&after.id);
        let decision = match &submission.after {
            Some(after) if !stands(after) => decision.without_predecessor(),
            _ => decision,
        };
        match decision {
            SubmitDecision::Answer(answer) => answer,
            SubmitDecision::Insert { record, audit } => {
                let id = record.id.clone();
                append(&mut self.order, id.clone());
                self.by_id.insert(id.clone(), Row { stored: Stored::Record(record), attempts: Vec::new() });
                if let Some(entry) = audit {
                    append(&mut self.audit, (id.clone(), entry));
                }
                Submitted::New { id }
            }
        }
    }

    fn write_document(&mut self, write: DocumentWrite) -> DocumentWritten {
        let decided = write.decide(self.documents.get(&write.id));
        let version = write.version();
        match write.body {
            _ if !decided.is_done() => {}
            Some(body) => {
                let document = Document { id: write.id.clone(), version, body };
                self.documents.insert(write.id, document);
            }
            None => drop(self.documents.remove(&write.id)),
        }
        decided
    }

    fn apply(&mut self, id: &RecordId, command: &Command, moment: Moment) -> Result<Answer, Refusal> {
        let row = self.by_id.get_mut(id).ok_or(Refusal::NoRecord)?;
        let Stored::Record(record) = &row.stored else {
            return Err(Refusal::NoRecord);
        };
        let Decision { record, attempt, audit, answer } = decide(record, command, moment)?;
        row.stored = Stored::Record(Box::new(record));
        if let Some(note) = attempt {
            row.note(note);
        }
        if let Some(entry) = audit {
            append(&mut self.audit, (id.clone(), entry));
        }
        Ok(answer)
    }

    fn records(&self) -> impl Iterator<Item = &Record> {
        self.order.values().filter_map(|id| match &self.by_id.get(id)?.stored {
            Stored::Record(record) => Some(&**record),
            Stored::Tombstone(_) => None,
        })
    }

    /// What the limits of these offers leave.
    fn room(&self, namespace: &Namespace, offers: &[Offer]) -> Room {
        let mut room = Room::of(offers);
        if !room.is_endless() {
            let runs = |record: &&Record| record.state == State::Running && record.id.namespace == *namespace;
            self.records().filter(runs).for_each(|record| room.take(&record.id.operation, 1));
        }
        room
    }

    /// Those that wait, and how the one before each has ended.
    fn waiting(&self) -> Vec<(RecordId, Option<Ending>)> {
        let waiting = self.records().filter(|record| record.state == State::Waiting);
        let of = |record: &Record| {
            let before = record.after.as_ref().and_then(|after| self.by_id.get(&after.id));
            (record.id.clone(), before.and_then(|row| row.stored.ending()))
        };
        waiting.map(of).collect()
    }

    fn ids_where(&self, limit: usize, accepts: impl Fn(&Record) -> bool) -> Vec<RecordId> {
        self.records().filter(|record| accepts(record)).take(limit).map(|record| record.id.clone()).collect()
    }
}

impl Row {
    fn bury(&mut self) {
        if let Stored::Record(record) = &self.stored {
            self.stored = Stored::Tombstone(Tombstone::of(record));
            self.attempts.clear();
        }
    }

    fn note(&mut self, note: AttemptNote) {
        match note {
            AttemptNote::Opened(attempt) => self.attempts.push(attempt),
            AttemptNote::Started { token, at } => {
                if let Some(attempt) = self.attempts.iter_mut().find(|attempt| attempt.token == token) {
                    attempt.started_at = Some(at);
                }
            }
            AttemptNote::Ended { token, end } => {
                if let Some(attempt) = self.attempts.iter_mut().find(|attempt| attempt.token == token) {
                    attempt.end_with(end);
                }
            }
        }
    }
}

/// Puts something behind all others.
fn append<T>(rows: &mut BTreeMap<Cursor, T>, row: T) {
    let place = rows.last_key_value().map_or(1, |(last, _)| last.0 + 1);
    rows.insert(Cursor(place), row);
}

fn is_served(record: &Record, namespace: &Namespace, offers: &[Offer]) -> bool {
    record.id.namespace == *namespace && offers.iter().any(|offer| offer.covers(record))
}

fn is_expired(record: &Record, now: Timestamp) -> bool {
    let over = |until: Timestamp| until <= now || until > now.after(LONGEST_LEASE);
    record.state == State::Running && record.lease.as_ref().is_some_and(|lease| over(lease.until))
}

impl Ledger for MemoryLedger {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of_memory()
    }

    fn submit(&self, submissions: Vec<Submission>) -> LedgerFuture<'_, Vec<Submitted>> {
        Box::pin(async move {
            let now = self.clock.now();
            let answers = {
                let mut rows = self.rows();
                let answers = submissions.iter().map(|submission| rows.submit(submission, now)).collect();
                if submissions.iter().any(|submission| submission.after.is_some()) {
                    self.followers.set(true);
                    self.decide_followers(&mut rows);
                }
                answers
            };
            self.wake();
            Ok(answers)
        })
    }

    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Vec<Record>> {
        Box::pin(async move {
            let mut rows = self.rows();
            let now = self.clock.now();
            let mut due: Vec<&Record> = rows
                .records()
                .filter(|record| record.state == State::Pending && record.ready_at <= now)
                .filter(|record| is_served(record, &claim.namespace, &claim.offers))
                .collect();
            due.sort_by_key(|record| (std::cmp::Reverse(record.priority), record.ready_at));
            let due: Vec<RecordId> = due.into_iter().map(|record| record.id.clone()).collect();
            let command = Command::Lease {
                worker: claim.worker,
                duration: claim.lease,
                start_if_safe: claim.start_if_safe,
            };
            let mut room = rows.room(&claim.namespace, &claim.offers);
            let mut leased = Vec::new();
            for id in due {
                if leased.len() == claim.limit {
                    break;
                }
                if !room.has(&id.operation) {
                    continue;
                }
                let answer = rows.apply(&id, &command, self.moment());
                if let (Ok(Answer::Leased), Some(Row { stored: Stored::Record(record), .. })) =
                    (answer, rows.by_id.get(&id))
                {
                    room.take(&id.operation, 1);
                    leased.push((**record).clone());
                }
            }
            Ok(leased)
        })
    }

    fn apply(&self, orders: Vec<Order>) -> LedgerFuture<'_, Vec<Result<Answer, Refusal>>> {
        Box::pin(async move {
            let answers = {
                let mut rows = self.rows();
                let answers: Vec<_> =
                    orders.iter().map(|order| rows.apply(&order.id, &order.command, self.moment())).collect();
                if waits_again(&answers) {
                    self.followers.set(true);
                }
                self.decide_followers(&mut rows);
                answers
            };
            self.wake();
            Ok(answers)
        })
    }

    fn expire(&self, limit: usize) -> LedgerFuture<'_, usize> {
        Box::pin(async move {
            let decided = {
                let mut rows = self.rows();
                let now = self.clock.now();
                let over = rows.ids_where(limit, |record| is_expired(record, now));
                let apply = |id: &&RecordId| rows.apply(id, &Command::Expire, self.moment()).is_ok();
                let decided = over.iter().filter(apply).count();
                self.decide_followers(&mut rows);
                decided
            };
            if decided > 0 {
                self.wake();
            }
            Ok(decided)
        })
    }

    fn follow(&self, _: usize) -> LedgerFuture<'_, usize> {
        Box::pin(async move {
            let decided = self.decide_followers(&mut self.rows());
            if decided > 0 {
                self.wake();
            }
            Ok(decided)
        })
    }

    fn purge(&self, limit: usize) -> LedgerFuture<'_, usize> {
        Box::pin(async move {
            let mut rows = self.rows();
            let now = self.clock.now();
            let over = rows.ids_where(limit, |record| record.is_purgeable(now));
            for id in &over {
                if let Some(row) = rows.by_id.get_mut(id) {
                    row.bury();
                }
            }
            rows.audit.retain(|_, (id, _)| !over.contains(id));
            Ok(over.len())
        })
    }

    fn admit(&self, orders: Vec<GateOrder>) -> LedgerFuture<'_, Vec<GateAnswer>> {
        Box::pin(async move { Ok(decide_all(&mut self.rows().gates, &orders, self.clock.now())) })
    }

    fn gates(&self) -> LedgerFuture<'_, Vec<KnownGate>> {
        Box::pin(async move {
            let known = |(destination, gate)| KnownGate { destination, gate };
            Ok(self.rows().gates.clone().into_iter().map(known).collect())
        })
    }

    fn find(&self, id: RecordId) -> LedgerFuture<'_, Option<Stored>> {
        Box::pin(async move { Ok(self.rows().by_id.get(&id).map(|row| row.stored.clone())) })
    }

    fn under_key(&self, namespace: Namespace, key: Key) -> LedgerFuture<'_, Vec<Stored>> {
        Box::pin(async move {
            let rows = self.rows();
            let under = rows.by_id.iter().filter(|(id, _)| id.namespace == namespace && id.key == key);
            Ok(under.map(|(_, row)| row.stored.clone()).collect())
        })
    }

    fn census(&self, namespace: Namespace) -> LedgerFuture<'_, Vec<Count>> {
        Box::pin(async move {
            let mut counts: BTreeMap<(Served, State), (u64, Timestamp)> = BTreeMap::new();
            for record in self.rows().records().filter(|record| record.id.namespace == namespace) {
                let of = Served { operation: record.id.operation.clone(), version: record.version.clone() };
                let (records, oldest) = counts.entry((of, record.state)).or_insert((0, record.created_at));
                *records += 1;
                *oldest = (*oldest).min(record.created_at);
            }
            let count = |((of, state), (records, oldest))| Count { of, state, records, oldest };
            Ok(counts.into_iter().map(count).collect())
        })
    }

    fn to_reconcile(
        &self,
        namespace: Namespace,
        served: Vec<Served>,
        limit: usize,
    ) -> LedgerFuture<'_, Vec<Record>> {
        Box::pin(async move {
            let now = self.clock.now();
            let rows = self.rows();
            let due = rows.records().filter(|record| record.state == State::Uncertain).filter(|record| {
                let wanted =
                    |one: &Served| one.operation == record.id.operation && one.version == record.version;
                record.id.namespace == namespace
                    && record.reconcile_at.is_some_and(|at| at <= now)
                    && served.iter().any(wanted)
            });
            let mut due: Vec<&Record> = due.collect();
            due.sort_by_key(|record| record.reconcile_at);
            Ok(due.into_iter().take(limit).cloned().collect())
        })
    }

    fn places(&self, ids: Vec<RecordId>) -> LedgerFuture<'_, Vec<Option<Cursor>>> {
        Box::pin(async move {
            let rows = self.rows();
            let place = |id| rows.order.iter().find(|(_, other)| *other == id).map(|(place, _)| *place);
            Ok(ids.iter().map(place).collect())
        })
    }

    fn at(&self, place: Cursor) -> LedgerFuture<'_, Option<Stored>> {
        Box::pin(async move {
            let rows = self.rows();
            let row = rows.order.get(&place).and_then(|id| rows.by_id.get(id));
            Ok(row.map(|row| row.stored.clone()))
        })
    }

    fn list(&self, filter: Filter) -> LedgerFuture<'_, Page> {
        Box::pin(async move {
            let rows = self.rows();
            let limit = filter.limit.max(1);
            let mut page = Page::default();
            let after = filter.after.unwrap_or(filter.first_place());
            let places: Box<dyn Iterator<Item = (&Cursor, &RecordId)> + Send> = if filter.newest_first {
                Box::new(rows.order.range(..after).rev())
            } else {
                Box::new(rows.order.range(Cursor(after.0 + 1)..))
            };
            for (place, id) in places {
                let Some(Row { stored: Stored::Record(record), .. }) = rows.by_id.get(id) else {
                    continue;
                };
                let wanted = record.id.namespace == filter.namespace
                    && filter.operation.as_ref().is_none_or(|operation| *operation == record.id.operation)
                    && filter.state.is_none_or(|state| state == record.state)
                    && filter.group.as_ref().is_none_or(|group| Some(group) == record.group.as_ref())
                    && filter.created_before.is_none_or(|end| record.created_at < end);
                if !wanted {
                    continue;
                }
                page.records.push((**record).clone());
                page.places.push(*place);
                if page.records.len() == limit {
                    page.next = Some(*place);
                    break;
                }
            }
            Ok(page)
        })
    }

    fn attempts(&self, id: RecordId) -> LedgerFuture<'_, Vec<Attempt>> {
        Box::pin(
            async move { Ok(self.rows().by_id.get(&id).map(|row| row.attempts.clone()).unwrap_or_default()) },
        )
    }

    fn audit(&self, id: RecordId) -> LedgerFuture<'_, Vec<AuditEntry>> {
        Box::pin(async move {
            let rows = self.rows();
            let about = rows.audit.values().filter(|(about, _)| *about == id);
            Ok(about.map(|(_, entry)| entry.clone()).collect())
        })
    }

    fn audit_log(
        &self,
        namespace: Namespace,
        before: Option<Cursor>,
        limit: usize,
    ) -> LedgerFuture<'_, AuditPage> {
        Box::pin(async move {
            let rows = self.rows();
            let places: BTreeMap<&RecordId, Cursor> =
                rows.order.iter().map(|(place, id)| (id, *place)).collect();
            let mut page = AuditPage::default();
            for (at, (id, entry)) in rows.audit.range(..before.unwrap_or(Cursor(i64::MAX))).rev() {
                let Some(place) = places.get(id).filter(|_| id.namespace == namespace) else {
                    continue;
                };
                page.decisions.push(Decided { id: id.clone(), place: *place, entry: entry.clone() });
                if page.decisions.len() == limit.max(1) {
                    page.next = Some(*at);
                    break;
                }
            }
            Ok(page)
        })
    }

    fn declare(&self, declared: Vec<Declaration>) -> LedgerFuture<'_, ()> {
        Box::pin(async move {
            let mut rows = self.rows();
            let mut accepted = rows.templates.clone();
            for declaration in &declared {
                let known = accepted.entry(declaration.operation.clone()).or_default();
                if declaration.is_new(known)? {
                    known.push(declaration.template.clone());
                }
            }
            rows.templates = accepted;
            for declaration in declared {
                let Declaration { operation, version, hidden, policy, contract, .. } = declaration;
                let of = Served { operation, version };
                let known = rows.hidden.entry(of.clone()).or_default();
                *known = known.union(&hidden);
                let Declaration { priority, queue, volatile, .. } = declaration;
                let declared = Declared { of: of.clone(), policy, contract, priority, queue, volatile };
                rows.declared.insert(of, declared);
            }
            Ok(())
        })
    }

    fn hidden(&self, of: Served) -> LedgerFuture<'_, Option<HiddenPaths>> {
        Box::pin(async move { Ok(self.rows().hidden.get(&of).cloned()) })
    }

    fn declarations(&self) -> LedgerFuture<'_, Vec<Declared>> {
        Box::pin(async move { Ok(self.rows().declared.values().cloned().collect()) })
    }

    fn mark(&self) -> LedgerFuture<'_, StoreMark> {
        Box::pin(async move { Ok(self.rows().mark) })
    }

    fn change_mark(&self, change: MarkChange) -> LedgerFuture<'_, StoreMark> {
        Box::pin(async move {
            let mut rows = self.rows();
            rows.mark = rows.mark.after(&change, self.clock.now());
            Ok(rows.mark)
        })
    }

    fn high_water_file(&self) -> Option<HighWaterFile> {
        None
    }

    fn document(&self, id: DocumentId) -> LedgerFuture<'_, Option<Document>> {
        Box::pin(async move { Ok(self.rows().documents.get(&id).cloned()) })
    }

    fn documents(&self, query: DocumentQuery) -> LedgerFuture<'_, Vec<Document>> {
        Box::pin(async move {
            let rows = self.rows();
            let wanted = rows.documents.values().filter(|document| query.wants(&document.id));
            Ok(wanted.take(query.limit).cloned().collect())
        })
    }

    fn write_document(&self, write: DocumentWrite) -> LedgerFuture<'_, DocumentWritten> {
        Box::pin(async move { Ok(self.rows().write_document(write)) })
    }

    fn inspect(&self) -> LedgerFuture<'_, Inspection> {
        Box::pin(async move { Ok(Inspection { now: self.clock.now(), settings: Vec::new() }) })
    }

    fn unserved(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Vec<Unserved>> {
        Box::pin(async move {
            let rows = self.rows();
            let now = self.clock.now();
            let mut counts: BTreeMap<(Served, Queue), (u64, Timestamp)> = BTreeMap::new();
            for record in
                rows.records().filter(|record| record.state == State::Pending && record.ready_at <= now)
            {
                if record.id.namespace == namespace && !is_served(record, &namespace, &offers) {
                    let wanted =
                        Served { operation: record.id.operation.clone(), version: record.version.clone() };
                    let (records, since) =
                        counts.entry((wanted, record.queue.clone())).or_insert((0, record.ready_at));
                    *records += 1;
                    *since = record.ready_at.min(*since);
                }
            }
            let unserved = |((wanted, queue), (records, since))| Unserved { wanted, queue, records, since };
            Ok(counts.into_iter().map(unserved).collect())
        })
    }

    fn next_due(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Option<Duration>> {
        Box::pin(async move {
            let rows = self.rows();
            let open = rows.room(&namespace, &offers).open(&offers);
            let is_offered = |record: &Record| {
                record.id.namespace == namespace
                    && offers.iter().any(|offer| offer.served.operation == record.id.operation)
            };
            let due = rows.records().filter_map(|record| match (record.state, &record.lease) {
                (State::Pending, _) => is_served(record, &namespace, &open).then_some(record.ready_at),
                (State::Running, Some(lease)) => is_offered(record).then_some(lease.until),
                _ => None,
            });
            let now = self.clock.now();
            Ok(due.min().map(|at| at.since(now)))
        })
    }

    fn wakeups(&self) -> watch::Receiver<u64> {
        self.wakeups.subscribe()
    }

    fn wake(&self) {
        self.wakeups.send_modify(|count| *count += 1);
    }
}
