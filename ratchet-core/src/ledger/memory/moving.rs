//! A ledger in memory as the source or the target of a move.

use std::ops::Bound;

use super::rows::{Described, Row, Rows, Template, append};
use crate::admission::KnownGate;
use crate::decide::{Command, Stored};
use crate::ledger::moving::{
    Batch, Carried, Import, Page, Place, StandingChange, StandingRefused, StoreStanding,
};
use crate::ledger::{Cursor, DocumentId};
use crate::model::{Record, RecordId, State};
use crate::time::Timestamp;

/// Whether something begins that a source does not let begin.
pub(super) const fn begins_something(command: &Command) -> bool {
    matches!(
        command,
        Command::Lease { .. } | Command::Start { .. } | Command::Pin { .. } | Command::BeginStep { .. }
    )
}

impl Rows {
    pub(super) fn change_standing(
        &mut self,
        change: &StandingChange,
        now: Timestamp,
    ) -> Result<StoreStanding, StandingRefused> {
        let next = self.standing.after(change)?;
        if next == self.standing {
            return Ok(next);
        }
        match change {
            StandingChange::Fill { .. } if !self.is_empty() => return Err(StandingRefused::NotEmpty),
            StandingChange::Freeze { .. } => match self.leases() {
                0 => {}
                leases => return Err(StandingRefused::Running { leases }),
            },
            StandingChange::Open { above, .. } => self.mark = self.mark.opened(*above, now),
            _ => {}
        }
        self.standing = next.clone();
        Ok(next)
    }

    fn is_empty(&self) -> bool {
        let mut place = Place::START;
        while place != Place::End {
            let batch = self.export(&place, 1);
            if !batch.items.is_empty() {
                return false;
            }
            place = batch.next;
        }
        true
    }

    fn leases(&self) -> u64 {
        let runs =
            |row: &&Row| matches!(&row.stored, Stored::Record(record) if record.state == State::Running);
        self.by_id.values().filter(runs).count() as u64
    }

    pub(super) fn export(&self, place: &Place, limit: usize) -> Batch {
        let page = match place {
            Place::Facts => Page { items: self.facts(), next: None },
            Place::Documents { after } => {
                let after: Option<DocumentId> = after.clone().map(Into::into);
                let from = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
                let documents = self.documents.range((from, Bound::Unbounded)).take(limit);
                page(
                    limit,
                    documents.map(|(id, document)| {
                        (
                            Place::Documents { after: Some(id.clone().into()) },
                            Carried::Document(document.clone()),
                        )
                    }),
                )
            }
            Place::Records { after } => {
                let records = self.order.range((Bound::Excluded(*after), Bound::Unbounded)).take(limit);
                let carried = |(place, id): (&Cursor, &RecordId)| {
                    Some((Place::Records { after: *place }, self.carried(*place, self.by_id.get(id)?)))
                };
                page(limit, records.filter_map(carried))
            }
            Place::Audit { after } => {
                let entries = self.audit.range((Bound::Excluded(*after), Bound::Unbounded)).take(limit);
                page(
                    limit,
                    entries.filter_map(|(number, (id, entry))| {
                        let (record, entry) = (self.place(id)?, entry.clone());
                        Some((Place::Audit { after: *number }, Carried::Audit { record, entry }))
                    }),
                )
            }
            Place::End => Page::default(),
        };
        Batch::of(place, page)
    }

    fn facts(&self) -> Vec<Carried> {
        let templates = self.templates.iter().flat_map(|(operation, templates)| {
            templates.iter().map(|Template { template, new_identity }| Carried::Template {
                operation: operation.clone(),
                template: template.clone(),
                new_identity: new_identity.clone(),
            })
        });
        let declarations = self.declared.values().map(|described| Carried::Declaration {
            declared: described.declared.clone(),
            template: described.template.clone(),
            forms: described.forms.clone(),
        });
        let hidden =
            self.hidden.iter().map(|(of, paths)| Carried::Hidden { of: of.clone(), paths: paths.clone() });
        let gates = self.gates.iter().map(|(destination, gate)| {
            Carried::Gate(KnownGate { destination: destination.clone(), gate: gate.clone() })
        });
        let acknowledged = self.acknowledged.iter().map(|(epoch, (by, reason))| Carried::Acknowledgement {
            epoch: *epoch,
            by: by.clone(),
            reason: reason.clone(),
        });
        templates.chain(declarations).chain(hidden).chain(gates).chain(acknowledged).collect()
    }

    fn carried(&self, place: Cursor, row: &Row) -> Carried {
        match &row.stored {
            Stored::Record(record) => Carried::Record {
                place,
                after: self.predecessor(record),
                record: record.clone(),
                attempts: row.attempts.clone(),
            },
            Stored::Tombstone(tombstone) => Carried::Tombstone { place, tombstone: tombstone.clone() },
        }
    }

    fn predecessor(&self, record: &Record) -> Option<Cursor> {
        self.place(&record.after.as_ref()?.id)
    }

    fn place(&self, id: &RecordId) -> Option<Cursor> {
        self.order.iter().find(|(_, other)| *other == id).map(|(place, _)| *place)
    }

    pub(super) fn import(&mut self, import: Import) -> Result<(), StandingRefused> {
        self.standing = self.standing.after_import(&import)?;
        for item in import.batch.items {
            self.take(item);
        }
        Ok(())
    }

    fn take(&mut self, item: Carried) {
        match item {
            Carried::Template { operation, template, new_identity } => {
                self.templates.entry(operation).or_default().push(Template { template, new_identity });
            }
            Carried::Declaration { declared, template, forms } => {
                self.declared.insert(declared.of.clone(), Described { declared, template, forms });
            }
            Carried::Hidden { of, paths } => drop(self.hidden.insert(of, paths)),
            Carried::Gate(KnownGate { destination, gate }) => drop(self.gates.insert(destination, gate)),
            Carried::Acknowledgement { epoch, by, reason } => {
                self.acknowledged.insert(epoch, (by, reason));
            }
            Carried::Document(document) => drop(self.documents.insert(document.id.clone(), document)),
            Carried::Record { place, record, attempts, .. } => {
                self.order.insert(place, record.id.clone());
                self.by_id.insert(record.id.clone(), Row { stored: Stored::Record(record), attempts });
            }
            Carried::Tombstone { place, tombstone } => {
                let id = tombstone.id.clone();
                self.order.insert(place, id.clone());
                self.by_id.insert(id, Row { stored: Stored::Tombstone(tombstone), attempts: Vec::new() });
            }
            Carried::Audit { record, entry } => {
                if let Some(id) = self.order.get(&record) {
                    let id = id.clone();
                    append(&mut self.audit, (id, entry));
                }
            }
        }
    }
}

/// A page that is full has another one behind it, perhaps an empty one.
fn page(limit: usize, found: impl Iterator<Item = (Place, Carried)>) -> Page {
    let (places, items): (Vec<Place>, Vec<Carried>) = found.unzip();
    let next = places.into_iter().next_back().filter(|_| items.len() >= limit);
    Page { items, next }
}
