//! What the server keeps in the store beside records, as typed documents.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ratchet::ledger::{Document, DocumentId, DocumentQuery, DocumentWrite, DocumentWritten, SharedLedger};
use ratchet::{DocumentKind, DocumentName, LedgerError, Namespace, PayloadError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

/// For how long [`Shelf::recent`] answers from memory: a key that is revoked elsewhere is good for so long.
const RECENT: Duration = Duration::from_secs(2);

/// How many documents stay in memory.
const MOST_IN_MEMORY: usize = 10_000;

/// Of how many names it is kept in mind that they have no document. Anybody can make them up, so they have a place of their
/// own, and take none from what there is.
const MOST_MISSING: usize = 1_000;

/// One kind of documents.
pub(crate) trait Kept: Serialize + DeserializeOwned {
    const KIND: DocumentKind;
}

/// The server's documents. What it writes itself it sees at once.
pub(crate) struct Shelf {
    ledger: SharedLedger,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    found: HashMap<DocumentId, Seen>,
    missing: HashMap<DocumentId, Seen>,
}

/// What stood under a name at some point.
#[derive(Clone)]
struct Seen {
    at: Instant,
    document: Option<Document>,
}

/// Why a document cannot be kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeepError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Body(#[from] PayloadError),
}

impl Shelf {
    pub(crate) fn new(ledger: SharedLedger) -> Self {
        Self { ledger, memory: Mutex::default() }
    }

    /// A document as it stands now. A name that no document can have has none.
    pub(crate) async fn read<T: Kept>(
        &self,
        namespace: &Namespace,
        name: &str,
    ) -> Result<Option<T>, LedgerError> {
        let Some(id) = id_of::<T>(namespace, name) else { return Ok(None) };
        let found = self.look_up(id).await?;
        found.as_ref().map(decoded).transpose()
    }

    /// A document as it stood two seconds ago at the most.
    pub(crate) async fn recent<T: Kept>(
        &self,
        namespace: &Namespace,
        name: &str,
    ) -> Result<Option<T>, LedgerError> {
        let Some(id) = id_of::<T>(namespace, name) else { return Ok(None) };
        let found = match self.remembered(&id) {
            Some(seen) => seen.document,
            None => self.look_up(id).await?,
        };
        found.as_ref().map(decoded).transpose()
    }

    /// Makes a document; `false` if there is one of this name.
    pub(crate) async fn create<T: Kept>(
        &self,
        namespace: &Namespace,
        name: &str,
        value: &T,
    ) -> Result<bool, KeepError> {
        let Some(id) = id_of::<T>(namespace, name) else { return Ok(false) };
        let body = Document::body(value)?;
        Ok(self.write(DocumentWrite::new(id, body)).await?.is_done())
    }

    /// Replaces what stands by what `change` makes of it, and gives that; `None` of `change` leaves it as it is.
    pub(crate) async fn change<T: Kept>(
        &self,
        namespace: &Namespace,
        name: &str,
        mut change: impl FnMut(Option<T>) -> Option<T> + Send,
    ) -> Result<Option<T>, KeepError> {
        let Some(id) = id_of::<T>(namespace, name) else { return Ok(None) };
        let mut standing = self.look_up(id.clone()).await?;
        loop {
            let Some(next) = change(standing.as_ref().map(decoded).transpose()?) else { return Ok(None) };
            let body = Document::body(&next)?;
            let write = match &standing {
                Some(seen) => DocumentWrite::replacing(seen, body),
                None => DocumentWrite::new(id.clone(), body),
            };
            match self.write(write).await? {
                DocumentWritten::Done => return Ok(Some(next)),
                DocumentWritten::Other(other) => standing = other,
            }
        }
    }

    /// All documents of a kind in one namespace, with their names.
    pub(crate) async fn all<T: Kept>(&self, namespace: &Namespace) -> Result<Vec<(String, T)>, LedgerError> {
        let mut all: Vec<(String, T)> = Vec::new();
        loop {
            let page = self.page(namespace, all.last().map(|(name, _)| name.as_str())).await?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    /// Up to a hundred documents of a kind in one namespace behind the name `after`, in the order of their names.
    pub(crate) async fn page<T: Kept>(
        &self,
        namespace: &Namespace,
        after: Option<&str>,
    ) -> Result<Vec<(String, T)>, LedgerError> {
        let after = after.and_then(|name| DocumentName::new(name).ok());
        let query = DocumentQuery { after, ..DocumentQuery::of(T::KIND, namespace.clone()) };
        let page = self.ledger.documents(query).await?;
        page.iter().map(|document| Ok((document.id.name.as_str().to_owned(), decoded(document)?))).collect()
    }

    /// Deletes a document as it stands, unless somebody writes it at the same time.
    pub(crate) async fn delete<T: Kept>(&self, namespace: &Namespace, name: &str) -> Result<(), LedgerError> {
        let Some(id) = id_of::<T>(namespace, name) else { return Ok(()) };
        if let Some(standing) = self.look_up(id).await? {
            let _ = self.write(DocumentWrite::deleting(&standing)).await?;
        }
        Ok(())
    }

    /// Forgets what is too old to be of use: documents may be large.
    pub(crate) fn tidy(&self) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let Memory { found, missing } = &mut *memory;
        for place in [found, missing] {
            place.retain(|_, seen| seen.at.elapsed() < RECENT);
            place.shrink_to(place.len() * 2);
        }
    }

    fn remembered(&self, id: &DocumentId) -> Option<Seen> {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = memory.found.get(id).or_else(|| memory.missing.get(id));
        seen.filter(|seen| seen.at.elapsed() < RECENT).cloned()
    }

    async fn look_up(&self, id: DocumentId) -> Result<Option<Document>, LedgerError> {
        let at = Instant::now();
        let found = self.ledger.document(id.clone()).await?;
        let seen = Seen { at, document: found.clone() };
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).keep(id, seen);
        Ok(found)
    }

    async fn write(&self, write: DocumentWrite) -> Result<DocumentWritten, LedgerError> {
        let id = write.id.clone();
        let written = self.ledger.write_document(write).await;
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).forget(&id);
        written
    }
}

impl Memory {
    fn keep(&mut self, id: DocumentId, seen: Seen) {
        self.forget(&id);
        let (place, most) = match seen.document {
            Some(_) => (&mut self.found, MOST_IN_MEMORY),
            None => (&mut self.missing, MOST_MISSING),
        };
        if place.len() >= most {
            place.retain(|_, seen| seen.at.elapsed() < RECENT);
        }
        if place.len() < most {
            place.insert(id, seen);
        }
    }

    fn forget(&mut self, id: &DocumentId) {
        self.found.remove(id);
        self.missing.remove(id);
    }
}

fn id_of<T: Kept>(namespace: &Namespace, name: &str) -> Option<DocumentId> {
    let name = DocumentName::new(name).ok()?;
    Some(DocumentId { kind: T::KIND, namespace: namespace.clone(), name })
}

fn decoded<T: Kept>(document: &Document) -> Result<T, LedgerError> {
    let damaged = |_| LedgerError::Damaged { what: format!("a document of kind {} cannot be read", T::KIND) };
    document.body.decode().map_err(damaged)
}

#[cfg(test)]
mod tests {
    use ratchet_core::MemoryLedger;
    use serde::Deserialize;

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Note;

    impl Kept for Note {
        const KIND: DocumentKind = DocumentKind::from_static("note");
    }

    /// Whoever makes names up asks the store for each, and has nothing forgotten that there is.
    #[tokio::test(start_paused = true)]
    async fn names_that_strangers_make_up_take_no_place_of_what_there_is() {
        let shelf = Shelf::new(MemoryLedger::new());
        let namespace = Namespace::DEFAULT;
        for number in 0..=MOST_IN_MEMORY {
            assert!(shelf.recent::<Note>(&namespace, &format!("made-up-{number}")).await.unwrap().is_none());
        }
        assert!(shelf.create(&namespace, "real", &Note).await.unwrap());
        assert!(shelf.recent::<Note>(&namespace, "real").await.unwrap().is_some());
        let id = id_of::<Note>(&namespace, "real").unwrap();
        assert!(shelf.remembered(&id).is_some_and(|seen| seen.document.is_some()));
        assert_eq!(shelf.memory.lock().unwrap().missing.len(), MOST_MISSING);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_too_old_to_be_of_use_is_forgotten() {
        let shelf = Shelf::new(MemoryLedger::new());
        let namespace = Namespace::DEFAULT;
        assert!(shelf.create(&namespace, "real", &Note).await.unwrap());
        assert!(shelf.recent::<Note>(&namespace, "real").await.unwrap().is_some());
        assert!(shelf.recent::<Note>(&namespace, "made-up").await.unwrap().is_none());
        let in_memory = || {
            shelf.tidy();
            let memory = shelf.memory.lock().unwrap();
            (memory.found.len(), memory.missing.len())
        };
        assert_eq!(in_memory(), (1, 1));
        tokio::time::advance(RECENT).await;
        assert_eq!(in_memory(), (0, 0));
    }
}
