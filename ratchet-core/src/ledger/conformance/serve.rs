//! What a worker asks while it sleeps: unserved records, the next due moment.

use super::Fixture;
use super::build::{COLLECT, HOUR, MAIL, MINUTE, V1, V2, at, cancel, claim, id, served, submission};
use crate::ledger::{Served, Unserved};
use crate::model::{Namespace, RecordId, Submission};

/// Due records that nobody can execute are counted per operation and version; others are not.
pub async fn unserved_records_are_counted_when_they_are_due(fixture: Fixture) {
    let newer = |key| Submission { version: V2, ..submission(key) };
    let mail = Submission { id: RecordId { operation: MAIL, ..id("invoice:1") }, ..submission("invoice:1") };
    let later = Submission { not_before: Some(at(HOUR)), ..newer("invoice:4") };
    let elsewhere = Submission {
        id: RecordId { namespace: Namespace::from_static("tenant-a"), ..id("invoice:1") },
        ..newer("invoice:1")
    };
    let stopped = newer("invoice:5");
    let stopped_id = stopped.id.clone();
    let batch = vec![
        submission("invoice:1"),
        newer("invoice:2"),
        newer("invoice:3"),
        mail,
        later,
        elsewhere,
        stopped,
    ];
    assert_eq!(fixture.ledger.submit(batch).await.expect("submit").len(), 7);
    fixture.apply(&stopped_id, cancel()).await.expect("cancel");
    let unserved = |operation, version, records| Unserved { wanted: Served { operation, version }, records };
    let count = async |served| {
        let mut counted = fixture.ledger.unserved(Namespace::DEFAULT, served).await.expect("unserved");
        counted.sort_by(|one, other| one.wanted.cmp(&other.wanted));
        counted
    };
    assert_eq!(count(served()).await, [unserved(COLLECT, V2, 2), unserved(MAIL, V1, 1)]);
    fixture.advance(HOUR);
    assert_eq!(count(served()).await, [unserved(COLLECT, V2, 3), unserved(MAIL, V1, 1)]);
    let everything = vec![unserved(COLLECT, V1, 1), unserved(COLLECT, V2, 3), unserved(MAIL, V1, 1)];
    assert_eq!(count(Vec::new()).await, everything);
}

/// A worker sleeps until the earliest of: a record that becomes ready, a lease that ends.
pub async fn the_next_due_moment_is_the_earliest_of_waits_and_leases(fixture: Fixture) {
    let next = async || fixture.ledger.next_due(Namespace::DEFAULT, served()).await.expect("next_due");
    assert_eq!(next().await, None);
    let ready = |key, span| Submission { not_before: Some(at(span)), ..submission(key) };
    let _ = fixture.submit(ready("invoice:1", 3 * HOUR)).await;
    assert_eq!(next().await, Some(at(3 * HOUR)));
    let _ = fixture.submit(ready("invoice:2", HOUR)).await;
    assert_eq!(next().await, Some(at(HOUR)));
    let unserved = Submission { version: V2, ..submission("invoice:3") };
    let _ = fixture.submit(unserved).await;
    assert_eq!(next().await, Some(at(HOUR)), "nobody here executes version 2");
    fixture.advance(HOUR);
    assert_eq!(fixture.claim(claim(10)).await.len(), 1);
    assert_eq!(next().await, Some(at(HOUR + MINUTE)), "the end of the lease");
    fixture.apply(&id("invoice:1"), cancel()).await.expect("cancel");
    fixture.apply(&id("invoice:2"), cancel()).await.expect("cancel");
    assert_eq!(next().await, None, "settled records are never due");
}
