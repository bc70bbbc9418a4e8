//! Leases: exclusive until their deadline by the store's clock, and what their end means.

use super::build::{
    DAY, HOUR, MINUTE, SECOND, at, claim, done, id, just_before, settle, start, submission, unprotected,
};
use super::{Fixture, STARTED_AT};
use crate::decide::{Answer, Command, Refusal};
use crate::model::{CauseKind, OutcomeKind, State, Token, Uncertainty};

/// Until the last millisecond nobody else gets the record; from then on its lease is over.
pub async fn a_lease_is_exclusive_until_its_deadline(fixture: Fixture) {
    fixture.leased(submission("invoice:1")).await;
    fixture.clock.jump_to(just_before(MINUTE));
    assert_eq!(fixture.expire().await, 0);
    assert_eq!(fixture.claim(claim(10)).await, []);
    assert_eq!(fixture.apply(&id("invoice:1"), Command::Expire).await, Err(Refusal::NotExpired));
    fixture.clock.jump_to(at(MINUTE));
    assert_eq!(fixture.expire().await, 1);
    assert_eq!(fixture.claimed(&id("invoice:1")).await.token, Token::new(2));
}

/// Nothing was started, so nothing is spent and the record is ready as before.
pub async fn an_unstarted_lease_ends_at_no_cost(fixture: Fixture) {
    let leased = fixture.leased(unprotected("invoice:1")).await;
    fixture.advance(HOUR);
    assert_eq!(fixture.expire().await, 1);
    let free = fixture.record(&id("invoice:1")).await;
    assert_eq!((free.state, free.attempts, free.spent), (State::Pending, 0, 0));
    assert_eq!((free.ready_at, free.token), (leased.ready_at, Token::new(1)));
    assert_eq!((free.lease, free.cause), (None, None));
    assert!(!free.effect.may_be_applied);
    assert_eq!(fixture.attempts(&id("invoice:1")).await[0].end, None);
}

/// The worker may have sent something: the attempt ended unknown, and the record is tried again later.
pub async fn a_started_lease_ends_unknown(fixture: Fixture) {
    fixture.running(submission("invoice:1")).await;
    fixture.clock.jump_to(at(2 * MINUTE));
    assert_eq!(fixture.expire().await, 1);
    let lost = fixture.record(&id("invoice:1")).await;
    assert_eq!((lost.state, lost.attempts, lost.spent), (State::Pending, 1, 1));
    assert_eq!(lost.ready_at, at(2 * MINUTE + 30 * SECOND));
    assert!(lost.effect.may_be_applied);
    assert_eq!(lost.cause.map(|cause| cause.kind()), Some(CauseKind::LeaseLost));
    let attempts = fixture.attempts(&id("invoice:1")).await;
    let end = attempts[0].end.as_ref().expect("the attempt has an end");
    assert_eq!((end.outcome, end.at, end.late), (OutcomeKind::Unknown, at(2 * MINUTE), false));
}

/// The same at a destination that does not deduplicate: nobody may send again without asking.
pub async fn a_started_lease_without_deduplication_parks(fixture: Fixture) {
    fixture.running(unprotected("invoice:1")).await;
    fixture.advance(MINUTE);
    assert_eq!(fixture.expire().await, 1);
    let parked = fixture.record(&id("invoice:1")).await;
    assert_eq!(parked.state, State::Uncertain);
    assert_eq!(parked.uncertainty, Some(Uncertainty::NoDeduplication));
    assert_eq!(fixture.claim(claim(10)).await, []);
}

/// The store's clock was far ahead when the lease was granted and is right again: the lease would last for a day.
pub async fn an_implausible_lease_counts_as_over(fixture: Fixture) {
    fixture.clock.jump_to(at(DAY));
    fixture.leased(submission("invoice:1")).await;
    fixture.clock.jump_to(at(HOUR));
    assert_eq!(fixture.expire().await, 1);
    assert_eq!(fixture.state(&id("invoice:1")).await, State::Pending);
}

/// A lease that ends within a quarter of an hour from now is believed, whatever the clock did.
pub async fn a_small_jump_back_ends_no_lease(fixture: Fixture) {
    fixture.clock.jump_to(at(HOUR));
    fixture.leased(submission("invoice:1")).await;
    fixture.clock.jump_to(at(46 * MINUTE));
    assert_eq!(fixture.expire().await, 0);
    fixture.clock.jump_to(just_before(46 * MINUTE));
    assert_eq!(fixture.expire().await, 1);
}

/// A lease ends by the wall clock of the store: not by monotonic time, and not by any clock of the worker.
pub async fn only_the_wall_clock_of_the_store_counts(fixture: Fixture) {
    fixture.leased(submission("invoice:1")).await;
    fixture.advance(10 * MINUTE);
    fixture.clock.jump_to(at(30 * SECOND));
    assert_eq!(fixture.expire().await, 0, "ten minutes passed, and the clock was set back");
    fixture.clock.jump_to(at(MINUTE));
    assert_eq!(fixture.expire().await, 1, "no monotonic time passed");
    assert_eq!(fixture.attempts(&id("invoice:1")).await[0].leased_at, STARTED_AT);
}

/// An extension counts from now, by at most the longest lease, and tells the new deadline.
pub async fn a_lease_is_extended_from_now(fixture: Fixture) {
    fixture.running(submission("invoice:1")).await;
    fixture.advance(40 * SECOND);
    for (asked, until) in [(MINUTE, at(100 * SECOND)), (DAY, at(15 * MINUTE + 40 * SECOND))] {
        let renew = Command::Renew { token: Token::new(1), duration: asked };
        let renewed = Answer::Renewed { until, cancel_requested: false };
        assert_eq!(fixture.apply(&id("invoice:1"), renew).await, Ok(renewed));
        let lease = fixture.record(&id("invoice:1")).await.lease.expect("a lease");
        assert_eq!((lease.until, lease.started_at), (until, Some(STARTED_AT)));
    }
    fixture.clock.jump_to(at(15 * MINUTE));
    assert_eq!(fixture.expire().await, 0);
}

/// A lease whose handler was not entered can be given back; a started one cannot.
pub async fn a_lease_is_given_back_at_no_cost(fixture: Fixture) {
    fixture.leased(unprotected("invoice:1")).await;
    let release = |token| Command::Release { token: Token::new(token) };
    assert_eq!(fixture.apply(&id("invoice:1"), release(1)).await, Ok(Answer::Released));
    let free = fixture.record(&id("invoice:1")).await;
    assert_eq!((free.state, free.attempts, free.spent, free.lease), (State::Pending, 0, 0, None));
    assert_eq!(fixture.apply(&id("invoice:1"), release(1)).await, Err(Refusal::Superseded));
    let again = fixture.claimed(&id("invoice:1")).await;
    assert_eq!(again.token, Token::new(2));
    fixture.started(again).await;
    assert_eq!(fixture.apply(&id("invoice:1"), release(2)).await, Err(Refusal::AlreadyStarted));
    assert_eq!(fixture.state(&id("invoice:1")).await, State::Running);
}

/// Maintenance takes no more than it is asked to, and says how many it took.
pub async fn expire_keeps_its_limit(fixture: Fixture) {
    for number in 1..=5 {
        let _ = fixture.submit(submission(&format!("invoice:{number}"))).await;
    }
    assert_eq!(fixture.claim(claim(5)).await.len(), 5);
    assert_eq!(fixture.apply(&id("invoice:5"), start(1)).await, Ok(Answer::Started));
    let settled = fixture.apply(&id("invoice:5"), settle(1, done("1"))).await;
    assert_eq!(settled, Ok(Answer::Settled(State::Succeeded)));
    fixture.advance(MINUTE);
    let mut taken = Vec::new();
    for _ in 0..3 {
        taken.push(fixture.ledger.expire(3).await.expect("expire"));
    }
    assert_eq!(taken, [3, 1, 0]);
    assert_eq!(fixture.state(&id("invoice:5")).await, State::Succeeded);
}

/// An order for a record that was never made is refused, and makes none.
pub async fn a_record_that_does_not_exist_is_refused(fixture: Fixture) {
    assert_eq!(fixture.apply(&id("invoice:1"), start(1)).await, Err(Refusal::NoRecord));
    assert_eq!(fixture.stored(&id("invoice:1")).await, None);
    assert_eq!(fixture.attempts(&id("invoice:1")).await, []);
    assert_eq!(fixture.audit(&id("invoice:1")).await, []);
}
