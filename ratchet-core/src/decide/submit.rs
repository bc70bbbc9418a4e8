//! What happens to a submission, given the newest record under its key.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::model::{
    AuditEntry, Conflict, Effect, Ending, Fingerprint, Generation, Payload, Record, RecordId, State,
    Submission, Submitted, Token, Tombstone, Version,
};
use crate::time::Timestamp;

/// What a ledger holds under a key: a record, or the rest of one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stored {
    /// A record.
    Record(Box<Record>),
    /// The rest of a purged record.
    Tombstone(Tombstone),
}

/// What a submission is compared with: the newest record under its key, or the rest of one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Newest {
    /// Its identity.
    pub id: RecordId,
    /// The version that the producer asked for.
    pub version: Version,
    /// The fingerprint of the input.
    pub fingerprint: Fingerprint,
    /// What is, or was, the case with it.
    pub state: State,
    /// What it left, if it succeeded.
    pub result: Option<Payload>,
    /// When it ended, if only a tombstone is left.
    pub purged: Option<Timestamp>,
}

impl From<&Record> for Newest {
    fn from(record: &Record) -> Self {
        Self {
            id: record.id.clone(),
            version: record.version.clone(),
            fingerprint: record.fingerprint,
            state: record.state,
            result: record.result.clone(),
            purged: None,
        }
    }
}

impl From<&Stored> for Newest {
    fn from(stored: &Stored) -> Self {
        match stored {
            Stored::Record(record) => Self::from(&**record),
            Stored::Tombstone(rest) => Self {
                id: rest.id.clone(),
                version: rest.version.clone(),
                fingerprint: rest.fingerprint,
                state: rest.state,
                result: None,
                purged: Some(rest.ended_at),
            },
        }
    }
}

/// What follows from a submission.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SubmitDecision {
    /// Make this record and answer [`Submitted::New`].
    Insert {
        /// The record.
        record: Box<Record>,
        /// What to add to its audit trail.
        audit: Option<AuditEntry>,
    },
    /// Change nothing and answer this.
    Answer(Submitted),
}

/// Decides about `submission`, given the newest record or tombstone under its namespace, operation and key.
#[must_use]
pub fn decide_submission(newest: Option<&Stored>, submission: &Submission, now: Timestamp) -> SubmitDecision {
    decide_beside(newest.map(Newest::from).as_ref(), submission, now)
}

/// The same where no more was read than it takes.
#[must_use]
pub fn decide_beside(newest: Option<&Newest>, submission: &Submission, now: Timestamp) -> SubmitDecision {
    match (newest, &submission.renewal) {
        (None, None) => {
            // Generations count from 1, and only a renewal makes another one.
            let first = RecordId { generation: Generation::FIRST, ..submission.id.clone() };
            insert(first, submission, State::Pending, now)
        }
        (None, Some(_)) => conflict(Conflict::NotNewest),
        (Some(newest), None) => SubmitDecision::Answer(compare(newest, submission)),
        (Some(newest), Some(_)) => renew(newest, submission, now),
    }
}

fn renew(newest: &Newest, submission: &Submission, now: Timestamp) -> SubmitDecision {
    // The caller names the generation that it wants to follow, so that its own repetition makes no second one.
    if newest.id.generation == submission.id.generation.next() {
        return SubmitDecision::Answer(compare(newest, submission));
    }
    if newest.id.generation != submission.id.generation {
        return conflict(Conflict::NotNewest);
    }
    if !newest.state.is_definite() {
        return conflict(Conflict::NotEnded);
    }
    insert(newest.id.next_generation(), submission, newest.state, now)
}

fn compare(newest: &Newest, submission: &Submission) -> Submitted {
    // Another version may write the same action differently, so fingerprints are compared within one version only.
    if newest.version == submission.version && newest.fingerprint != submission.fingerprint() {
        return Submitted::Conflict(Conflict::OtherInput);
    }
    match newest.purged {
        Some(ended_on) => Submitted::Expired { ended_on, state: newest.state },
        None => Submitted::Existing {
            id: newest.id.clone(),
            state: newest.state,
            result: newest.result.clone(),
            version: newest.version.clone(),
        },
    }
}

fn conflict(why: Conflict) -> SubmitDecision {
    SubmitDecision::Answer(Submitted::Conflict(why))
}

fn insert(id: RecordId, submission: &Submission, before: State, now: Timestamp) -> SubmitDecision {
    if submission.after.as_ref().is_some_and(|after| after.id.namespace != id.namespace) {
        return conflict(Conflict::NoPredecessor);
    }
    let state = if submission.after.is_some() { State::Waiting } else { State::Pending };
    let audit = submission.renewal.as_ref().map(|renewal| AuditEntry {
        at: now,
        by: renewal.by.clone(),
        action: "new_generation".to_owned(),
        reason: renewal.reason.clone(),
        from: before,
        to: state,
    });
    let record = Record {
        id,
        version: submission.version.clone(),
        fingerprint: submission.fingerprint(),
        input: submission.input.clone(),
        policy: submission.policy.clone(),
        queue: submission.queue.clone(),
        priority: submission.priority,
        group: submission.group.clone(),
        after: submission.after.clone(),
        trace: submission.trace,
        created_at: now,
        state,
        ready_at: submission.not_before.map_or(now, |at| at.max(now)),
        token: Token::NONE,
        lease: None,
        attempts: 0,
        spent: 0,
        effect: Effect::new(submission.contract.clone()),
        steps: BTreeMap::new(),
        cancel_requested: false,
        risk_accepted: false,
        result: None,
        cause: None,
        uncertainty: None,
        reconcile_at: None,
        settled_at: None,
    };
    SubmitDecision::Insert { record: Box::new(record), audit }
}

impl SubmitDecision {
    /// The same where the record that it should come after does not exist: nothing new is recorded.
    #[must_use]
    pub fn without_predecessor(self) -> Self {
        match self {
            Self::Insert { .. } => conflict(Conflict::NoPredecessor),
            answer @ Self::Answer(_) => answer,
        }
    }
}

impl Stored {
    /// Which intended action it is.
    #[must_use]
    pub fn id(&self) -> &RecordId {
        match self {
            Self::Record(record) => &record.id,
            Self::Tombstone(rest) => &rest.id,
        }
    }

    /// What is, or was, the case with it.
    #[must_use]
    pub fn state(&self) -> State {
        match self {
            Self::Record(record) => record.state,
            Self::Tombstone(rest) => rest.state,
        }
    }

    /// How it ended, for records that come after it; `None` if it goes on.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        match self {
            Self::Record(record) => record.ending(),
            Self::Tombstone(rest) => Ending::of(rest.state, None, None),
        }
    }

    /// The version that the producer asked for.
    #[must_use]
    pub fn version(&self) -> &Version {
        match self {
            Self::Record(record) => &record.version,
            Self::Tombstone(rest) => &rest.version,
        }
    }

    /// The fingerprint of the input.
    #[must_use]
    pub fn fingerprint(&self) -> &Fingerprint {
        match self {
            Self::Record(record) => &record.fingerprint,
            Self::Tombstone(rest) => &rest.fingerprint,
        }
    }
}
