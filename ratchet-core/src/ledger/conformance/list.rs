//! Listings: every record once, in the order of creation.

use std::time::Duration;

use super::Fixture;
use super::build::{HOUR, MAIL, POLICY, at, cancel, done, generation, id, renewal_of, submission};
use crate::decide::Stored;
use crate::ledger::{Count, Filter, Page, Served};
use crate::model::{GroupId, Namespace, RecordId, State, Submission};

fn filter(limit: usize) -> Filter {
    Filter { limit, ..Filter::default() }
}

async fn all_pages(fixture: &Fixture, filter: Filter) -> Vec<String> {
    let mut keys = Vec::new();
    let mut next = filter.clone();
    for _ in 0..100 {
        let page = fixture.ledger.list(next).await.expect("list");
        assert!(page.records.len() <= filter.limit.max(1));
        keys.extend(page.records.iter().map(|record| record.id.key.as_str().to_owned()));
        let Some(after) = page.next else {
            return keys;
        };
        assert!(!page.records.is_empty(), "a page with a successor holds something");
        next = Filter { after: Some(after), ..filter.clone() };
    }
    panic!("the listing has no end");
}

/// Page by page, whatever their size, every record comes once and in the order of creation.
pub async fn pages_cover_everything_once(fixture: Fixture) {
    let keys: Vec<String> = (1..=7).map(|number| format!("invoice:{}", 10 - number)).collect();
    for key in &keys {
        let _ = fixture.submit(submission(key)).await;
    }
    for limit in [1, 2, 3, 7, 8, 100] {
        assert_eq!(all_pages(&fixture, filter(limit)).await, keys, "pages of {limit}");
    }
    let page = fixture.ledger.list(filter(0)).await.expect("list");
    assert_eq!(page.records.len(), 1, "a page holds at least one");
}

/// A filter that names no limit lists a hundred, and says where the rest starts.
pub async fn a_page_holds_a_hundred_unless_told_otherwise(fixture: Fixture) {
    let batch = (1..=101).map(|number| submission(&format!("invoice:{number}"))).collect();
    assert_eq!(fixture.ledger.submit(batch).await.expect("submit").len(), 101);
    let page = fixture.ledger.list(Filter::default()).await.expect("list");
    assert_eq!(page.records.len(), 100);
    assert_eq!(page.records[99].id, id("invoice:100"));
    let rest = Filter { after: page.next, ..Filter::default() };
    let rest = fixture.ledger.list(rest).await.expect("list");
    assert_eq!((rest.records.len(), rest.next), (1, None));
    assert_eq!(rest.records[0].id, id("invoice:101"));
}

/// Namespace, operation and state are kept, alone and together, on every page.
pub async fn filters_keep_what_they_name(fixture: Fixture) {
    let tenant = Namespace::from_static("tenant-a");
    for number in 1..=12 {
        let mut one = submission(&format!("invoice:{number}"));
        one.id = RecordId {
            namespace: if number % 2 == 0 { tenant.clone() } else { one.id.namespace },
            operation: if number % 3 == 0 { MAIL } else { one.id.operation },
            ..one.id
        };
        let id = one.id.clone();
        let _ = fixture.submit(one).await;
        if number > 6 {
            fixture.apply(&id, cancel()).await.expect("cancel");
        }
    }
    let by = |namespace: &Namespace, operation, state| Filter {
        namespace: namespace.clone(),
        operation,
        state,
        ..filter(2)
    };
    let default = Namespace::DEFAULT;
    let pending = Some(State::Pending);
    for (filter, numbers) in [
        (by(&default, None, None), vec![1, 3, 5, 7, 9, 11]),
        (by(&tenant, None, None), vec![2, 4, 6, 8, 10, 12]),
        (by(&tenant, Some(MAIL), None), vec![6, 12]),
        (by(&default, None, pending), vec![1, 3, 5]),
        (by(&tenant, Some(MAIL), pending), vec![6]),
        (by(&default, Some(MAIL), Some(State::Cancelled)), vec![9]),
        (by(&default, None, Some(State::Uncertain)), vec![]),
    ] {
        let keys: Vec<String> = numbers.iter().map(|number| format!("invoice:{number}")).collect();
        assert_eq!(all_pages(&fixture, filter.clone()).await, keys, "{filter:?}");
    }
}

/// A record that changes between two pages is neither skipped nor seen twice.
pub async fn records_that_change_keep_their_place(fixture: Fixture) {
    fixture.settled(submission("invoice:1"), done("1")).await;
    for number in 2..=4 {
        let _ = fixture.submit(Submission { ..submission(&format!("invoice:{number}")) }).await;
    }
    let first = fixture.ledger.list(filter(2)).await.expect("list");
    fixture.advance(HOUR);
    fixture.apply(&id("invoice:2"), cancel()).await.expect("cancel");
    fixture.apply(&id("invoice:3"), cancel()).await.expect("cancel");
    let _ = fixture.submit(submission("invoice:5")).await;
    let rest = Filter { after: first.next, ..filter(10) };
    let rest = fixture.ledger.list(rest).await.expect("list");
    let seen: Vec<(&str, State)> = first
        .records
        .iter()
        .chain(&rest.records)
        .map(|record| (record.id.key.as_str(), record.state))
        .collect();
    assert_eq!(
        seen,
        [
            ("invoice:1", State::Succeeded),
            ("invoice:2", State::Pending),
            ("invoice:3", State::Cancelled),
            ("invoice:4", State::Pending),
            ("invoice:5", State::Pending),
        ]
    );
}

/// There is nothing, and nothing after it.
pub async fn an_empty_ledger_has_an_empty_page(fixture: Fixture) {
    assert_eq!(fixture.ledger.list(filter(10)).await.expect("list"), Page::default());
    assert_eq!(fixture.expire().await, 0);
    assert_eq!(fixture.purge().await, 0);
}

/// A key is found whatever the operation and generation, with tombstones, and in no other namespace.
pub async fn a_key_is_found_without_its_operation(fixture: Fixture) {
    fixture.settled(submission("invoice:1"), done("1")).await;
    let _ = fixture.submit(renewal_of("invoice:1", 1)).await;
    let mut mail = submission("invoice:1");
    mail.id.operation = MAIL;
    let _ = fixture.submit(mail.clone()).await;
    let mut elsewhere = mail.clone();
    elsewhere.id.namespace = Namespace::from_static("tenant-a");
    let _ = fixture.submit(elsewhere).await;
    let _ = fixture.submit(submission("invoice:10")).await;
    fixture.advance(POLICY.retention);
    assert_eq!(fixture.purge().await, 1);
    let key = id("invoice:1").key;
    let found = fixture.ledger.under_key(Namespace::DEFAULT, key.clone()).await.expect("look up");
    let expected = [id("invoice:1"), generation("invoice:1", 2), mail.id];
    assert_eq!(found.iter().map(|stored| stored.id().clone()).collect::<Vec<_>>(), expected);
    let tombstones: Vec<bool> = found.iter().map(|stored| matches!(stored, Stored::Tombstone(_))).collect();
    assert_eq!(tombstones, [true, false, false]);
    let nowhere = fixture.ledger.under_key(Namespace::from_static("tenant-b"), key).await.expect("look up");
    assert_eq!(nowhere, []);
}

/// Every operation, version and state is counted, and nothing of another namespace.
pub async fn records_are_counted_by_state(fixture: Fixture) {
    assert_eq!(fixture.ledger.census(Namespace::DEFAULT).await.expect("census"), []);
    let started = fixture.now();
    fixture.settled(submission("invoice:1"), done("1")).await;
    fixture.advance(HOUR);
    let mut mail = submission("invoice:2");
    mail.id.operation = MAIL;
    let mut elsewhere = mail.clone();
    elsewhere.id.namespace = Namespace::from_static("tenant-a");
    for one in [submission("invoice:3"), submission("invoice:4"), mail.clone(), elsewhere] {
        let _ = fixture.submit(one).await;
    }
    let of = |operation| Served { operation, version: submission("invoice:1").version };
    let count = |operation, state, records, oldest| Count { of: of(operation), state, records, oldest };
    let collect = id("invoice:1").operation;
    assert_eq!(
        fixture.ledger.census(Namespace::DEFAULT).await.expect("census"),
        [
            count(collect.clone(), State::Pending, 2, started.after(HOUR)),
            count(collect, State::Succeeded, 1, started),
            count(MAIL, State::Pending, 1, started.after(HOUR)),
        ]
    );
}

/// The latest first, page by page, and only what was submitted before a point; with every other filter.
pub async fn the_latest_come_first_on_request(fixture: Fixture) {
    let group = GroupId::new("batch-1").expect("a name");
    for number in 1..=6 {
        let one = submission(&format!("invoice:{number}"));
        let _ = fixture.submit(Submission { group: (number != 3).then(|| group.clone()), ..one }).await;
        fixture.advance(HOUR);
    }
    fixture.apply(&id("invoice:5"), cancel()).await.expect("cancel");
    let latest = |limit| Filter { newest_first: true, ..filter(limit) };
    for limit in [1, 2, 4, 6, 100] {
        let keys = all_pages(&fixture, latest(limit)).await;
        let expected: Vec<String> = (1..=6).rev().map(|number| format!("invoice:{number}")).collect();
        assert_eq!(keys, expected, "pages of {limit}");
    }
    let older = Some(at(4 * HOUR));
    for (filter, numbers) in [
        (Filter { created_before: older, ..latest(2) }, vec![4, 3, 2, 1]),
        (Filter { created_before: older, ..filter(2) }, vec![1, 2, 3, 4]),
        (Filter { created_before: older, group: Some(group.clone()), ..latest(2) }, vec![4, 2, 1]),
        (Filter { group: Some(group.clone()), state: Some(State::Pending), ..latest(2) }, vec![6, 4, 2, 1]),
        (Filter { state: Some(State::Pending), ..latest(2) }, vec![6, 4, 3, 2, 1]),
        (Filter { state: Some(State::Cancelled), ..latest(2) }, vec![5]),
        (Filter { created_before: Some(at(Duration::ZERO)), ..latest(2) }, vec![]),
    ] {
        let keys: Vec<String> = numbers.iter().map(|number| format!("invoice:{number}")).collect();
        assert_eq!(all_pages(&fixture, filter.clone()).await, keys, "{filter:?}");
    }
}
