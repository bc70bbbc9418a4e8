//! What people decided, about all records.

use super::Cursor;
use crate::model::{AuditEntry, RecordId};

/// A decision of a person, and the record that it is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Decided {
    /// The record.
    pub id: RecordId,
    /// Its place in the listing.
    pub place: Cursor,
    /// Who decided what, and why.
    pub entry: AuditEntry,
}

/// A page of decisions, the latest first. Those about purged records are gone with them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditPage {
    /// The decisions.
    pub decisions: Vec<Decided>,
    /// Where the next page, of older ones, starts; `None` at the end.
    pub next: Option<Cursor>,
}
