//! Purge: what is settled for long enough leaves a tombstone, which keeps the key taken.

use std::time::Duration;

use super::build::{
    DAY, HOUR, POLICY, V1, V2, at, cancel, claim, done, generation, id, just_before, rejected, renewal_of,
    replay, start, submission, with_input,
};
use super::{Fixture, STARTED_AT};
use crate::client::Client;
use crate::decide::{Answer, Refusal, Stored};
use crate::ledger::Order;
use crate::model::{Conflict, Fingerprint, State, Submission, Submitted, Tombstone};
use crate::policy::Policy;

fn kept_for(key: &str, retention: Duration) -> Submission {
    Submission { policy: Policy { retention, ..POLICY }, ..submission(key) }
}

/// A record is kept to the last millisecond of its retention, counted from its end and not from its creation.
pub async fn purge_waits_for_the_end_of_the_retention(fixture: Fixture) {
    let _ = fixture.submit(submission("invoice:1")).await;
    fixture.advance(HOUR);
    let leased = fixture.claimed(&id("invoice:1")).await;
    fixture.started(leased).await;
    let settled = fixture.apply(&id("invoice:1"), super::build::settle(1, done("1"))).await;
    assert_eq!(settled, Ok(Answer::Settled(State::Succeeded)));
    fixture.clock.jump_to(just_before(90 * DAY + HOUR));
    assert_eq!(fixture.purge().await, 0);
    fixture.clock.jump_to(at(90 * DAY + HOUR));
    assert_eq!(fixture.purge().await, 1);
    assert_eq!(fixture.purge().await, 0);
    let expected = Tombstone {
        id: id("invoice:1"),
        version: V1,
        fingerprint: Fingerprint::of(br#"{"amount":1200}"#),
        state: State::Succeeded,
        ended_at: at(HOUR),
    };
    assert_eq!(fixture.stored(&id("invoice:1")).await, Some(Stored::Tombstone(expected)));
}

/// Each record is kept for as long as it was submitted for.
pub async fn purge_honours_the_retention_of_each_record(fixture: Fixture) {
    for (key, retention) in [("invoice:1", 3 * DAY), ("invoice:2", DAY), ("invoice:3", 2 * DAY)] {
        fixture.settled(kept_for(key, retention), rejected()).await;
    }
    for (day, gone) in [(1, "invoice:2"), (2, "invoice:3"), (3, "invoice:1")] {
        fixture.clock.jump_to(at(day * DAY));
        assert_eq!(fixture.purge().await, 1, "day {day}");
        let stored = fixture.stored(&id(gone)).await;
        assert!(matches!(stored, Some(Stored::Tombstone(_))), "{gone}");
    }
}

/// What waits, runs or is uncertain stays, however old it is.
pub async fn purge_never_takes_what_is_open_or_uncertain(fixture: Fixture) {
    fixture.uncertain("invoice:1").await;
    fixture.running(submission("invoice:2")).await;
    let _ = fixture.submit(submission("invoice:3")).await;
    fixture.advance(4000 * DAY);
    assert_eq!(fixture.purge().await, 0);
    for (key, state) in
        [("invoice:1", State::Uncertain), ("invoice:2", State::Running), ("invoice:3", State::Pending)]
    {
        assert_eq!(fixture.state(&id(key)).await, state, "{key}");
    }
}

/// Maintenance takes no more than it is asked to, and says how many it took.
pub async fn purge_keeps_its_limit(fixture: Fixture) {
    for number in 1..=5 {
        let key = format!("invoice:{number}");
        let _ = fixture.submit(submission(&key)).await;
        fixture.apply(&id(&key), cancel()).await.expect("cancel");
    }
    fixture.advance(90 * DAY);
    let mut taken = Vec::new();
    for _ in 0..3 {
        taken.push(fixture.ledger.purge(3).await.expect("purge"));
    }
    assert_eq!(taken, [3, 2, 0]);
}

/// A backlog is purged in bounded batches, of which each says how many it took, until nothing is left.
pub async fn purge_takes_a_backlog_in_batches(fixture: Fixture) {
    let keys: Vec<String> = (0..25).map(|number| format!("invoice:{number}")).collect();
    let batch = keys.iter().map(|key| submission(key)).collect();
    fixture.ledger.submit(batch).await.expect("submit");
    let orders = keys.iter().map(|key| Order { id: id(key), command: cancel() }).collect();
    fixture.ledger.apply(orders).await.expect("cancel");
    fixture.advance(90 * DAY);
    let mut so_far = Vec::new();
    let client = Client::new(fixture.ledger.clone());
    let purged = client.purge(10, |count| so_far.push(count)).await.expect("purge");
    assert_eq!((purged, so_far), (25, vec![10, 20, 25]));
    assert_eq!(client.purge(10, |_| panic!("there is nothing left")).await.expect("purge"), 0);
}

/// The key stays taken: a late duplicate is told when and how it ended, another input conflicts.
pub async fn a_tombstone_answers_for_ever(fixture: Fixture) {
    fixture.settled(submission("invoice:1"), done("1")).await;
    fixture.advance(90 * DAY);
    assert_eq!(fixture.purge().await, 1);
    fixture.advance(4000 * DAY);
    let expired = Submitted::Expired { ended_on: STARTED_AT, state: State::Succeeded };
    let newer = Submission { version: V2, ..with_input("invoice:1", r#"{"amount":1300}"#) };
    for (submission, answer) in [
        (submission("invoice:1"), expired.clone()),
        (with_input("invoice:1", r#"{"amount":1300}"#), Submitted::Conflict(Conflict::OtherInput)),
        (newer, expired),
    ] {
        assert_eq!(fixture.submit(submission).await, answer);
    }
    assert_eq!(fixture.purge().await, 0);
    assert_eq!(fixture.claim(claim(10)).await, []);
}

/// A tombstone is no record: it is not listed, takes no orders and has no attempts.
pub async fn a_tombstone_takes_no_orders(fixture: Fixture) {
    fixture.settled(submission("invoice:1"), rejected()).await;
    fixture.advance(90 * DAY);
    assert_eq!(fixture.purge().await, 1);
    for command in [replay(true), cancel(), start(1)] {
        assert_eq!(fixture.apply(&id("invoice:1"), command).await, Err(Refusal::NoRecord));
    }
    let all = crate::ledger::Filter { limit: 10, ..crate::ledger::Filter::default() };
    assert_eq!(fixture.ledger.list(all).await.expect("list").records, []);
    assert_eq!(fixture.attempts(&id("invoice:1")).await, []);
    assert_eq!(fixture.audit(&id("invoice:1")).await, []);
}

/// The rest of a definite end can be followed as the record itself could.
pub async fn a_new_generation_may_follow_a_tombstone(fixture: Fixture) {
    fixture.settled(submission("invoice:1"), rejected()).await;
    fixture.advance(90 * DAY);
    assert_eq!(fixture.purge().await, 1);
    let second = generation("invoice:1", 2);
    let answer = fixture.submit(renewal_of("invoice:1", 1)).await;
    assert_eq!(answer, Submitted::New { id: second.clone() });
    assert_eq!(fixture.audit(&second).await[0].from, State::Failed);
    assert_eq!(fixture.claimed(&second).await.id, second);
}

/// A replayed record is open again, and its retention starts anew at its next end.
pub async fn a_replayed_record_is_not_purged(fixture: Fixture) {
    fixture.settled(submission("invoice:1"), rejected()).await;
    fixture.advance(89 * DAY);
    fixture.apply(&id("invoice:1"), replay(false)).await.expect("replay");
    fixture.advance(2 * DAY);
    assert_eq!(fixture.purge().await, 0);
    fixture.apply(&id("invoice:1"), cancel()).await.expect("cancel");
    fixture.advance(89 * DAY);
    assert_eq!(fixture.purge().await, 0);
    fixture.advance(DAY);
    assert_eq!(fixture.purge().await, 1);
}
