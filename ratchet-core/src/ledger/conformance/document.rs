//! Documents: found by name, written with compare-and-set.

use std::sync::Arc;

use super::Fixture;
use crate::ledger::{Document, DocumentId, DocumentQuery, DocumentWrite, DocumentWritten};
use crate::model::{DocumentKind, DocumentName, Namespace, Payload};

const RUN: DocumentKind = DocumentKind::from_static("run");
const API_KEY: DocumentKind = DocumentKind::from_static("api-key");
const TENANT: Namespace = Namespace::from_static("tenant-a");

fn id(kind: DocumentKind, name: &str) -> DocumentId {
    let name = DocumentName::new(name).expect("a name of the suite");
    DocumentId { kind, namespace: Namespace::DEFAULT, name }
}

fn run(name: &str) -> DocumentId {
    id(RUN, name)
}

fn body(text: &str) -> Payload {
    Document::body(text).expect("a body of the suite")
}

impl Fixture {
    async fn write(&self, write: DocumentWrite) -> DocumentWritten {
        self.ledger.write_document(write).await.expect("write_document")
    }

    async fn make_document(&self, id: DocumentId, text: &str) -> Document {
        let made = Document { id: id.clone(), version: 1, body: body(text) };
        assert_eq!(self.write(DocumentWrite::new(id, body(text))).await, DocumentWritten::Done);
        made
    }

    async fn document(&self, id: &DocumentId) -> Option<Document> {
        self.ledger.document(id.clone()).await.expect("document")
    }

    async fn names(&self, query: DocumentQuery) -> Vec<String> {
        let found = self.ledger.documents(query).await.expect("documents");
        found.into_iter().map(|document| document.id.name.into()).collect()
    }
}

/// What was written is found, and a second one under its name is told what stands.
pub async fn a_document_is_written_once_and_found(fixture: Fixture) {
    assert_eq!(fixture.document(&run("a")).await, None);
    let made = fixture.make_document(run("a"), "first").await;
    assert_eq!(fixture.document(&run("a")).await.as_ref(), Some(&made));
    let second = fixture.write(DocumentWrite::new(run("a"), body("second"))).await;
    assert_eq!(second, DocumentWritten::Other(Some(made.clone())));
    assert_eq!(fixture.document(&run("a")).await, Some(made));
}

/// A write in the version that stands makes the next one; any other changes nothing.
pub async fn a_write_needs_the_version_that_stands(fixture: Fixture) {
    let made = fixture.make_document(run("a"), "first").await;
    let replaced = fixture.write(DocumentWrite::replacing(&made, body("second"))).await;
    assert_eq!(replaced, DocumentWritten::Done);
    let stands = Document { version: 2, body: body("second"), ..made.clone() };
    assert_eq!(fixture.document(&run("a")).await.as_ref(), Some(&stands));
    for seen in [None, Some(0), Some(1), Some(3)] {
        let late = DocumentWrite { id: run("a"), seen, body: Some(body("late")) };
        assert_eq!(fixture.write(late).await, DocumentWritten::Other(Some(stands.clone())), "{seen:?}");
    }
    let absent = DocumentWrite { id: run("b"), seen: Some(1), body: Some(body("late")) };
    assert_eq!(fixture.write(absent).await, DocumentWritten::Other(None));
    assert_eq!(fixture.document(&run("a")).await, Some(stands));
    assert_eq!(fixture.document(&run("b")).await, None);
}

/// Only what the caller has seen is deleted, and its name is free then.
pub async fn a_document_is_deleted_as_it_was_seen(fixture: Fixture) {
    let made = fixture.make_document(run("a"), "first").await;
    assert!(fixture.write(DocumentWrite::replacing(&made, body("second"))).await.is_done());
    let stands = Document { version: 2, body: body("second"), ..made.clone() };
    let late = fixture.write(DocumentWrite::deleting(&made)).await;
    assert_eq!(late, DocumentWritten::Other(Some(stands.clone())));
    assert!(fixture.write(DocumentWrite::deleting(&stands)).await.is_done());
    assert_eq!(fixture.document(&run("a")).await, None);
    assert_eq!(fixture.write(DocumentWrite::deleting(&stands)).await, DocumentWritten::Other(None));
    fixture.make_document(run("a"), "again").await;
}

/// A page holds what its kind, namespace and prefix say, by the bytes of the names.
pub async fn documents_are_read_in_pages_of_one_kind(fixture: Fixture) {
    for name in ["b/2", "a", "b/10", "b/%", "B/1", "c", "b/ä", "b"] {
        fixture.make_document(run(name), name).await;
    }
    fixture.make_document(id(API_KEY, "b/3"), "another kind").await;
    fixture.make_document(DocumentId { namespace: TENANT, ..run("b/4") }, "another namespace").await;
    let all = DocumentQuery::of(RUN, Namespace::DEFAULT);
    let names = ["B/1", "a", "b", "b/%", "b/10", "b/2", "b/ä", "c"];
    assert_eq!(fixture.names(all.clone()).await, names);
    let prefixed = DocumentQuery { prefix: "b/".to_owned(), limit: 2, ..all.clone() };
    let after = |name: &str| DocumentName::new(name).ok();
    for (after, page) in [
        (None, vec!["b/%", "b/10"]),
        (after("a"), vec!["b/%", "b/10"]),
        (after("b/10"), vec!["b/2", "b/ä"]),
        (after("b/ä"), vec![]),
        (after("c"), vec![]),
    ] {
        let query = DocumentQuery { after: after.clone(), ..prefixed.clone() };
        assert_eq!(fixture.names(query).await, page, "{after:?}");
    }
    let of_tenant = DocumentQuery { namespace: TENANT, ..all.clone() };
    assert_eq!(fixture.names(of_tenant).await, ["b/4"]);
    assert_eq!(fixture.names(DocumentQuery { limit: 0, ..all }).await, Vec::<String>::new());
}

/// Names and bodies come back as they were, up to the longest.
pub async fn any_text_is_kept(fixture: Fixture) {
    let name = format!("{}\\'\"_%😀", "n".repeat(245));
    let longest = "\0\\\"'😀".repeat(4_000);
    let made = fixture.make_document(run(&name), &longest).await;
    assert_eq!(fixture.document(&run(&name)).await, Some(made));
}

/// Of many who replace the same version, one is done, and the others are told what it wrote.
pub async fn one_of_many_writers_is_done(fixture: Fixture) {
    let made = fixture.make_document(run("a"), "first").await;
    let ledger = Arc::clone(&fixture.ledger);
    let tasks: Vec<_> = (0..16)
        .map(|number| {
            let write = DocumentWrite::replacing(&made, body(&number.to_string()));
            let ledger = Arc::clone(&ledger);
            tokio::spawn(async move { (write.body.clone(), ledger.write_document(write).await) })
        })
        .collect();
    let mut done = Vec::new();
    let mut others = Vec::new();
    for task in tasks {
        match task.await.expect("a writer") {
            (body, Ok(DocumentWritten::Done)) => done.extend(body),
            (_, Ok(DocumentWritten::Other(stands))) => others.extend(stands),
            (_, Err(error)) => panic!("{error}"),
        }
    }
    let [body] = done.try_into().expect("one writer is done");
    let stands = Document { version: 2, body, ..made };
    assert_eq!(others, vec![stands.clone(); 15]);
    assert_eq!(fixture.document(&run("a")).await, Some(stands));
}
