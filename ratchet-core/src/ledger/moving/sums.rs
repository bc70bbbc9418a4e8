//! What a store holds, in few numbers.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash as _, Hasher};

use sha2::{Digest as _, Sha256};

use super::carried::{Carried, Place};
use crate::ledger::{Ledger, LedgerError};

/// What kind of thing is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Records.
    Record,
    /// Tombstones.
    Tombstone,
    /// Decisions of people.
    Audit,
    /// Documents.
    Document,
    /// Templates, declarations and what is hidden, gates, acknowledgements.
    Fact,
}

impl Kind {
    fn of(carried: &Carried) -> Self {
        match carried {
            Carried::Record { .. } => Self::Record,
            Carried::Tombstone { .. } => Self::Tombstone,
            Carried::Audit { .. } => Self::Audit,
            Carried::Document(_) => Self::Document,
            Carried::Template { .. }
            | Carried::Declaration { .. }
            | Carried::Hidden { .. }
            | Carried::Gate(_)
            | Carried::Acknowledgement { .. } => Self::Fact,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Record => "records",
            Self::Tombstone => "tombstones",
            Self::Audit => "decisions",
            Self::Document => "documents",
            Self::Fact => "facts",
        }
    }
}

/// How much a store holds, and a digest of all of it.
///
/// The digest means something within one program only: it is made of things as they are in memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sums {
    counts: BTreeMap<Kind, u64>,
    digest: [u8; 32],
}

impl Sums {
    /// Reads all that `ledger` holds, `batch` things at a time.
    ///
    /// # Errors
    /// What the ledger says.
    pub async fn of(ledger: &dyn Ledger, batch: usize) -> Result<Self, LedgerError> {
        let (mut counts, mut digest) = (BTreeMap::new(), Absorbing(Sha256::new()));
        let mut place = Place::START;
        while place != Place::End {
            let read = ledger.export(place, batch).await?;
            for item in &read.items {
                *counts.entry(Kind::of(item)).or_default() += 1;
                item.hash(&mut digest);
            }
            place = read.next;
        }
        Ok(Self { counts, digest: digest.0.finalize().into() })
    }

    /// How many things of this kind there are.
    #[must_use]
    pub fn count(&self, kind: Kind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }
}

impl fmt::Display for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [Kind::Record, Kind::Tombstone, Kind::Audit, Kind::Document, Kind::Fact];
        for (nth, kind) in all.into_iter().enumerate() {
            let comma = if nth == 0 { "" } else { ", " };
            write!(f, "{comma}{} {}", self.count(kind), kind.name())?;
        }
        Ok(())
    }
}

/// Takes in what a hasher is given, all of it.
struct Absorbing(Sha256);

impl Hasher for Absorbing {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Nobody asks for it: the digest is longer.
    fn finish(&self) -> u64 {
        0
    }
}
