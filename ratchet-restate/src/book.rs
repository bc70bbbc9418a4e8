//! The records under one key, which one virtual object keeps, and what is to be done about them next.
//!
//! Pure: the object gives it the moment and makes its answers durable.

use std::collections::BTreeMap;
use std::time::Duration;

use ratchet_core::decide::{
    Answer, AttemptNote, Command, Decision, LONGEST_LEASE, Moment, Refusal, Stored, SubmitDecision, decide,
    decide_submission,
};
use ratchet_core::{
    Attempt, AuditEntry, Ending, Generation, Record, RecordId, State, Submission, Submitted, Timestamp,
    Tombstone,
};
use serde::{Deserialize, Serialize};

use crate::attempts::Due;
use crate::index::Entry;

/// The form in which a book is written; a greater one was written by a newer release.
pub(crate) const FORMAT: u32 = 1;

/// A record that nobody took up after it was offered to the drive is offered again after this time.
const OFFER_AGAIN: Duration = Duration::from_secs(30);

/// How often the wait for a look that came too early is doubled at the most.
const LONGEST_DOUBLING: u32 = 16;

/// All generations under one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Book {
    format: u32,
    rows: BTreeMap<Generation, Row>,
    /// When the next look is due that is under way.
    armed: Option<Timestamp>,
    /// The look that came before it was due, and how often it did.
    early: Option<(Timestamp, u32)>,
}

/// What every release reads of a book.
#[derive(Deserialize)]
struct Envelope {
    format: u32,
}

/// One record, and what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Its place in listings.
    pub(crate) place: i64,
    pub(crate) stored: Stored,
    pub(crate) attempts: Vec<Attempt>,
    /// Decisions of people, with their places.
    pub(crate) audit: Vec<(i64, AuditEntry)>,
    /// Who waits for its end.
    followers: Vec<RecordId>,
    /// It is among the followers of the one that it waits for.
    registered: bool,
    /// When the drive was told last that it is due.
    offered: Option<Timestamp>,
    /// How often it was offered again to somebody who had come.
    round: u32,
}

/// Something that comes with a place in a listing, which it takes if it turns out to be new.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Placed<T> {
    pub(crate) place: i64,
    pub(crate) what: T,
}

/// A command for one of the records of a book.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Ordered {
    pub(crate) generation: Generation,
    pub(crate) command: Command,
}

/// What the object tells others after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Note {
    /// To the drive: this record is due.
    Due(Due),
    /// To itself, after this many milliseconds: look what is due at this point.
    Look { at: Timestamp, wait: u64 },
    /// To the record `before`: this one comes after it.
    Await { before: RecordId, follower: RecordId },
    /// To a follower: the record that it waited for has ended.
    Ended { follower: RecordId, ending: Ending },
}

impl Default for Book {
    fn default() -> Self {
        Self { format: FORMAT, rows: BTreeMap::new(), armed: None, early: None }
    }
}

impl Book {
    /// Reads what an object keeps; a new book if it keeps nothing yet.
    pub(crate) fn read(json: Option<&[u8]>) -> Result<Self, BookError> {
        let Some(json) = json else { return Ok(Self::default()) };
        match serde_json::from_slice::<Envelope>(json) {
            Ok(Envelope { format: FORMAT }) => serde_json::from_slice(json).map_err(|_| BookError::Damaged),
            Ok(Envelope { format }) if format > FORMAT => Err(BookError::Newer(format)),
            _ => Err(BookError::Damaged),
        }
    }

    pub(crate) fn row(&self, generation: Generation) -> Option<&Row> {
        self.rows.get(&generation)
    }

    /// What listings are made of.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.rows.values().map(Entry::of).collect()
    }

    /// `predecessor_stands` says whether the record exists that this one is to come after.
    pub(crate) fn submit(
        &mut self,
        Placed { place, what }: &Placed<Submission>,
        predecessor_stands: bool,
        now: Timestamp,
    ) -> Submitted {
        let newest = self.rows.values().next_back().map(|row| &row.stored);
        let decision = decide_submission(newest, what, now);
        let decision = if predecessor_stands { decision } else { decision.without_predecessor() };
        match decision {
            SubmitDecision::Answer(answer) => answer,
            SubmitDecision::Insert { record, audit } => {
                let id = record.id.clone();
                let audit = audit.map(|entry| (*place, entry)).into_iter().collect();
                self.rows.insert(id.generation, Row { audit, ..Row::new(*place, record) });
                Submitted::New { id }
            }
        }
    }

    pub(crate) fn apply(
        &mut self,
        Placed { place, what }: &Placed<Ordered>,
        moment: Moment,
    ) -> Result<Answer, Refusal> {
        let row = self.rows.get_mut(&what.generation).ok_or(Refusal::NoRecord)?;
        row.apply(*place, &what.command, moment)
    }

    /// Keeps a follower of one of the records, until that has ended.
    pub(crate) fn keep_follower(&mut self, before: Generation, follower: RecordId) {
        if let Some(row) = self.rows.get_mut(&before)
            && !row.followers.contains(&follower)
        {
            row.followers.push(follower);
        }
    }

    /// Decides about leases that are over, and puts tombstones in the place of what was kept for long enough.
    ///
    /// The look that was due `at` this point has come, which another clock decided: by this one it may be too early.
    pub(crate) fn look(&mut self, at: Timestamp, moment: Moment) {
        if self.armed == Some(at) {
            self.armed = None;
            let before = self.times_early(at);
            self.early = (at > moment.now).then_some((at, before.saturating_add(1)));
        }
        for row in self.rows.values_mut() {
            if row.lease_is_over(moment.now) {
                // The lease was looked at a line above.
                let _ = row.apply(0, &Command::Expire, moment);
            }
            row.purge(moment.now);
        }
    }

    /// Somebody has come who may serve what nobody took up. Says how many records that may be.
    pub(crate) fn offer_again(&mut self) -> usize {
        self.rows.values_mut().map(|row| usize::from(row.offer_again())).sum()
    }

    /// Puts tombstones in the place of what was kept for long enough, and says how often.
    pub(crate) fn purge(&mut self, now: Timestamp) -> usize {
        self.rows.values_mut().map(|row| usize::from(row.purge(now))).sum()
    }

    /// Whom to tell what about the book as it is now. To be called once, after each change.
    pub(crate) fn notes(&mut self, now: Timestamp) -> Vec<Note> {
        let mut notes = Vec::new();
        for row in self.rows.values_mut() {
            row.note_followers(&mut notes);
            row.offer(now, &mut notes);
        }
        let next = self.rows.values().filter_map(|row| row.next_look(now)).min();
        if let Some(at) = next
            && self.armed.is_none_or(|armed| armed <= now || at < armed)
        {
            self.armed = Some(at);
            // The other clock is ahead by as much as the look was early, or by more: each wait is twice as long.
            let wait = at.since(now).saturating_mul(1 << self.times_early(at).min(LONGEST_DOUBLING));
            notes.push(Note::Look { at, wait: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX) });
        }
        notes
    }

    fn times_early(&self, at: Timestamp) -> u32 {
        self.early.filter(|(early, _)| *early == at).map_or(0, |(_, times)| times)
    }
}

impl Row {
    fn new(place: i64, record: Box<Record>) -> Self {
        Self {
            place,
            stored: Stored::Record(record),
            attempts: Vec::new(),
            audit: Vec::new(),
            followers: Vec::new(),
            registered: false,
            offered: None,
            round: 0,
        }
    }

    pub(crate) fn record(&self) -> Option<&Record> {
        match &self.stored {
            Stored::Record(record) => Some(record),
            Stored::Tombstone(_) => None,
        }
    }

    fn apply(&mut self, place: i64, command: &Command, moment: Moment) -> Result<Answer, Refusal> {
        let record = self.record().ok_or(Refusal::NoRecord)?;
        let Decision { record, attempt, audit, answer } = decide(record, command, moment)?;
        self.stored = Stored::Record(Box::new(record));
        self.audit.extend(audit.map(|entry| (place, entry)));
        if let Some(note) = attempt {
            self.note(note);
        }
        Ok(answer)
    }

    fn note(&mut self, note: AttemptNote) {
        let of = |token| move |attempt: &&mut Attempt| attempt.token == token;
        match note {
            AttemptNote::Opened(attempt) => self.attempts.push(attempt),
            AttemptNote::Started { token, at } => {
                if let Some(attempt) = self.attempts.iter_mut().find(of(token)) {
                    attempt.started_at = Some(at);
                }
            }
            AttemptNote::Ended { token, end } => {
                if let Some(attempt) = self.attempts.iter_mut().find(of(token)) {
                    attempt.end_with(end);
                }
            }
        }
    }

    fn lease_is_over(&self, now: Timestamp) -> bool {
        let over = |until: Timestamp| until <= now || until > now.after(LONGEST_LEASE);
        let running = self.record().filter(|record| record.state == State::Running);
        running.and_then(|record| record.lease.as_ref()).is_some_and(|lease| over(lease.until))
    }

    fn purge(&mut self, now: Timestamp) -> bool {
        let Some(record) = self.record().filter(|record| record.is_purgeable(now)) else { return false };
        self.stored = Stored::Tombstone(Tombstone::of(record));
        self.attempts.clear();
        self.audit.clear();
        true
    }

    fn note_followers(&mut self, notes: &mut Vec<Note>) {
        if let Some(ending) = self.stored.ending() {
            let ended = |follower| Note::Ended { follower, ending };
            notes.extend(std::mem::take(&mut self.followers).into_iter().map(ended));
        }
        let waits = self.stored.state() == State::Waiting;
        if let Some(record) = self.record()
            && let Some(after) = record.after.as_ref().filter(|_| waits && !self.registered)
        {
            notes.push(Note::Await { before: after.id.clone(), follower: record.id.clone() });
        }
        self.registered = waits;
    }

    fn due(&self) -> Option<Due> {
        let (record, since) = (self.record()?, self.due_at()?);
        let Record { id, version, queue, token, .. } = record;
        let (version, queue) = (version.clone(), queue.clone());
        Some(Due { since, id: id.clone(), version, queue, token: *token, round: self.round })
    }

    /// Since when there is something for the drive to do.
    fn due_at(&self) -> Option<Timestamp> {
        let record = self.record()?;
        match record.state {
            State::Pending => Some(record.ready_at),
            State::Uncertain => record.reconcile_at,
            _ => None,
        }
    }

    /// When the drive is to be told about it, given what it was told last.
    fn offer_at(&self) -> Option<Timestamp> {
        let due = self.due_at()?;
        Some(self.offered.filter(|offered| *offered >= due).map_or(due, |offered| offered.after(OFFER_AGAIN)))
    }

    fn offer_again(&mut self) -> bool {
        let was_offered = self.offered.take().is_some();
        self.round += u32::from(was_offered);
        was_offered
    }

    fn offer(&mut self, now: Timestamp, notes: &mut Vec<Note>) {
        if self.offer_at().is_some_and(|at| at <= now) {
            self.offered = Some(now);
            notes.extend(self.due().map(Note::Due));
        }
    }

    /// When something about it becomes due by itself.
    fn next_look(&self, now: Timestamp) -> Option<Timestamp> {
        let record = self.record()?;
        match record.state {
            State::Running => record.lease.as_ref().map(|lease| lease.until.min(now.after(LONGEST_LEASE))),
            State::Pending | State::Uncertain => self.offer_at(),
            _ => record.settled_at.map(|at| at.after(record.policy.retention)),
        }
    }
}

/// Why a book cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BookError {
    /// It is no book.
    #[error("the records under this key cannot be read")]
    Damaged,
    /// A newer release wrote it.
    #[error("the records under this key have the format {0}, this release knows {FORMAT}")]
    Newer(u32),
}

#[cfg(test)]
mod tests;
