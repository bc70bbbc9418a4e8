//! Documents: small durable facts of a surface that the core does not interpret, such as keys of an API or sessions of pages.

use serde::{Deserialize, Serialize};

use crate::model::{DocumentKind, DocumentName, Namespace, Payload, PayloadError};

/// What names one document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DocumentId {
    /// What it is, in the words of the surface that keeps it.
    pub kind: DocumentKind,
    /// In which namespace.
    pub namespace: Namespace,
    /// Which of its kind.
    pub name: DocumentName,
}

/// A small fact that is kept beside the records.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Document {
    /// Its name.
    pub id: DocumentId,
    /// 1 at first, and one more with every write. One that is made anew after it was deleted begins at 1 again.
    pub version: u64,
    /// What it says, as JSON. `Debug` shows the length only.
    pub body: Payload,
}

impl Document {
    /// The most bytes that a body may have.
    pub const LARGEST_BODY: usize = 64 * 1024;

    /// The body of a document.
    ///
    /// # Errors
    /// As [`Payload::encode`], with [`LARGEST_BODY`](Self::LARGEST_BODY) as the limit.
    pub fn body<T: Serialize + ?Sized>(value: &T) -> Result<Payload, PayloadError> {
        Payload::encode(value, Self::LARGEST_BODY)
    }
}

/// A change of one document, which happens only if it stands in the version that the caller has seen.
///
/// ```
/// use ratchet_core::ledger::{Document, DocumentId, DocumentWrite};
/// use ratchet_core::{DocumentKind, DocumentName, Ledger as _, MemoryLedger, Namespace};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let ledger = MemoryLedger::new();
/// let id = DocumentId {
///     kind: DocumentKind::from_static("run"),
///     namespace: Namespace::DEFAULT,
///     name: DocumentName::new("run_17")?,
/// };
/// let open = Document::body("open")?;
/// assert!(ledger.write_document(DocumentWrite::new(id.clone(), open)).await?.is_done());
///
/// let found = ledger.document(id).await?.expect("it was written");
/// let closed = Document::body("closed")?;
/// assert!(ledger.write_document(DocumentWrite::replacing(&found, closed.clone())).await?.is_done());
/// // What was found is not what stands any more.
/// assert!(!ledger.write_document(DocumentWrite::replacing(&found, closed)).await?.is_done());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DocumentWrite {
    /// Which document.
    pub id: DocumentId,
    /// In which version it must stand; `None` if there must be none.
    pub seen: Option<u64>,
    /// What it says from then on; `None` deletes it.
    pub body: Option<Payload>,
}

impl DocumentWrite {
    /// Makes a document, unless there is one.
    #[must_use]
    pub const fn new(id: DocumentId, body: Payload) -> Self {
        Self { id, seen: None, body: Some(body) }
    }

    /// Writes another body in the place of the one that was seen.
    #[must_use]
    pub fn replacing(seen: &Document, body: Payload) -> Self {
        Self { id: seen.id.clone(), seen: Some(seen.version), body: Some(body) }
    }

    /// Deletes the document as it was seen.
    #[must_use]
    pub fn deleting(seen: &Document) -> Self {
        Self { id: seen.id.clone(), seen: Some(seen.version), body: None }
    }

    /// The version that the write makes. For those who write a ledger.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.seen.map_or(1, |seen| seen.saturating_add(1))
    }

    /// Whether the write fits what stands. For those who write a ledger.
    pub fn decide(&self, standing: Option<&Document>) -> DocumentWritten {
        if standing.map(|document| document.version) == self.seen {
            DocumentWritten::Done
        } else {
            DocumentWritten::Other(standing.cloned())
        }
    }
}

/// What came of a write.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[must_use = "a write that came too late is told here and nowhere else"]
pub enum DocumentWritten {
    /// The document is as the write says.
    Done,
    /// Nothing was changed: this stands, or nothing does.
    Other(Option<Document>),
}

impl DocumentWritten {
    /// Whether the write was carried out.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }
}

/// Which documents to read, in the order of the bytes of their names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DocumentQuery {
    /// Only of this kind.
    pub kind: DocumentKind,
    /// Only of this namespace.
    pub namespace: Namespace,
    /// Only with names that begin so; all if it is empty.
    pub prefix: String,
    /// Only after this name, the last one of an earlier page.
    pub after: Option<DocumentName>,
    /// How many at the most.
    pub limit: usize,
}

impl DocumentQuery {
    /// The first hundred of a kind.
    #[must_use]
    pub const fn of(kind: DocumentKind, namespace: Namespace) -> Self {
        Self { kind, namespace, prefix: String::new(), after: None, limit: 100 }
    }

    /// Where the names begin, and whether one that is equal is wanted. For those who write a ledger.
    #[must_use]
    pub fn start(&self) -> (&str, bool) {
        match &self.after {
            Some(after) if after.as_str() >= self.prefix.as_str() => (after.as_str(), false),
            _ => (&self.prefix, true),
        }
    }

    /// What all of the names come before. For those who write a ledger.
    #[must_use]
    pub fn end(&self) -> String {
        let mut characters: Vec<char> = self.prefix.chars().collect();
        while let Some(last) = characters.pop() {
            if let Some(next) = (last..=char::MAX).nth(1) {
                characters.push(next);
                return characters.into_iter().collect();
            }
        }
        // No name is as long.
        char::MAX.to_string().repeat(64)
    }

    /// Whether a document is one of those.
    #[must_use]
    pub fn wants(&self, id: &DocumentId) -> bool {
        let name = id.name.as_str();
        let comes_after = self.after.as_ref().is_none_or(|after| id.name > *after);
        id.kind == self.kind
            && id.namespace == self.namespace
            && comes_after
            && name.starts_with(self.prefix.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_a_prefix_ends_where_its_names_do() {
        let of = |prefix: &str| {
            let all = DocumentQuery::of(DocumentKind::from_static("run"), Namespace::DEFAULT);
            DocumentQuery { prefix: prefix.to_owned(), ..all }.end()
        };
        assert_eq!(of("a"), "b");
        assert_eq!(of("a/"), "a0");
        assert_eq!(of("\u{D7FF}"), "\u{E000}");
        assert_eq!(of("a\u{10FFFF}"), "b");
        assert!(of("").len() > 255 && of("\u{10FFFF}") == of(""));
    }
}
