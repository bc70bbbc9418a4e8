//! What a worker asks while it sleeps: unserved records, the next due moment.

use std::time::Duration;

use super::build::{
    BULK, COLLECT, DAY, HOUR, MAIL, MINUTE, POLICY, SECOND, V1, V2, at, cancel, claim, id, offer, offers,
    resolve, settle, submission, unknown, unprotected,
};
use super::{Fixture, STARTED_AT};
use crate::decide::{Answer, Command, Refusal, Verdict};
use crate::ledger::{Claim, Offer, Served, Unserved};
use crate::model::{Namespace, Queue, RecordId, State, Submission, Token};
use crate::policy::Policy;

/// Due records that nobody can execute are counted per operation, version and queue; others are not.
pub async fn unserved_records_are_counted_when_they_are_due(fixture: Fixture) {
    let newer = |key| Submission { version: V2, ..submission(key) };
    let mail = Submission { id: RecordId { operation: MAIL, ..id("invoice:1") }, ..submission("invoice:1") };
    let later = Submission { not_before: Some(at(HOUR)), ..newer("invoice:4") };
    let elsewhere = Submission {
        id: RecordId { namespace: Namespace::from_static("tenant-a"), ..id("invoice:1") },
        ..newer("invoice:1")
    };
    let stopped = newer("invoice:5");
    let bulk = Submission { queue: BULK, ..submission("invoice:6") };
    let stopped_id = stopped.id.clone();
    let batch = vec![
        submission("invoice:1"),
        newer("invoice:2"),
        newer("invoice:3"),
        mail,
        later,
        elsewhere,
        stopped,
        bulk,
    ];
    assert_eq!(fixture.ledger.submit(batch).await.expect("submit").len(), 8);
    fixture.apply(&stopped_id, cancel()).await.expect("cancel");
    let unserved = |operation, version, queue, records| Unserved {
        wanted: Served { operation, version },
        queue,
        records,
        since: STARTED_AT,
    };
    let count = async |offers| fixture.ledger.unserved(Namespace::DEFAULT, offers).await.expect("unserved");
    let in_bulk = unserved(COLLECT, V1, BULK, 1);
    let of_v2 = |records| unserved(COLLECT, V2, Queue::DEFAULT, records);
    let of_mail = unserved(MAIL, V1, Queue::DEFAULT, 1);
    assert_eq!(count(offers()).await, [in_bulk.clone(), of_v2(2), of_mail.clone()]);
    fixture.advance(HOUR);
    assert_eq!(count(offers()).await, [in_bulk.clone(), of_v2(3), of_mail.clone()]);
    let both_queues = vec![offer(COLLECT, V1), Offer { queue: BULK, ..offer(COLLECT, V1) }, offer(MAIL, V1)];
    assert_eq!(count(both_queues).await, [of_v2(3)]);
    let everything = [in_bulk, unserved(COLLECT, V1, Queue::DEFAULT, 1), of_v2(3), of_mail];
    assert_eq!(count(Vec::new()).await, everything);
}

/// After a deploy that serves only the new version and another queue, what only the old workers could execute is reported,
/// untouched, until somebody serves it again.
pub async fn what_a_deploy_left_behind_is_reported_until_it_is_served(fixture: Fixture) {
    let left = Submission { queue: BULK, ..submission("invoice:1") };
    let left_id = left.id.clone();
    let _ = fixture.submit(left).await;
    let _ = fixture.submit(Submission { version: V2, ..submission("invoice:2") }).await;
    let (before, after) = (Offer { queue: BULK, ..offer(COLLECT, V1) }, offer(COLLECT, V2));
    let report = async |offer: &Offer| {
        fixture.ledger.unserved(Namespace::DEFAULT, vec![offer.clone()]).await.expect("unserved")
    };
    assert_eq!(fixture.claim(Claim { offers: vec![after.clone()], ..claim(10) }).await.len(), 1);
    let wanted = Served { operation: COLLECT, version: V1 };
    assert_eq!(report(&after).await, [Unserved { wanted, queue: BULK, records: 1, since: STARTED_AT }]);
    assert_eq!(fixture.record(&left_id).await.token, Token::NONE);
    let claimed = fixture.claim(Claim { offers: vec![before], ..claim(10) }).await;
    assert_eq!(claimed.iter().map(|record| &record.id).collect::<Vec<_>>(), [&left_id]);
    assert_eq!(report(&after).await, [], "nothing waits any more");
}

/// A worker sleeps until the earliest of: a record that becomes ready, a lease that ends.
pub async fn the_next_due_moment_is_the_earliest_of_waits_and_leases(fixture: Fixture) {
    let next = async || fixture.ledger.next_due(Namespace::DEFAULT, offers()).await.expect("next_due");
    assert_eq!(next().await, None);
    let ready = |key, span| Submission { not_before: Some(at(span)), ..submission(key) };
    let _ = fixture.submit(ready("invoice:1", 3 * HOUR)).await;
    assert_eq!(next().await, Some(3 * HOUR));
    let _ = fixture.submit(ready("invoice:2", HOUR)).await;
    assert_eq!(next().await, Some(HOUR));
    let unserved = Submission { version: V2, ..submission("invoice:3") };
    let elsewhere = Submission { queue: BULK, ..submission("invoice:4") };
    let _ = fixture.ledger.submit(vec![unserved, elsewhere]).await.expect("submit");
    assert_eq!(next().await, Some(HOUR), "nobody here executes version 2, or serves the other queue");
    fixture.advance(HOUR);
    assert_eq!(fixture.claim(claim(10)).await.len(), 1);
    assert_eq!(next().await, Some(MINUTE), "the end of the lease");
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
        let served = Served { operation: COLLECT, version: V1 };
        let due =
            fixture.ledger.to_reconcile(Namespace::DEFAULT, vec![served], 2).await.expect("to_reconcile");
        due.into_iter().map(|record| record.id.key.as_str().to_owned()).collect::<Vec<_>>()
    };
    fixture.uncertain("invoice:nobody-asks").await;
    for (key, seconds) in [("invoice:3", 30), ("invoice:1", 10), ("invoice:2", 20)] {
        assert_eq!(fixture.settled(asking(key, seconds), unknown()).await.state, State::Uncertain);
    }
    let elsewhere = Submission { version: V2, ..asking("invoice:4", 0) };
    let other = elsewhere.id.clone();
    let _ = fixture.submit(elsewhere).await;
    let claimed = fixture.claim(Claim { offers: vec![offer(COLLECT, V2)], ..claim(1) }).await;
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

/// The wait is counted by the ledger's clock, down to nothing and not below.
pub async fn the_wait_for_the_next_due_moment_shrinks_to_nothing(fixture: Fixture) {
    let next = async || fixture.ledger.next_due(Namespace::DEFAULT, offers()).await.expect("next_due");
    let _ =
        fixture.submit(Submission { not_before: Some(at(HOUR + SECOND)), ..submission("invoice:1") }).await;
    fixture.advance(HOUR);
    assert_eq!(next().await, Some(SECOND));
    fixture.advance(SECOND);
    assert_eq!(next().await, Some(Duration::ZERO), "due now");
    fixture.advance(DAY);
    assert_eq!(next().await, Some(Duration::ZERO), "due for long");
}
