//! What is carried from one store to another, a batch at a time.

use serde::{Deserialize, Serialize};

use super::standing::MoveId;
use crate::admission::KnownGate;
use crate::ledger::{Cursor, Declared, Document, DocumentId, Served};
use crate::model::{
    Attempt, AuditEntry, DocumentKind, DocumentName, HiddenPaths, Namespace, OperationName, Record, Tombstone,
};
use crate::time::Timestamp;

/// One thing that a store holds, with all that is known of it.
///
/// Two stores hold the same if they give the same things in the same order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Carried {
    /// A key template, in the order in which those of one operation were accepted.
    Template {
        /// The operation.
        operation: OperationName,
        /// The template.
        template: String,
        /// Why it differs from those before it.
        new_identity: Option<String>,
    },
    /// What the code says about a version.
    Declaration {
        /// What everybody is told.
        declared: Declared,
        /// The template of this version.
        template: String,
        /// How JSON writes the values of its placeholders, as JSON: what programs in other languages make keys with.
        forms: String,
    },
    /// What is hidden of inputs.
    Hidden {
        /// Of which.
        of: Served,
        /// Where it stands in them.
        paths: HiddenPaths,
    },
    /// How much a destination is asked to take.
    Gate(KnownGate),
    /// Who acknowledged that a backup was restored.
    Acknowledgement {
        /// The epoch that began then.
        epoch: Timestamp,
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// A document of a surface.
    Document(Document),
    /// A record: its state, its token, what is pinned, its steps, and its attempts.
    Record {
        /// Its place, and public id.
        place: Cursor,
        /// The record; nothing runs in a store that is carried, so it has no lease.
        record: Box<Record>,
        /// The place of the record that it comes after.
        after: Option<Cursor>,
        /// In the order of their tokens.
        attempts: Vec<Attempt>,
    },
    /// What is left of a purged record.
    Tombstone {
        /// The place that the record had.
        place: Cursor,
        /// What answers for its key.
        tombstone: Tombstone,
    },
    /// What a person decided, in the order of the whole trail.
    Audit {
        /// The place of the record.
        record: Cursor,
        /// What was decided.
        entry: AuditEntry,
    },
}

/// Where a batch begins.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Place {
    /// Templates, declarations, gates and acknowledgements, of which there are as many as operations and destinations: in
    /// one batch.
    Facts,
    /// Documents, in the order of their kinds, namespaces and names.
    Documents {
        /// Behind this one; from the first one on if there is none.
        after: Option<DocumentPlace>,
    },
    /// Records and tombstones, in the order of their places.
    Records {
        /// Behind this one.
        after: Cursor,
    },
    /// What people decided.
    Audit {
        /// Behind this entry, by the number that the store gave it.
        after: Cursor,
    },
    /// There is nothing more.
    End,
}

/// The place of a document.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DocumentPlace {
    /// Its kind.
    pub kind: DocumentKind,
    /// Its namespace.
    pub namespace: Namespace,
    /// Its name.
    pub name: DocumentName,
}

impl From<DocumentPlace> for DocumentId {
    fn from(DocumentPlace { kind, namespace, name }: DocumentPlace) -> Self {
        Self { kind, namespace, name }
    }
}

impl From<DocumentId> for DocumentPlace {
    fn from(DocumentId { kind, namespace, name }: DocumentId) -> Self {
        Self { kind, namespace, name }
    }
}

impl Place {
    /// Where the first batch begins.
    pub const START: Self = Self::Facts;

    /// Where the things behind those of this place begin.
    fn next_kind(&self) -> Self {
        match self {
            Self::Facts => Self::Documents { after: None },
            Self::Documents { .. } => Self::Records { after: Cursor(0) },
            Self::Records { .. } => Self::Audit { after: Cursor(0) },
            Self::Audit { .. } | Self::End => Self::End,
        }
    }
}

/// What a store holds at one place, in order. For those who write a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The things.
    pub items: Vec<Carried>,
    /// Where the next page of the same kind begins; `None` if there is none.
    pub next: Option<Place>,
}

/// What is carried at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The things.
    pub items: Vec<Carried>,
    /// Where the next batch begins.
    pub next: Place,
}

impl Batch {
    /// The batch at `place` that holds this page.
    #[must_use]
    pub fn of(place: &Place, page: Page) -> Self {
        Self { items: page.items, next: page.next.unwrap_or_else(|| place.next_kind()) }
    }
}

/// A batch on its way into a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// By which move.
    pub by: MoveId,
    /// Where the batch begins.
    pub at: Place,
    /// The batch.
    pub batch: Batch,
}
