//! Late and stale reports: stale means a superseded token, not a passed deadline.

use super::Fixture;
use super::build::{
    CHARGE, HOUR, MINUTE, SECOND, at, begin, done, finish, id, json, not_applied, pin, rejected, settle,
    start, submission, unknown, unprotected,
};
use crate::contract::Contract;
use crate::decide::{Answer, Command, Refusal};
use crate::model::{OutcomeKind, Record, State, Token};

/// The first worker's lease ended after its start, and a second worker holds the record now.
async fn taken_over(fixture: &Fixture) -> Record {
    fixture.running(submission("invoice:1")).await;
    fixture.advance(MINUTE);
    assert_eq!(fixture.expire().await, 1);
    fixture.advance(30 * SECOND);
    let again = fixture.claimed(&id("invoice:1")).await;
    assert_eq!(again.token, Token::new(2));
    fixture.started(again).await
}

/// The deadline has passed and nobody took the record over, so the lease is extended.
pub async fn a_late_renewal_is_accepted(fixture: Fixture) {
    fixture.running(submission("invoice:1")).await;
    fixture.advance(HOUR);
    let renew = Command::Renew { token: Token::new(1), duration: MINUTE };
    let renewed = Answer::Renewed { until: at(HOUR + MINUTE), cancel_requested: false };
    assert_eq!(fixture.apply(&id("invoice:1"), renew).await, Ok(renewed));
    assert_eq!(fixture.expire().await, 0);
}

/// The same for an outcome.
pub async fn a_late_outcome_is_accepted(fixture: Fixture) {
    fixture.running(unprotected("invoice:1")).await;
    fixture.advance(HOUR);
    let settled = fixture.apply(&id("invoice:1"), settle(1, rejected())).await;
    assert_eq!(settled, Ok(Answer::Settled(State::Failed)));
    let end = fixture.attempts(&id("invoice:1")).await.remove(0).end.expect("an end");
    assert_eq!((end.outcome, end.late, end.at), (OutcomeKind::Rejected, false, at(HOUR)));
}

/// Whoever was superseded can do nothing to the record, nor can a token that was never handed out.
pub async fn a_superseded_token_is_refused(fixture: Fixture) {
    let before = taken_over(&fixture).await;
    let renew = |token| Command::Renew { token: Token::new(token), duration: MINUTE };
    let release = |token| Command::Release { token: Token::new(token) };
    for token in [0, 1, 3] {
        for command in [
            start(token),
            renew(token),
            release(token),
            pin(token, None, "body"),
            begin(token, CHARGE, Contract::NONE),
            finish(token, CHARGE, done("1")),
        ] {
            let answer = fixture.apply(&id("invoice:1"), command.clone()).await;
            assert_eq!(answer, Err(Refusal::Superseded), "{command:?}");
        }
    }
    for token in [0, 3] {
        let answer = fixture.apply(&id("invoice:1"), settle(token, done("1"))).await;
        assert_eq!(answer, Err(Refusal::Superseded), "token {token}");
    }
    assert_eq!(fixture.record(&id("invoice:1")).await, before);
}

/// A stale outcome stands on its own attempt and changes nothing that a newer lease owns.
pub async fn a_stale_outcome_is_only_noted(fixture: Fixture) {
    let before = taken_over(&fixture).await;
    let answer = fixture.apply(&id("invoice:1"), settle(1, rejected())).await;
    assert_eq!(answer, Ok(Answer::Late(State::Running)));
    assert_eq!(fixture.record(&id("invoice:1")).await, before);
    let attempts = fixture.attempts(&id("invoice:1")).await;
    let end = attempts[0].end.as_ref().expect("an end");
    assert_eq!((end.outcome, end.late, end.at), (OutcomeKind::Rejected, true, at(90 * SECOND)));
    assert_eq!(attempts[1].end, None);
    let settled = fixture.apply(&id("invoice:1"), settle(2, done("2"))).await;
    assert_eq!(settled, Ok(Answer::Settled(State::Succeeded)));
    assert_eq!(fixture.record(&id("invoice:1")).await.result, Some(json("2")));
}

/// That the effect happened is true for ever: a newer attempt that ends without knowing does not make it unknown.
pub async fn a_stale_success_is_kept_until_the_newer_attempt_ends(fixture: Fixture) {
    taken_over(&fixture).await;
    let answer = fixture.apply(&id("invoice:1"), settle(1, done("1"))).await;
    assert_eq!(answer, Ok(Answer::Late(State::Running)));
    let running = fixture.record(&id("invoice:1")).await;
    assert_eq!((running.state, running.token.get()), (State::Running, 2));
    assert_eq!(fixture.attempts(&id("invoice:1")).await[1].end, None);
    fixture.advance(MINUTE);
    assert_eq!(fixture.expire().await, 1);
    let settled = fixture.record(&id("invoice:1")).await;
    assert_eq!((settled.state, settled.result, settled.cause), (State::Succeeded, Some(json("1")), None));
    assert!(fixture.purge().await == 0 && fixture.claim(super::build::claim(10)).await.is_empty());
}

/// Where nothing was started, nothing has to be: the lease ends with the record.
pub async fn a_stale_success_ends_a_lease_without_a_start(fixture: Fixture) {
    fixture.running(unprotected("invoice:1")).await;
    fixture.advance(MINUTE);
    assert_eq!(fixture.expire().await, 1);
    let replayed = fixture.apply(&id("invoice:1"), super::build::replay(true)).await;
    assert_eq!(replayed, Ok(Answer::Now(State::Pending)));
    let again = fixture.claimed(&id("invoice:1")).await;
    let answer = fixture.apply(&id("invoice:1"), settle(1, done("1"))).await;
    assert_eq!(answer, Ok(Answer::Settled(State::Succeeded)));
    assert_eq!(fixture.apply(&id("invoice:1"), start(again.token.get())).await, Err(Refusal::Superseded));
    assert_eq!(fixture.record(&id("invoice:1")).await.result, Some(json("1")));
}

/// The answer to a report was lost, so it comes again: it is answered alike, and the first report stands.
pub async fn settling_twice_with_one_token_is_fine(fixture: Fixture) {
    let first = fixture.settled(submission("invoice:1"), done("1")).await;
    let attempts = fixture.attempts(&id("invoice:1")).await;
    fixture.advance(SECOND);
    for outcome in [done("1"), done("2"), unknown()] {
        let again = fixture.apply(&id("invoice:1"), settle(1, outcome)).await;
        assert_eq!(again, Ok(Answer::Settled(State::Succeeded)));
        assert_eq!(fixture.record(&id("invoice:1")).await, first);
        assert_eq!(fixture.attempts(&id("invoice:1")).await, attempts);
    }
}

/// The record is uncertain because the first worker fell silent. It wakes up and knows better.
pub async fn a_stale_success_settles_an_uncertain_record(fixture: Fixture) {
    fixture.running(unprotected("invoice:1")).await;
    fixture.advance(MINUTE);
    assert_eq!(fixture.expire().await, 1);
    assert_eq!(fixture.state(&id("invoice:1")).await, State::Uncertain);
    fixture.advance(HOUR);
    let answer = fixture.apply(&id("invoice:1"), settle(1, done("7"))).await;
    assert_eq!(answer, Ok(Answer::Settled(State::Succeeded)));
    let settled = fixture.record(&id("invoice:1")).await;
    assert_eq!((settled.state, settled.uncertainty), (State::Succeeded, None));
    assert_eq!((settled.result, settled.settled_at), (Some(json("7")), Some(at(HOUR + MINUTE))));
    let end = fixture.attempts(&id("invoice:1")).await.remove(0).end.expect("an end");
    assert_eq!((end.outcome, end.late), (OutcomeKind::Done, true));
}

/// The same while the record waits for its next attempt, which is then not made.
pub async fn a_stale_success_settles_a_waiting_record(fixture: Fixture) {
    fixture.running(submission("invoice:1")).await;
    fixture.advance(MINUTE);
    assert_eq!(fixture.expire().await, 1);
    assert_eq!(fixture.state(&id("invoice:1")).await, State::Pending);
    let answer = fixture.apply(&id("invoice:1"), settle(1, done("7"))).await;
    assert_eq!(answer, Ok(Answer::Settled(State::Succeeded)));
    fixture.advance(HOUR);
    assert_eq!(fixture.claim(super::build::claim(10)).await, []);
}

/// "It did not happen" from a worker that was given up proves nothing about the others.
pub async fn a_stale_failure_changes_no_uncertain_record(fixture: Fixture) {
    let before = fixture.uncertain("invoice:1").await;
    for outcome in [rejected(), not_applied(None), unknown()] {
        let answer = fixture.apply(&id("invoice:1"), settle(1, outcome)).await;
        assert_eq!(answer, Ok(Answer::Settled(State::Uncertain)));
        assert_eq!(fixture.record(&id("invoice:1")).await, before);
    }
}

/// On the attempt itself a certain end replaces an unknown one, and is replaced by none.
pub async fn a_certain_end_replaces_an_unknown_one_on_its_attempt(fixture: Fixture) {
    fixture.uncertain("invoice:1").await;
    for (outcome, kept) in [
        (unknown(), OutcomeKind::Unknown),
        (rejected(), OutcomeKind::Rejected),
        (unknown(), OutcomeKind::Rejected),
        (not_applied(None), OutcomeKind::Rejected),
    ] {
        fixture.apply(&id("invoice:1"), settle(1, outcome)).await.expect("settle");
        let end = fixture.attempts(&id("invoice:1")).await.remove(0).end.expect("an end");
        assert_eq!(end.outcome, kept);
    }
}
