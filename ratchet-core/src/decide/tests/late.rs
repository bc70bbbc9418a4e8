//! Reports that come late, twice, or from a lease that was superseded.

use super::*;

fn taken_over() -> Story {
    Story::running(HEADER).end(unknown()).wait(HOUR).lease_and_start()
}

#[test]
fn a_late_success_settles_whatever_waits() {
    let pending = Story::running(HEADER).end(unknown());
    let uncertain = Story::running(Contract::NONE).end(unknown());
    let abandoned = Story::with(Contract::NONE, |policy| policy.on_unknown = OnUnknown::MayLose)
        .lease_and_start()
        .end(unknown());
    for (mut story, state) in
        [(pending, State::Pending), (uncertain, State::Uncertain), (abandoned, State::Abandoned)]
    {
        assert_eq!(story.state(), state);
        story = story.wait(HOUR);
        let decision = story.decision(&settle(1, done()));
        assert_eq!(decision.answer, Answer::Settled(State::Succeeded));
        let (token, end) = end(&decision);
        assert_eq!((token, end.late, end.cause.as_ref()), (1, true, None));
        assert_eq!((story.state(), story.why()), (State::Succeeded, None));
        assert_eq!(story.record.result, Some(json("\"ch_1\"")));
        assert_eq!(story.record.settled_at, Some(at(HOUR)));
        assert!(!story.record.may_be_applied());
    }
}

#[test]
fn a_success_of_an_older_attempt_settles_a_record_that_is_uncertain_because_of_it() {
    let mut story = taken_over().end(unknown()).then([cancel()]);
    assert_eq!((story.state(), story.record.token.get()), (State::Uncertain, 2));
    let decision = story.decision(&settle(1, done()));
    assert_eq!(decision.answer, Answer::Settled(State::Succeeded));
    assert_eq!(end(&decision).0, 1);
}

#[test]
fn a_late_outcome_other_than_success_changes_nothing_and_is_noted_on_its_attempt() {
    let uncertain = Story::running(Contract::NONE).end(unknown());
    let pending = Story::running(HEADER).end(unknown());
    for story in [uncertain, pending] {
        for outcome in [rejected(), rejected_after_lookup(), not_applied(), told_to_wait(HOUR), unknown()] {
            let mut after = story.clone().wait(HOUR);
            let decision = after.decision(&settle(1, outcome.clone()));
            assert_eq!(after.record, story.record, "{outcome:?}");
            let (token, end) = end(&decision);
            assert_eq!((token, end.outcome, end.late, end.at), (1, outcome.kind(), true, at(HOUR)));
        }
    }
}

#[test]
fn a_stale_outcome_never_touches_what_a_newer_lease_owns() {
    let story = taken_over();
    for outcome in [rejected(), rejected_after_lookup(), not_applied(), unknown()] {
        let mut after = story.clone();
        let decision = after.decision(&settle(1, outcome.clone()));
        assert_eq!(decision.answer, Answer::Late(State::Running), "{outcome:?}");
        assert_eq!(after.record, story.record, "{outcome:?}");
        let (token, end) = end(&decision);
        assert_eq!((token, end.outcome, end.late), (1, outcome.kind(), true));
    }
}

#[test]
fn a_late_success_leaves_a_newer_attempt_alone_until_it_ends() {
    let mut story = taken_over();
    let before = story.record.clone();
    let decision = story.decision(&settle(1, done()));
    assert_eq!(decision.answer, Answer::Late(State::Running));
    let (token, end) = end(&decision);
    assert_eq!((token, end.outcome, end.late), (1, done().kind(), true));
    let told = Record { cause: before.cause.clone(), result: None, ..story.record.clone() };
    assert_eq!(told, before, "only what is known of the effect is new");
    for outcome in [rejected(), rejected_after_lookup(), not_applied(), told_to_wait(HOUR), unknown()] {
        let ended = story.clone().wait(SECOND).end(outcome.clone());
        let record = &ended.record;
        assert_eq!(record.state, State::Succeeded, "{outcome:?}");
        assert_eq!((record.result.clone(), record.cause.clone()), (Some(json("\"ch_1\"")), None));
        assert!(!record.may_be_applied());
    }
    let lost = story.clone().wait(HOUR).then([Command::Expire]);
    assert_eq!((lost.state(), lost.record.result), (State::Succeeded, Some(json("\"ch_1\""))));
    let own = story.end(Outcome::done(json("\"ch_2\"")));
    assert_eq!((own.state(), own.record.result), (State::Succeeded, Some(json("\"ch_2\""))));
}

#[test]
fn a_late_success_says_why_its_result_is_missing() {
    let missing = Some(Cause::new(CauseKind::UnstorableResult, "70000 bytes"));
    let story = taken_over().then([settle(1, Outcome::Done { result: None, missing })]).end(unknown());
    assert_eq!((story.state(), &story.record.result), (State::Succeeded, &None));
    let told = story.record.cause.map(|cause| cause.to_string());
    assert_eq!(told.as_deref(), Some("reported_late: unstorable_result: 70000 bytes"));
}

#[test]
fn a_late_success_ends_a_newer_lease_that_has_not_started() {
    let mut story = Story::running(HEADER).end(unknown()).wait(HOUR).then([lease()]);
    assert_eq!(story.tell(settle(1, done())), Answer::Settled(State::Succeeded));
    assert_eq!(story.record.result, Some(json("\"ch_1\"")));
    // Its holder starts nothing any more.
    assert_eq!(story.refusal(start(2)), Refusal::Superseded);
    let untouched = Story::running(HEADER).end(unknown()).wait(HOUR).then([lease()]);
    for outcome in [rejected(), rejected_after_lookup(), not_applied(), unknown()] {
        let mut after = untouched.clone();
        assert_eq!(after.tell(settle(1, outcome)), Answer::Late(State::Running));
        assert_eq!(after.record, untouched.record);
    }
}

#[test]
fn settling_twice_with_one_token_is_answered_alike_and_the_first_stands() {
    for (first, state) in [
        (done(), State::Succeeded),
        (rejected(), State::Failed),
        (not_applied(), State::Pending),
        (unknown(), State::Pending),
    ] {
        let story = Story::running(HEADER).end(first.clone());
        assert_eq!(story.state(), state);
        let mut again = story.clone().wait(SECOND);
        assert_eq!(
            again.tell(settle(1, first)),
            if again.record == story.record {
                Answer::Settled(state)
            } else {
                panic!("the repetition changed the record")
            }
        );
    }
}

#[test]
fn a_settled_record_is_changed_by_no_late_outcome() {
    let failed = Story::running(HEADER).end(rejected());
    let succeeded = Story::running(HEADER).end(done());
    let cancelled = Story::running(HEADER).then([cancel()]).end(not_applied());
    for story in [failed, succeeded, cancelled] {
        for outcome in [done(), rejected(), not_applied(), unknown()] {
            let mut after = story.clone();
            assert_eq!(after.tell(settle(1, outcome)), Answer::Settled(story.state()));
            assert_eq!(after.record, story.record);
        }
    }
}

#[test]
fn a_token_that_was_never_handed_out_settles_nothing() {
    for story in [Story::of(HEADER), Story::running(HEADER), Story::running(Contract::NONE).end(unknown())] {
        for token in [0, story.record.token.get() + 1] {
            assert_eq!(story.refusal(settle(token, done())), Refusal::Superseded);
        }
    }
}

#[test]
fn a_certain_end_replaces_an_unknown_one_and_no_other() {
    let mut story = Story::of(Contract::NONE);
    let opened = story.decision(&lease()).attempt;
    let Some(AttemptNote::Opened(mut attempt)) = opened else {
        panic!("an attempt is opened");
    };
    story.tell(start(1));
    for (outcome, kept) in [
        (unknown(), "unknown"),
        (not_applied(), "not_applied"),
        (done(), "not_applied"),
        (unknown(), "not_applied"),
    ] {
        let decision = story.clone().decision(&settle(1, outcome));
        attempt.end_with(end(&decision).1.clone());
        assert_eq!(attempt.end.as_ref().map(|end| end.outcome.as_str()), Some(kept));
    }
}
