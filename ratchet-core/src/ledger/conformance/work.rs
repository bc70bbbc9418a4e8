//! What happens inside a lease: start, pins, steps and outcomes.

use super::build::{
    CHARGE, HOUR, NOTIFY, POLICY, SECOND, at, begin, begin_asking, claim, done, finish, id, json,
    not_applied, pin, rejected, request, settle, start, submission, unknown, unprotected,
};
use super::{Fixture, STARTED_AT};
use crate::contract::Contract;
use crate::decide::{Answer, Command, Difference, Refusal};
use crate::model::{
    CauseKind, OutcomeKind, Pin, Recipe, Scope, State, StepName, StepState, Submission, Token, Uncertainty,
};
use crate::policy::{OnUnknown, Policy};

/// The mark is on the record and on the attempt, and marking it again changes nothing.
pub async fn a_start_is_durable_and_counted_once(fixture: Fixture) {
    fixture.leased(submission("invoice:1")).await;
    fixture.advance(SECOND);
    for _ in 0..2 {
        assert_eq!(fixture.apply(&id("invoice:1"), start(1)).await, Ok(Answer::Started));
        let record = fixture.record(&id("invoice:1")).await;
        assert_eq!(record.lease.and_then(|lease| lease.started_at), Some(at(SECOND)));
        assert_eq!(record.effect.first_started_at, Some(at(SECOND)));
        assert_eq!((record.attempts, record.spent), (1, 0));
        assert_eq!(fixture.attempts(&id("invoice:1")).await[0].started_at, Some(at(SECOND)));
        fixture.advance(SECOND);
    }
}

/// A lease is not a start: there is nothing to report, to pin or to begin yet.
pub async fn an_outcome_needs_a_start(fixture: Fixture) {
    let leased = fixture.leased(submission("invoice:1")).await;
    for command in [
        settle(1, done("1")),
        pin(1, None, "body"),
        begin(1, CHARGE, Contract::NONE),
        finish(1, CHARGE, done("1")),
    ] {
        let answer = fixture.apply(&id("invoice:1"), command).await;
        assert_eq!(answer, Err(Refusal::NotStarted));
    }
    assert_eq!(fixture.record(&id("invoice:1")).await, leased);
}

/// The form of the identity is written down before the first send, and is the same for every later one.
pub async fn a_pin_is_kept_for_every_later_attempt(fixture: Fixture) {
    fixture.running(submission("invoice:1")).await;
    fixture.advance(SECOND);
    let expected = Pin {
        wire_key: "invoice:inv_1:v1".to_owned(),
        recipe: Recipe::VERBATIM,
        secret: None,
        place: "header idempotency-key".to_owned(),
        scope: Scope::of("api.example.com/account-7"),
        request: request("body").request,
        kept: None,
        by: Token::new(1),
        first_at: at(SECOND),
    };
    let answer = fixture.apply(&id("invoice:1"), pin(1, None, "body")).await;
    assert_eq!(answer, Ok(Answer::Pinned(Box::new(expected.clone()))));
    assert_eq!(fixture.record(&id("invoice:1")).await.effect.pin.as_deref(), Some(&expected));
    let settled = fixture.apply(&id("invoice:1"), settle(1, unknown())).await;
    assert_eq!(settled, Ok(Answer::Settled(State::Pending)));
    fixture.advance(HOUR);
    let again = fixture.claimed(&id("invoice:1")).await;
    fixture.started(again).await;
    let Ok(Answer::Pinned(kept)) = fixture.apply(&id("invoice:1"), pin(2, None, "body")).await else {
        panic!("the same request is pinned again");
    };
    assert_eq!(
        (kept.wire_key, kept.recipe, kept.scope),
        (expected.wire_key, Recipe::VERBATIM, expected.scope)
    );
    assert_eq!((kept.request, kept.first_at), (expected.request, at(SECOND)));
}

/// A request that would differ is stopped before the network, and the record ends uncertain when that is reported.
pub async fn a_changed_request_is_refused_and_changes_nothing(fixture: Fixture) {
    fixture.running(submission("invoice:1")).await;
    let pinned = fixture.apply(&id("invoice:1"), pin(1, None, "body")).await;
    assert!(matches!(pinned, Ok(Answer::Pinned(_))));
    let before = fixture.record(&id("invoice:1")).await;
    let answer = fixture.apply(&id("invoice:1"), pin(1, None, "other")).await;
    assert_eq!(answer, Err(Refusal::RequestChanged(Difference::Body { fields: Vec::new() })));
    assert_eq!(fixture.record(&id("invoice:1")).await, before);
    let cause = crate::model::Cause::new(CauseKind::RequestChanged, "the body differs");
    let settled = fixture.apply(&id("invoice:1"), settle(1, crate::model::Outcome::unknown(cause))).await;
    assert_eq!(settled, Ok(Answer::Settled(State::Uncertain)));
    let parked = fixture.record(&id("invoice:1")).await;
    assert_eq!(parked.uncertainty, Some(Uncertainty::RequestChanged));
    assert_eq!(parked.effect.pin, before.effect.pin);
}

/// Whether a step's destination can be asked is kept with it, and so is what the answer changes.
pub async fn a_step_that_can_be_asked_about_is_kept(fixture: Fixture) {
    let in_steps = Submission { contract: Contract::STEPS.terms(), ..submission("invoice:1") };
    let invoice = id("invoice:1");
    fixture.running(in_steps).await;
    for command in [begin_asking(1, CHARGE, Contract::NONE), pin(1, Some(CHARGE), "body")] {
        fixture.apply(&invoice, command).await.expect("accepted");
    }
    let lost = fixture.apply(&invoice, settle(1, unknown())).await;
    assert_eq!(lost, Ok(Answer::Settled(State::Pending)));
    let unconfirmed = fixture.record(&invoice).await.steps[&CHARGE].clone();
    assert!(unconfirmed.reconciles && unconfirmed.effect.pin.is_some());

    fixture.advance(HOUR);
    let again = fixture.claimed(&invoice).await;
    fixture.started(again).await;
    let ask = Answer::AskAboutStep(Box::new(unconfirmed.effect));
    assert_eq!(fixture.apply(&invoice, begin_asking(2, CHARGE, Contract::NONE)).await, Ok(ask));
    let restart = Command::RestartStep { token: Token::new(2), step: CHARGE };
    assert_eq!(fixture.apply(&invoice, restart).await, Ok(Answer::StepBegun));
    let restarted = fixture.record(&invoice).await.steps[&CHARGE].clone();
    assert_eq!(restarted.effect.first_started_at, Some(at(HOUR)));
    assert!(restarted.reconciles && restarted.effect.pin.is_none() && !restarted.effect.may_be_applied);
    // The next version of the handler cannot ask.
    assert_eq!(fixture.apply(&invoice, begin(2, CHARGE, Contract::NONE)).await, Ok(Answer::StepBegun));
    assert!(!fixture.record(&invoice).await.steps[&CHARGE].reconciles);
}

/// The record keeps to what is declared from then on, and the rest of it stays as it was.
pub async fn a_declaration_that_came_later_is_adopted(fixture: Fixture) {
    let duplicated = Policy { on_unknown: OnUnknown::MayDuplicate, ..POLICY };
    let undeclared = || Submission { policy: duplicated.clone(), ..unprotected("invoice:1") };
    let contract = Contract::header("Idempotency-Key").terms();
    let adopt = |token| Command::Adopt {
        token: Token::new(token),
        contract: contract.clone(),
        policy: Box::new(Policy { reconciles: true, ..Policy::DEFAULT }),
    };
    let leased = fixture.leased(undeclared()).await;
    assert_eq!(fixture.apply(&id("invoice:1"), adopt(1)).await, Ok(Answer::Adopted));
    let adopted = fixture.record(&id("invoice:1")).await;
    let mut expected = leased;
    expected.policy = Policy { on_unknown: OnUnknown::Park, reconciles: true, ..POLICY };
    expected.effect.contract = contract.clone();
    assert_eq!(adopted, expected);
    fixture.started(adopted).await;
    fixture.apply(&id("invoice:1"), settle(1, unknown())).await.expect("settle");
    fixture.advance(HOUR);
    let again = fixture.claimed(&id("invoice:1")).await;
    assert_eq!((again.policy, again.effect.contract), (expected.policy, contract.clone()));

    // One that may have had its effect is not repeated without asking.
    let other = Submission { id: id("invoice:2"), ..undeclared() };
    fixture.settled(other, unknown()).await;
    fixture.advance(HOUR);
    fixture.claimed(&id("invoice:2")).await;
    let parked = fixture.apply(&id("invoice:2"), adopt(2)).await;
    assert_eq!(parked, Ok(Answer::Parked(Uncertainty::NoDeduplication)));
    let parked = fixture.record(&id("invoice:2")).await;
    assert_eq!((parked.state, parked.reconcile_at), (State::Uncertain, Some(fixture.now())));
}

/// Each step has a state, a pin and a result of its own; a finished one is not entered again.
pub async fn steps_are_kept_one_by_one(fixture: Fixture) {
    let in_steps = Submission { contract: Contract::STEPS.terms(), ..submission("invoice:1") };
    let invoice = id("invoice:1");
    fixture.running(in_steps).await;
    let header = Contract::header("Idempotency-Key");
    for (command, answer) in [
        (begin(1, CHARGE, header), Answer::StepBegun),
        (finish(1, CHARGE, done(r#"{"charge":"ch_1"}"#)), Answer::StepFinished),
        (begin(1, NOTIFY, header), Answer::StepBegun),
    ] {
        fixture.advance(SECOND);
        assert_eq!(fixture.apply(&invoice, command).await, Ok(answer));
    }
    let missing = finish(1, StepName::from_static("refund"), done("1"));
    assert_eq!(fixture.apply(&invoice, missing).await, Err(Refusal::NoStep));
    let Ok(Answer::Pinned(notify_pin)) = fixture.apply(&invoice, pin(1, Some(NOTIFY), "mail")).await else {
        panic!("the pin of a step");
    };
    let lost = fixture.apply(&invoice, settle(1, unknown())).await;
    assert_eq!(lost, Ok(Answer::Settled(State::Pending)));

    let record = fixture.record(&invoice).await;
    assert_eq!(record.steps.len(), 2);
    let (charge, notify) = (&record.steps[&CHARGE], &record.steps[&NOTIFY]);
    assert_eq!((charge.state, &charge.result), (StepState::Done, &Some(json(r#"{"charge":"ch_1"}"#))));
    assert_eq!((charge.effect.may_be_applied, &charge.effect.pin), (false, &None));
    assert_eq!(charge.effect.first_started_at, Some(at(SECOND)));
    assert_eq!((notify.state, &notify.result), (StepState::Started, &None));
    assert_eq!((notify.effect.may_be_applied, &notify.effect.pin), (true, &Some(notify_pin)));
    assert_eq!(notify.effect.first_started_at, Some(at(3 * SECOND)));
    assert!(!record.effect.may_be_applied, "the handler has no effect of its own");

    fixture.advance(HOUR);
    let again = fixture.claimed(&invoice).await;
    fixture.started(again).await;
    let charged = Answer::StepDone(Some(json(r#"{"charge":"ch_1"}"#)));
    assert_eq!(fixture.apply(&invoice, begin(2, CHARGE, header)).await, Ok(charged));
    assert_eq!(fixture.apply(&invoice, begin(2, NOTIFY, header)).await, Ok(Answer::StepBegun));
}

/// What the destination asks for is a lower bound, and costs no attempt when nothing was applied.
pub async fn a_retry_waits_as_long_as_the_destination_asks(fixture: Fixture) {
    let waits = fixture.settled(submission("invoice:1"), not_applied(Some(HOUR))).await;
    assert_eq!((waits.state, waits.ready_at), (State::Pending, at(HOUR)));
    assert_eq!((waits.attempts, waits.spent), (1, 0));
    fixture.advance(HOUR);
    let again = fixture.claimed(&id("invoice:1")).await;
    fixture.started(again).await;
    let settled = fixture.apply(&id("invoice:1"), settle(2, not_applied(Some(SECOND)))).await;
    assert_eq!(settled, Ok(Answer::Settled(State::Pending)));
    let waits = fixture.record(&id("invoice:1")).await;
    assert_eq!(waits.ready_at, at(HOUR + 30 * SECOND), "the policy's own wait is longer");
}

/// Attempts are listed by their tokens, each with its own times and its own end.
pub async fn attempts_are_listed_in_order(fixture: Fixture) {
    fixture.settled(submission("invoice:1"), unknown()).await;
    fixture.advance(30 * SECOND);
    fixture.claimed(&id("invoice:1")).await;
    fixture.advance(HOUR);
    assert_eq!(fixture.expire().await, 1);
    let third = fixture.claimed(&id("invoice:1")).await;
    fixture.started(third).await;
    fixture.advance(SECOND);
    let settled = fixture.apply(&id("invoice:1"), settle(3, done("1"))).await;
    assert_eq!(settled, Ok(Answer::Settled(State::Succeeded)));
    let attempts = fixture.attempts(&id("invoice:1")).await;
    let tokens: Vec<u64> = attempts.iter().map(|attempt| attempt.token.get()).collect();
    assert_eq!(tokens, [1, 2, 3]);
    let started: Vec<_> = attempts.iter().map(|attempt| attempt.started_at).collect();
    assert_eq!(started, [Some(STARTED_AT), None, Some(at(HOUR + 30 * SECOND))]);
    let ends: Vec<_> = attempts.iter().map(|a| a.end.as_ref().map(|end| (end.outcome, end.at))).collect();
    let expected =
        [Some((OutcomeKind::Unknown, STARTED_AT)), None, Some((OutcomeKind::Done, at(HOUR + 31 * SECOND)))];
    assert_eq!(ends, expected);
    let cause = attempts[0].end.as_ref().and_then(|end| end.cause.clone()).expect("a cause");
    assert_eq!((cause.kind(), cause.detail()), (CauseKind::Transport, "connection reset"));
}

/// Five attempts end unknown; then a person has to look, and the record says why.
pub async fn an_uncertain_record_says_why(fixture: Fixture) {
    let _ = fixture.submit(submission("invoice:1")).await;
    for token in 1..=5 {
        let leased = fixture.claimed(&id("invoice:1")).await;
        fixture.started(leased).await;
        fixture.apply(&id("invoice:1"), settle(token, unknown())).await.expect("settle");
        fixture.advance(HOUR);
    }
    let parked = fixture.record(&id("invoice:1")).await;
    assert_eq!(parked.state, State::Uncertain);
    assert_eq!(parked.uncertainty, Some(Uncertainty::AttemptsSpent));
    assert_eq!((parked.attempts, parked.spent, parked.token.get()), (5, 5, 5));
    assert_eq!((parked.settled_at, parked.reconcile_at), (Some(at(4 * HOUR)), None));
    assert_eq!(fixture.claim(claim(10)).await, []);
    let refused = fixture.settled(submission("invoice:2"), rejected()).await;
    assert_eq!((refused.state, refused.uncertainty), (State::Failed, None));
}
