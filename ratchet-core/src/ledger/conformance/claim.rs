//! Claims: who gets which record, and what a lease is.

use super::build::{
    COLLECT, DAY, HOUR, MAIL, MINUTE, SECOND, V1, V2, WORKER, at, claim, done, id, just_before, offer,
    settle, submission, unknown, unprotected,
};
use super::{Fixture, STARTED_AT};
use crate::decide::Answer;
use crate::ledger::Claim;
use crate::model::{
    Attempt, Lease, Namespace, Priority, Record, RecordId, State, Submission, Token, Uncertainty,
};

fn keys(records: &[Record]) -> Vec<&str> {
    records.iter().map(|record| record.id.key.as_str()).collect()
}

fn urgent(key: &str, priority: i16) -> Submission {
    Submission { priority: Priority(priority), ..submission(key) }
}

/// Higher priorities first; among equals, the one that has been ready for longest.
pub async fn the_most_urgent_and_then_the_longest_waiting_comes_first(fixture: Fixture) {
    // Submitted first, and ready after all the others of its kind.
    let _ = fixture.submit(Submission { not_before: Some(at(4 * SECOND)), ..submission("usual:last") }).await;
    for (key, priority) in
        [("usual:early", 0), ("urgent:early", 5), ("idle:early", -3), ("usual:late", 0), ("urgent:late", 5)]
    {
        let _ = fixture.submit(urgent(key, priority)).await;
        fixture.advance(SECOND);
    }
    let expected = ["urgent:early", "urgent:late", "usual:early", "usual:late", "usual:last", "idle:early"];
    assert_eq!(keys(&fixture.claim(claim(10)).await), expected);
}

/// A record is not handed out a millisecond before it is ready.
pub async fn nothing_is_claimed_before_its_time(fixture: Fixture) {
    let _ = fixture.submit(Submission { not_before: Some(at(HOUR)), ..submission("invoice:1") }).await;
    fixture.clock.jump_to(just_before(HOUR));
    assert_eq!(fixture.claim(claim(10)).await, []);
    fixture.clock.jump_to(at(HOUR));
    assert_eq!(keys(&fixture.claim(claim(10)).await), ["invoice:1"]);
}

/// A claim gets no more than it asks for, and the next one gets the rest.
pub async fn the_limit_is_kept(fixture: Fixture) {
    for number in 1..=5 {
        let _ = fixture.submit(submission(&format!("invoice:{number}"))).await;
        fixture.advance(SECOND);
    }
    assert_eq!(keys(&fixture.claim(claim(2)).await), ["invoice:1", "invoice:2"]);
    assert_eq!(keys(&fixture.claim(claim(0)).await), [""; 0]);
    assert_eq!(keys(&fixture.claim(claim(9)).await), ["invoice:3", "invoice:4", "invoice:5"]);
    assert_eq!(fixture.claim(claim(9)).await, []);
}

/// A lease has a token, a holder and a deadline; nothing counts as started, and one attempt is opened.
pub async fn a_claim_grants_a_lease_and_no_start(fixture: Fixture) {
    let _ = fixture.submit(submission("invoice:1")).await;
    fixture.advance(5 * SECOND);
    let before = fixture.record(&id("invoice:1")).await;
    let expected = Record {
        state: State::Running,
        token: Token::new(1),
        lease: Some(Lease { worker: WORKER, until: at(65 * SECOND), started_at: None }),
        ..before
    };
    assert_eq!(fixture.claim(claim(1)).await, std::slice::from_ref(&expected));
    assert_eq!(fixture.record(&id("invoice:1")).await, expected);
    let opened = Attempt {
        token: Token::new(1),
        worker: WORKER,
        version: V1,
        leased_at: at(5 * SECOND),
        started_at: None,
        end: None,
    };
    assert_eq!(fixture.attempts(&id("invoice:1")).await, [opened]);
}

/// What a worker does not name stays pending and untouched: another operation, another version.
pub async fn only_named_operations_and_versions_are_touched(fixture: Fixture) {
    let newer = Submission { version: V2, ..submission("invoice:2") };
    let mail = Submission { id: RecordId { operation: MAIL, ..id("invoice:1") }, ..submission("invoice:1") };
    let others = [newer.id.clone(), mail.id.clone()];
    for one in [submission("invoice:1"), newer, mail] {
        let _ = fixture.submit(one).await;
    }
    let nothing = Claim { offers: Vec::new(), ..claim(10) };
    assert_eq!(fixture.claim(nothing).await, []);
    assert_eq!(keys(&fixture.claim(claim(10)).await), ["invoice:1"]);
    for id in &others {
        let record = fixture.record(id).await;
        assert_eq!((record.state, record.token), (State::Pending, Token::NONE));
        assert_eq!(fixture.attempts(id).await, []);
    }
    // The pair counts: `receipt.mail` in version 1 and `invoice.collect` in version 2, never crosswise.
    let crosswise = vec![offer(MAIL, V2), offer(COLLECT, V1)];
    let claimed = fixture.claim(Claim { offers: crosswise, ..claim(10) }).await;
    assert_eq!(claimed, []);
    let straight = vec![offer(MAIL, V1), offer(COLLECT, V2)];
    let claimed = fixture.claim(Claim { offers: straight, ..claim(10) }).await;
    assert_eq!(claimed.len(), 2);
}

/// A claim sees one namespace.
pub async fn only_the_named_namespace_is_touched(fixture: Fixture) {
    let tenant = Namespace::from_static("tenant-a");
    let theirs = RecordId { namespace: tenant.clone(), ..id("invoice:1") };
    let _ = fixture.submit(Submission { id: theirs.clone(), ..submission("invoice:1") }).await;
    assert_eq!(fixture.claim(claim(10)).await, []);
    let claimed = fixture.claim(Claim { namespace: tenant, ..claim(10) }).await;
    assert_eq!(claimed.iter().map(|record| &record.id).collect::<Vec<_>>(), [&theirs]);
}

/// Whatever a worker asks for, a lease lasts a quarter of an hour at the most.
pub async fn no_lease_is_longer_than_the_longest(fixture: Fixture) {
    let _ = fixture.submit(submission("invoice:1")).await;
    let leased = fixture.claim(Claim { lease: DAY, ..claim(1) }).await;
    let until = leased[0].lease.as_ref().map(|lease| lease.until);
    assert_eq!(until, Some(at(15 * MINUTE)));
}

/// `start_if_safe` saves a round trip for a destination that deduplicates, and is ignored for any other.
pub async fn start_is_merged_only_where_the_destination_deduplicates(fixture: Fixture) {
    let _ = fixture.submit(submission("safe:1")).await;
    let _ = fixture.submit(unprotected("unsafe:1")).await;
    let ahead = Claim { start_if_safe: true, ..claim(10) };
    assert_eq!(fixture.claim(ahead).await.len(), 2);
    for (key, started_at, attempts) in [("safe:1", Some(STARTED_AT), 1), ("unsafe:1", None, 0)] {
        let record = fixture.record(&id(key)).await;
        assert_eq!(record.lease.and_then(|lease| lease.started_at), started_at, "{key}");
        assert_eq!(record.attempts, attempts, "{key}");
        assert_eq!(fixture.attempts(&id(key)).await[0].started_at, started_at, "{key}");
    }
}

/// A record whose earlier attempt ended unknown is not sent again after the destination may have forgotten it, however
/// late it is claimed. It does not keep others from being claimed.
pub async fn a_record_that_slept_past_its_window_is_parked(fixture: Fixture) {
    fixture.settled(submission("invoice:1"), unknown()).await;
    fixture.advance(3 * DAY);
    let _ = fixture.submit(submission("invoice:2")).await;
    assert_eq!(keys(&fixture.claim(claim(10)).await), ["invoice:2"]);
    let parked = fixture.record(&id("invoice:1")).await;
    assert_eq!(parked.state, State::Uncertain);
    assert_eq!(parked.uncertainty, Some(Uncertainty::WindowOver));
    assert_eq!(parked.settled_at, Some(at(3 * DAY)));
    assert_eq!((parked.token, parked.attempts), (Token::new(1), 1));
}

/// Records that have to be parked do not use a claim up: what is sound behind them is found by the same claim.
pub async fn parked_records_stand_in_nobody_s_way(fixture: Fixture) {
    for key in ["invoice:1", "invoice:2", "invoice:3"] {
        fixture.settled(submission(key), unknown()).await;
    }
    fixture.advance(3 * DAY);
    let _ = fixture.submit(submission("invoice:4")).await;
    let _ = fixture.submit(submission("invoice:5")).await;
    assert_eq!(keys(&fixture.claim(claim(1)).await), ["invoice:4"]);
    assert_eq!(fixture.record(&id("invoice:1")).await.state, State::Uncertain);
    assert_eq!(fixture.record(&id("invoice:5")).await.state, State::Pending);
}

/// The second lease of a record has the second token, and everything else as the first attempt left it.
pub async fn a_retry_is_claimed_again_with_a_higher_token(fixture: Fixture) {
    fixture.settled(submission("invoice:1"), unknown()).await;
    assert_eq!(fixture.claim(claim(10)).await, []);
    fixture.advance(30 * SECOND);
    let again = fixture.claimed(&id("invoice:1")).await;
    assert_eq!((again.token, again.attempts, again.spent), (Token::new(2), 1, 1));
    assert!(again.may_be_applied());
    fixture.started(again).await;
    let settled = fixture.apply(&id("invoice:1"), settle(2, done("1"))).await;
    assert_eq!(settled, Ok(Answer::Settled(State::Succeeded)));
}
