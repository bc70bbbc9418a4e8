//! What an unknown outcome leaves behind, and what clears it.

use super::*;

#[test]
fn unknown_marks_the_effect_and_keeps_the_mark_over_further_attempts() {
    let story = Story::running(HEADER).end(unknown());
    assert_eq!(story.state(), State::Pending);
    assert!(story.record.effect.may_be_applied);
    let again = story.wait(HOUR).lease_and_start();
    assert!(again.record.effect.may_be_applied);
    assert!(again.end(unknown()).record.effect.may_be_applied);
}

#[test]
fn only_done_or_a_refusal_after_a_look_up_clears_the_mark_of_an_attempt() {
    let running = || Story::running(HEADER).end(unknown()).wait(HOUR).lease_and_start();
    for (outcome, state, marked) in [
        (done(), State::Succeeded, false),
        (rejected_after_lookup(), State::Failed, false),
        (rejected(), State::Pending, true),
        (not_applied(), State::Pending, true),
        (told_to_wait(SECOND), State::Pending, true),
        (unknown(), State::Pending, true),
    ] {
        let after = running().end(outcome.clone());
        assert_eq!((after.state(), after.record.may_be_applied()), (state, marked), "{outcome:?}");
    }
}

#[test]
fn a_closing_verdict_clears_the_mark() {
    let parked = || Story::running(Contract::NONE).end(unknown());
    for (verdict, state, marked) in [
        (Verdict::Applied { result: None }, State::Succeeded, false),
        (Verdict::NotAppliedAndClosed, State::Failed, false),
        (Verdict::NotAppliedOldCallsRefused, State::Pending, false),
        (Verdict::StillUnknown { ask_again_at: None }, State::Uncertain, true),
    ] {
        let after = parked().then([resolve(verdict.clone())]);
        assert_eq!((after.state(), after.record.may_be_applied()), (state, marked), "{verdict:?}");
    }
}

#[test]
fn a_rotated_credential_after_an_unknown_attempt_never_ends_in_failed() {
    let mut story = Story::running(HEADER).end(unknown());
    for _ in 0..4 {
        assert_eq!(story.state(), State::Pending);
        story = story.wait(HOUR).lease_and_start().end(rejected());
    }
    assert_eq!((story.state(), story.why()), (State::Uncertain, Some(Uncertainty::AttemptsSpent)));
    assert_eq!((story.record.attempts, story.record.spent), (5, 5));
}

#[test]
fn a_refused_connection_after_an_unknown_attempt_never_ends_in_exhausted() {
    let mut story = Story::running(HEADER).end(unknown());
    for _ in 0..4 {
        story = story.wait(HOUR).lease_and_start().end(not_applied());
    }
    assert_eq!((story.state(), story.why()), (State::Uncertain, Some(Uncertainty::AttemptsSpent)));
}

#[test]
fn without_deduplication_a_certain_failure_after_a_risk_is_uncertain_again() {
    let story = Story::running(Contract::NONE).end(unknown()).then([replay(true)]);
    let after = story.lease_and_start().end(rejected());
    assert_eq!((after.state(), after.why()), (State::Uncertain, Some(Uncertainty::NoDeduplication)));
}

#[test]
fn an_undeclared_destination_parks() {
    let after =
        Story::with(Contract::NONE, |policy| *policy = Policy::DEFAULT).lease_and_start().end(unknown());
    assert_eq!((after.state(), after.why()), (State::Uncertain, Some(Uncertainty::NoDeduplication)));
    assert_eq!(after.record.reconcile_at, None);
}

#[test]
fn a_reconciler_is_asked_at_once_and_before_any_tradeoff() {
    for tradeoff in [OnUnknown::Park, OnUnknown::MayDuplicate, OnUnknown::MayLose] {
        let story = Story::with(Contract::NONE, |policy| {
            policy.reconciles = true;
            policy.on_unknown = tradeoff;
        });
        let after = story.lease_and_start().wait(SECOND).end(unknown());
        assert_eq!(after.state(), State::Uncertain, "{tradeoff:?}");
        assert_eq!(after.record.reconcile_at, Some(at(SECOND)), "{tradeoff:?}");
    }
}

#[test]
fn a_key_that_the_destination_knows_with_another_request_is_unknown_and_never_rejected() {
    let mismatch = Outcome::unknown(Cause::new(CauseKind::Mismatch, "same key, other body"));
    let after = Story::running(HEADER).end(mismatch);
    assert_eq!(after.state(), State::Pending);
    assert!(after.record.may_be_applied());
    assert_eq!(after.record.cause.map(|cause| cause.kind()), Some(CauseKind::Mismatch));
}

#[test]
fn a_first_rejection_fails_and_a_result_that_could_not_be_stored_still_succeeds() {
    let failed = Story::running(Contract::NONE).wait(SECOND).end(rejected());
    assert_eq!((failed.state(), failed.record.settled_at), (State::Failed, Some(at(SECOND))));
    let missing = Cause::new(CauseKind::UnstorableResult, "70000 bytes");
    let outcome = Outcome::Done { result: None, missing: Some(missing.clone()) };
    let succeeded = Story::running(Contract::NONE).end(outcome);
    assert_eq!((succeeded.state(), succeeded.record.result), (State::Succeeded, None));
    assert_eq!(succeeded.record.cause, Some(missing));
}

#[test]
fn the_window_and_the_horizon_count_from_the_first_start_or_pin_to_the_last_millisecond() {
    // A window of 54 minutes, and a wait of 30 seconds before the next attempt.
    let short = HEADER.remembers_for(HOUR);
    for (age, expected) in [
        (53 * MINUTE + 29 * SECOND, (State::Pending, None)),
        (53 * MINUTE + 30 * SECOND, (State::Uncertain, Some(Uncertainty::WindowOver))),
    ] {
        let after = Story::running(short).wait(age).end(unknown());
        assert_eq!((after.state(), after.why()), expected, "{age:?}");
    }
    for (age, expected) in [
        (59 * MINUTE + 29 * SECOND, (State::Pending, None)),
        (59 * MINUTE + 30 * SECOND, (State::Uncertain, Some(Uncertainty::HorizonOver))),
    ] {
        let story = Story::with(HEADER, |policy| policy.retry.horizon = HOUR).lease_and_start();
        let after = story.wait(age).end(unknown());
        assert_eq!((after.state(), after.why()), expected, "{age:?}");
    }
    // Pinned ten minutes after the start: nothing was sent before.
    let pinned = Story::running(short).wait(10 * MINUTE).then([pin(1, None, "body")]);
    let after = pinned.wait(50 * MINUTE).end(unknown());
    assert_eq!(after.state(), State::Pending);
}

#[test]
fn the_wish_of_a_handler_that_failed_spends_an_attempt_and_that_of_its_destination_does_not() {
    for (kind, spent) in [(CauseKind::Failed, 1), (CauseKind::Status(429), 0)] {
        let outcome = Outcome::Unknown { cause: Cause::new(kind, "later"), retry_after: Some(HOUR) };
        let story = Story::running(HEADER).end(outcome);
        assert_eq!((story.state(), story.record.spent), (State::Pending, spent), "{kind}");
        assert!(story.record.ready_at >= at(HOUR));
    }
}
