//! Records on the desk of a store: loaded together, decided about one command at a time, written back together.
//!
//! For those who write a ledger over rows of some database. What is loaded and written is the store's own affair.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use crate::decide::{Answer, AttemptNote, Command, Decision, Moment, Refusal, decide};
use crate::model::{Attempt, AttemptEnd, AuditEntry, OutcomeKind, Record, RecordId, State, StepName, Token};
use crate::time::Timestamp;

/// Some records inside a transaction that holds them, in the order in which they were loaded.
#[derive(Debug, Default)]
pub struct Desk {
    /// The records.
    pub sheets: Vec<Sheet>,
    /// What was found and cannot be decided about, so that it keeps nobody else from being served.
    pub damaged: Vec<Damaged>,
    /// What to write on attempts.
    pub attempts: AttemptNotes,
    /// What to add to audit trails, by the number of the record's row.
    pub audit: Vec<(i64, AuditEntry)>,
}

/// A row that is no record.
#[derive(Debug)]
pub struct Damaged {
    /// Its number.
    pub row: i64,
    /// `None` if not even this can be read.
    pub id: Option<RecordId>,
    /// What is wrong, without any value.
    pub what: &'static str,
}

/// The damaged rows that were logged: a worker comes by many times a second, and one line says it.
#[derive(Debug, Clone, Default)]
pub struct Logged(Arc<Mutex<BTreeSet<i64>>>);

impl Logged {
    fn is_first(&self, row: i64) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(row)
    }
}

/// One record, and how it differs from its row.
#[derive(Debug)]
pub struct Sheet {
    /// The number of its row.
    pub row: i64,
    /// The record as it is from now on.
    pub record: Record,
    /// What the row says, so that the write can insist on it.
    pub was: (State, Token),
    /// Whether anything is to be written.
    pub changed: bool,
    /// Which steps are to be written.
    pub changed_steps: BTreeSet<StepName>,
    /// Whether its policy or contract, which usually stay as they were enqueued, are to be written.
    pub changed_terms: bool,
}

/// What to write on attempts, one note for each attempt and kind.
#[derive(Debug, Default)]
pub struct AttemptNotes {
    /// New ones.
    pub opened: BTreeMap<(i64, Token), Attempt>,
    /// Those whose handler was entered, and when.
    pub started: BTreeMap<(i64, Token), Timestamp>,
    /// Those that ended.
    pub ended: BTreeMap<(i64, Token), AttemptEnd>,
}

impl Desk {
    /// Whether it is worth looking at more than `looked_at` rows for `limit` sound ones: damaged ones took the places
    /// of others.
    #[must_use]
    pub fn lacks(&self, limit: usize, looked_at: usize) -> bool {
        let found = self.sheets.len() + self.damaged.len();
        self.sheets.len() < limit && found >= looked_at
    }

    /// Says which rows are left alone until somebody mends them.
    pub fn log_damaged(&self, logged: &Logged) {
        for Damaged { row, what, .. } in &self.damaged {
            if logged.is_first(*row) {
                tracing::error!(row, what, "a damaged record is left alone: restore it or ask for help");
            }
        }
    }

    /// Where each record lies, or why it does not.
    #[must_use]
    pub fn places(&self) -> HashMap<RecordId, Result<usize, Refusal>> {
        let sound = self.sheets.iter().enumerate().map(|(place, sheet)| (sheet.record.id.clone(), Ok(place)));
        let damaged = self.damaged.iter().filter_map(|damaged| {
            let refusal = Refusal::Damaged { what: damaged.what.to_owned() };
            Some((damaged.id.clone()?, Err(refusal)))
        });
        sound.chain(damaged).collect()
    }

    /// Decides about the sheet at this place and keeps what follows.
    ///
    /// # Errors
    /// As [`decide`]; [`Refusal::NoRecord`] if there is no such place.
    pub fn decide(&mut self, place: usize, command: &Command, moment: Moment) -> Result<Answer, Refusal> {
        let sheet = self.sheets.get_mut(place).ok_or(Refusal::NoRecord)?;
        let Decision { record, attempt, audit, answer } = decide(&sheet.record, command, moment)?;
        sheet.take(record);
        let row = sheet.row;
        self.audit.extend(audit.map(|entry| (row, entry)));
        if let Some(note) = attempt {
            self.attempts.add(row, note);
        }
        Ok(answer)
    }
}

impl Sheet {
    /// A record as its row has it.
    #[must_use]
    pub fn new(row: i64, record: Record) -> Self {
        Self {
            row,
            was: (record.state, record.token),
            record,
            changed: false,
            changed_steps: BTreeSet::new(),
            changed_terms: false,
        }
    }

    fn take(&mut self, record: Record) {
        if record == self.record {
            return;
        }
        self.changed = true;
        self.changed_terms |=
            record.policy != self.record.policy || record.effect.contract != self.record.effect.contract;
        let before = &self.record.steps;
        let changed = record.steps.iter().filter(|(name, step)| before.get(*name) != Some(*step));
        self.changed_steps.extend(changed.map(|(name, _)| name.clone()));
        self.record = record;
    }
}

impl AttemptNotes {
    fn add(&mut self, row: i64, note: AttemptNote) {
        match note {
            AttemptNote::Opened(attempt) => {
                self.opened.insert((row, attempt.token), attempt);
            }
            AttemptNote::Started { token, at } => match self.opened.get_mut(&(row, token)) {
                Some(attempt) => attempt.started_at = Some(at),
                None => {
                    self.started.insert((row, token), at);
                }
            },
            AttemptNote::Ended { token, end } => match self.opened.get_mut(&(row, token)) {
                Some(attempt) => attempt.end_with(end),
                None => self.end(row, token, end),
            },
        }
    }

    /// The rule of [`Attempt::end_with`]; the row applies it once more to what it holds.
    fn end(&mut self, row: i64, token: Token, end: AttemptEnd) {
        let stays = self.ended.get(&(row, token)).is_some_and(|earlier| {
            earlier.outcome != OutcomeKind::Unknown || end.outcome == OutcomeKind::Unknown
        });
        if !stays {
            self.ended.insert((row, token), end);
        }
    }
}
