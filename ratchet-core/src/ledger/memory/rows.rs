//! The rows of a ledger in memory, and what changes them.

use std::collections::BTreeMap;

use crate::admission::Gate;
use crate::decide::{
    Answer, AttemptNote, Command, Decision, LONGEST_LEASE, Moment, Refusal, Stored, SubmitDecision, decide,
    decide_submission,
};
use crate::ledger::moving::StoreStanding;
use crate::ledger::{
    Claim, Cursor, Declaration, Declared, Document, DocumentId, DocumentWrite, DocumentWritten,
    HighWaterMark, LedgerError, MarkChange, Served, StoreMark,
};
use crate::model::{
    After, Attempt, AuditEntry, DestinationName, HiddenPaths, OperationName, Record, RecordId, State,
    Submission, Submitted, Tombstone,
};
use crate::time::Timestamp;

#[derive(Debug)]
pub(super) struct Rows {
    pub(super) by_id: BTreeMap<RecordId, Row>,
    pub(super) order: BTreeMap<Cursor, RecordId>,
    pub(super) audit: BTreeMap<Cursor, (RecordId, AuditEntry)>,
    pub(super) templates: BTreeMap<OperationName, Vec<Template>>,
    pub(super) hidden: BTreeMap<Served, HiddenPaths>,
    pub(super) declared: BTreeMap<Served, Described>,
    /// Who acknowledged a restored backup, and why, by the epoch that began then.
    pub(super) acknowledged: BTreeMap<Timestamp, (String, String)>,
    pub(super) standing: StoreStanding,
    pub(super) mark: StoreMark,
    pub(super) gates: BTreeMap<DestinationName, Gate>,
    pub(super) documents: BTreeMap<DocumentId, Document>,
}

/// A key template, and why it differs from those before it.
#[derive(Debug, Clone)]
pub(super) struct Template {
    pub(super) template: String,
    pub(super) new_identity: Option<String>,
}

/// What is declared about a version, and how its keys are made.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) declared: Declared,
    pub(super) template: String,
    pub(super) forms: String,
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) stored: Stored,
    pub(super) attempts: Vec<Attempt>,
}

impl Rows {
    pub(super) fn made_at(now: Timestamp) -> Self {
        let mark = StoreMark { mark: HighWaterMark { epoch: now, raised: 0 }, held_since: None };
        Self {
            by_id: BTreeMap::new(),
            order: BTreeMap::new(),
            audit: BTreeMap::new(),
            templates: BTreeMap::new(),
            hidden: BTreeMap::new(),
            declared: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            standing: StoreStanding::default(),
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

    pub(super) fn submit(&mut self, submission: &Submission, now: Timestamp) -> Submitted {
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

    pub(super) fn change_mark(&mut self, change: MarkChange, now: Timestamp) -> StoreMark {
        self.mark = self.mark.after(&change, now);
        if let MarkChange::Acknowledge { by, reason } = change {
            self.acknowledged.insert(self.mark.mark.epoch, (by, reason));
        }
        self.mark
    }

    pub(super) fn write_document(&mut self, write: DocumentWrite) -> DocumentWritten {
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

    pub(super) fn apply(
        &mut self,
        id: &RecordId,
        command: &Command,
        moment: Moment,
    ) -> Result<Answer, Refusal> {
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

    /// Leases what is due, the most urgent and then the longest waiting first.
    pub(super) fn claim(
        &mut self,
        claim: &Claim,
        now: Timestamp,
        moment: impl Fn() -> Moment,
    ) -> Vec<Record> {
        let command = Command::Lease {
            worker: claim.worker.clone(),
            duration: claim.lease,
            start_if_safe: claim.start_if_safe,
        };
        let mut room = self.room(&claim.namespace, &claim.offers);
        let mut leased = Vec::new();
        for id in self.due(&claim.namespace, &claim.offers, now) {
            if leased.len() == claim.limit {
                break;
            }
            if !room.has(&id.operation) {
                continue;
            }
            let answer = self.apply(&id, &command, moment());
            if let (Ok(Answer::Leased), Some(Row { stored: Stored::Record(record), .. })) =
                (answer, self.by_id.get(&id))
            {
                room.take(&id.operation, 1);
                leased.push((**record).clone());
            }
        }
        leased
    }

    /// Decides about leases that are over.
    pub(super) fn expire(&mut self, limit: usize, now: Timestamp, moment: impl Fn() -> Moment) -> usize {
        let over = self.ids_where(limit, |record| is_expired(record, now));
        over.iter().filter(|id| self.apply(id, &Command::Expire, moment()).is_ok()).count()
    }

    pub(super) fn purge(&mut self, limit: usize, now: Timestamp) -> usize {
        let over = self.ids_where(limit, |record| record.is_purgeable(now));
        for id in &over {
            if let Some(row) = self.by_id.get_mut(id) {
                row.bury();
            }
        }
        self.audit.retain(|_, (id, _)| !over.contains(id));
        over.len()
    }

    /// All are accepted, or nothing is recorded.
    pub(super) fn declare(&mut self, declared: Vec<Declaration>) -> Result<(), LedgerError> {
        let mut accepted = self.templates.clone();
        for declaration in &declared {
            let known = accepted.entry(declaration.operation.clone()).or_default();
            let texts: Vec<String> = known.iter().map(|known| known.template.clone()).collect();
            if declaration.is_new(&texts)? {
                let (template, new_identity) =
                    (declaration.template.clone(), declaration.new_identity.clone());
                known.push(Template { template, new_identity });
            }
        }
        self.templates = accepted;
        for declaration in declared {
            let Declaration {
                operation,
                version,
                template,
                forms,
                hidden,
                policy,
                contract,
                priority,
                queue,
                volatile,
                concurrency,
                ..
            } = declaration;
            let of = Served { operation, version };
            let known = self.hidden.entry(of.clone()).or_default();
            *known = known.union(&hidden);
            let declared =
                Declared { of: of.clone(), policy, contract, priority, queue, volatile, concurrency };
            let forms = serde_json::to_string(&forms).unwrap_or_default();
            self.declared.insert(of, Described { declared, template, forms });
        }
        Ok(())
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
pub(super) fn append<T>(rows: &mut BTreeMap<Cursor, T>, row: T) {
    let place = rows.last_key_value().map_or(1, |(last, _)| last.0 + 1);
    rows.insert(Cursor(place), row);
}

fn is_expired(record: &Record, now: Timestamp) -> bool {
    let over = |until: Timestamp| until <= now || until > now.after(LONGEST_LEASE);
    record.state == State::Running && record.lease.as_ref().is_some_and(|lease| over(lease.until))
}
