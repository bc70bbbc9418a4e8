//! Groups of records, and the places that stand for records in URLs.

use super::Fixture;
use super::build::{MAIL, POLICY, cancel, done, id, renewal_of, submission};
use crate::ledger::{Cursor, Filter};
use crate::model::{GroupId, Namespace, RecordId, State, Submission, Submitted};

const RUN: GroupId = GroupId::from_static("Run-1");

fn of_run(key: &str) -> Submission {
    Submission { group: Some(RUN), ..submission(key) }
}

async fn keys(fixture: &Fixture, filter: Filter) -> Vec<String> {
    let (mut keys, mut next) = (Vec::new(), filter.clone());
    loop {
        let page = fixture.ledger.list(next).await.expect("list");
        assert_eq!(page.places.len(), page.records.len());
        keys.extend(page.records.iter().map(|record| record.id.key.as_str().to_owned()));
        let Some(after) = page.next else { return keys };
        assert_eq!(page.places.last(), Some(&after));
        next = Filter { after: Some(after), ..filter.clone() };
    }
}

/// A group is a part of its records that lists them, whatever else is asked for.
pub async fn a_group_lists_its_records(fixture: Fixture) {
    let other = Submission { group: Some(GroupId::from_static("run-1")), ..submission("b") };
    let mut mail = of_run("f");
    mail.id.operation = MAIL;
    let mut elsewhere = of_run("g");
    elsewhere.id.namespace = Namespace::from_static("tenant-a");
    let batch = vec![of_run("a"), other, submission("c"), of_run("d"), of_run("e"), mail, elsewhere];
    let answers = fixture.ledger.submit(batch).await.expect("submit");
    assert!(answers.iter().all(|answer| matches!(answer, Submitted::New { .. })), "{answers:?}");
    fixture.apply(&id("d"), cancel()).await.expect("cancel");
    assert_eq!(fixture.record(&id("a")).await.group, Some(RUN));
    assert_eq!(fixture.record(&id("c")).await.group, None);
    let of_group = Filter { group: Some(RUN), limit: 2, ..Filter::default() };
    assert_eq!(keys(&fixture, of_group.clone()).await, ["a", "d", "e", "f"]);
    let cancelled = Filter { state: Some(State::Cancelled), ..of_group.clone() };
    assert_eq!(keys(&fixture, cancelled).await, ["d"]);
    let mails = Filter { operation: Some(MAIL), ..of_group };
    assert_eq!(keys(&fixture, mails).await, ["f"]);
    assert_eq!(keys(&fixture, Filter::default()).await, ["a", "b", "c", "d", "e", "f"]);
}

/// A record is found at its place, which it keeps for ever, and nothing else is.
pub async fn a_place_stands_for_a_record(fixture: Fixture) {
    fixture.settled(submission("a"), done("1")).await;
    let _ = fixture.submit(renewal_of("a", 1)).await;
    let _ = fixture.submit(of_run("b")).await;
    let second = id("a").next_generation();
    let ids = vec![id("b"), id("absent"), id("a"), second.clone(), id("b")];
    let places = fixture.ledger.places(ids.clone()).await.expect("places");
    let [Some(b), None, Some(first), Some(renewed), again] = places[..] else { panic!("{places:?}") };
    assert_eq!(again, Some(b));
    assert!(first < renewed && renewed < b, "in the order of their creation");
    let page = fixture.ledger.list(Filter::default()).await.expect("list");
    assert_eq!(page.places, [first, renewed, b]);
    for (place, id) in [(first, id("a")), (renewed, second), (b, id("b"))] {
        assert_eq!(fixture.ledger.at(place).await.expect("at"), fixture.stored(&id).await);
    }
    for nothing in [0, -1, b.0 + 1, i64::MAX] {
        assert_eq!(fixture.ledger.at(Cursor(nothing)).await.expect("at"), None);
    }
    assert_eq!(fixture.ledger.places(Vec::<RecordId>::new()).await.expect("places"), []);
    fixture.advance(POLICY.retention);
    assert_eq!(fixture.purge().await, 1);
    let tombstone = fixture.stored(&id("a")).await.expect("a tombstone");
    assert_eq!(fixture.ledger.at(first).await.expect("at"), Some(tombstone));
    assert_eq!(fixture.ledger.places(ids).await.expect("places"), places);
}
