//! Whoever sleeps on the ledger wakes when something may be due.

use super::Fixture;
use super::build::{
    MINUTE, SECOND, claim, done, id, not_applied, rejected, replay, resolve, settle, submission, with_input,
};
use crate::decide::{Answer, Command, Verdict};
use crate::model::{State, Submitted, Token};

/// Sleeps on the ledger, and is woken by what happens then.
async fn wakes<T>(fixture: &Fixture, happens: impl Future<Output = T>) -> T {
    let mut wakeups = fixture.ledger.wakeups();
    wakeups.borrow_and_update();
    let answer = happens.await;
    tokio::time::timeout(10 * SECOND, wakeups.changed()).await.expect("a wake-up").expect("the ledger lives");
    answer
}

/// A new record.
pub async fn a_submission_wakes_a_sleeping_worker(fixture: Fixture) {
    let answer = wakes(&fixture, fixture.submit(submission("invoice:1"))).await;
    assert_eq!(answer, Submitted::New { id: id("invoice:1") });
}

/// One new record among those that make none.
pub async fn one_new_record_in_a_batch_wakes_a_sleeping_worker(fixture: Fixture) {
    let _ = fixture.submit(submission("invoice:1")).await;
    let batch = vec![submission("invoice:1"), submission("invoice:2"), with_input("invoice:1", "5")];
    let answers = wakes(&fixture, fixture.ledger.submit(batch)).await.expect("submit");
    assert_eq!(answers[1], Submitted::New { id: id("invoice:2") });
}

/// A record that is made ready again.
pub async fn a_replay_wakes_a_sleeping_worker(fixture: Fixture) {
    fixture.settled(submission("invoice:1"), rejected()).await;
    let answer = wakes(&fixture, fixture.apply(&id("invoice:1"), replay(false))).await;
    assert_eq!(answer, Ok(Answer::Now(State::Pending)));
}

/// A verdict that allows another attempt.
pub async fn a_verdict_for_another_attempt_wakes_a_sleeping_worker(fixture: Fixture) {
    fixture.uncertain("invoice:1").await;
    let verdict = resolve(1, Verdict::NotAppliedOldCallsRefused);
    let answer = wakes(&fixture, fixture.apply(&id("invoice:1"), verdict)).await;
    assert_eq!(answer, Ok(Answer::Now(State::Pending)));
}

/// A lease that is given back.
pub async fn a_lease_that_is_given_back_wakes_a_sleeping_worker(fixture: Fixture) {
    fixture.leased(submission("invoice:1")).await;
    let release = Command::Release { token: Token::new(1) };
    let answer = wakes(&fixture, fixture.apply(&id("invoice:1"), release)).await;
    assert_eq!(answer, Ok(Answer::Released));
}

/// A lease that ended and leaves its record to the next.
pub async fn a_lease_that_ends_wakes_a_sleeping_worker(fixture: Fixture) {
    fixture.leased(submission("invoice:1")).await;
    fixture.advance(MINUTE);
    assert_eq!(wakes(&fixture, fixture.expire()).await, 1);
    assert_eq!(fixture.claim(claim(10)).await.len(), 1);
}

/// A retry, which may be due before whatever the worker sleeps for.
pub async fn a_retry_wakes_a_sleeping_worker(fixture: Fixture) {
    fixture.running(submission("invoice:1")).await;
    let answer = wakes(&fixture, fixture.apply(&id("invoice:1"), settle(1, not_applied(None)))).await;
    assert_eq!(answer, Ok(Answer::Settled(State::Pending)));
    fixture.advance(MINUTE);
    let again = fixture.claimed(&id("invoice:1")).await;
    fixture.started(again).await;
    let ended = fixture.apply(&id("invoice:1"), settle(2, done("1"))).await;
    assert_eq!(ended, Ok(Answer::Settled(State::Succeeded)));
}
