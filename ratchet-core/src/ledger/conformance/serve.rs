//! What a worker asks while it sleeps: unserved records, the next due moment.

use super::Fixture;
use super::build::{
    COLLECT, HOUR, MAIL, MINUTE, POLICY, SECOND, V1, V2, at, cancel, claim, id, resolve, served, settle,
    submission, unknown, unprotected,
};
use crate::decide::{Answer, Command, Refusal, Verdict};
use crate::ledger::{Claim, Served, Unserved};
use crate::model::{Namespace, RecordId, State, Submission};
use crate::policy::Policy;

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

/// Uncertain records whose operation can ask come up when they are due, the longest waiting first, each for one asker.
pub async fn uncertain_records_are_to_be_asked_about_when_they_are_due(fixture: Fixture) {
    let asking = |key, seconds| {
        let policy = Policy { reconciles: true, reconcile_after: seconds * SECOND, ..POLICY };
        Submission { policy, ..unprotected(key) }
    };
    let due = async || {
        let due = fixture.ledger.to_reconcile(Namespace::DEFAULT, served(), 2).await.expect("to_reconcile");
        due.into_iter().map(|record| record.id.key.as_str().to_owned()).collect::<Vec<_>>()
    };
    fixture.uncertain("invoice:nobody-asks").await;
    for (key, seconds) in [("invoice:3", 30), ("invoice:1", 10), ("invoice:2", 20)] {
        assert_eq!(fixture.settled(asking(key, seconds), unknown()).await.state, State::Uncertain);
    }
    let elsewhere = Submission { version: V2, ..asking("invoice:4", 0) };
    let other = elsewhere.id.clone();
    let _ = fixture.submit(elsewhere).await;
    let claimed =
        fixture.claim(Claim { served: vec![Served { operation: COLLECT, version: V2 }], ..claim(1) }).await;
    let claimed = fixture.started(claimed.into_iter().next().expect("a claim")).await;
    fixture.apply(&other, settle(claimed.token.get(), unknown())).await.expect("settle");

    assert_eq!(due().await, Vec::<String>::new());
    fixture.advance(20 * SECOND);
    assert_eq!(due().await, ["invoice:1", "invoice:2"]);
    fixture.advance(20 * SECOND);
    assert_eq!(due().await, ["invoice:1", "invoice:2"], "no more than were asked for");
    let ask = Command::Ask { at_most: MINUTE };
    assert_eq!(fixture.apply(&id("invoice:1"), ask.clone()).await, Ok(Answer::Asking));
    assert_eq!(fixture.apply(&id("invoice:1"), ask).await, Err(Refusal::NotDue(at(100 * SECOND))));
    assert_eq!(due().await, ["invoice:2", "invoice:3"]);
    fixture.apply(&id("invoice:2"), resolve(1, Verdict::Applied { result: None })).await.expect("resolve");
    assert_eq!(due().await, ["invoice:3"]);
}
