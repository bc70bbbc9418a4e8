//! Cancel, replay and resolve, in each state.

use super::*;

fn in_each_state() -> [(State, Story); 8] {
    let succeeded = Story::running(HEADER).end(done());
    let exhausted = Story::with(HEADER, |policy| policy.retry.max_attempts = 1).lease_and_start();
    let abandoned = Story::with(Contract::NONE, |policy| policy.on_unknown = OnUnknown::MayLose);
    let stories = [
        (State::Pending, Story::of(HEADER)),
        (State::Running, Story::running(HEADER)),
        (State::Succeeded, succeeded),
        (State::Failed, Story::running(HEADER).end(rejected())),
        (State::Exhausted, exhausted.end(not_applied())),
        (State::Uncertain, Story::running(Contract::NONE).end(unknown())),
        (State::Cancelled, Story::of(HEADER).then([cancel()])),
        (State::Abandoned, abandoned.lease_and_start().end(unknown())),
    ];
    for (state, story) in &stories {
        assert_eq!(story.state(), *state);
    }
    stories
}

#[test]
fn cancel_in_each_state() {
    for (state, mut story) in in_each_state() {
        let before = story.record.clone();
        let expected = match state {
            State::Pending | State::Cancelled => Ok(Answer::Now(State::Cancelled)),
            State::Running => Ok(Answer::CancelRequested),
            settled => Err(Refusal::State(settled)),
        };
        assert_eq!(story.decide(&cancel()).map(|decision| decision.answer), expected);
        if state == State::Cancelled {
            let decision = story.decision(&cancel());
            assert_eq!((decision.record, decision.audit), (before, None), "a repetition decides nothing");
        }
    }
}

#[test]
fn cancel_of_a_waiting_record_stops_it_or_says_that_it_may_have_happened() {
    let mut clean = Story::of(HEADER);
    let audit = clean.decision(&cancel()).audit.expect("a decision of a person is audited");
    assert_eq!((audit.action.as_str(), audit.by.as_str()), ("cancel", "ada"));
    assert_eq!((audit.from, audit.to, audit.at), (State::Pending, State::Cancelled, START));
    assert!(clean.record.cancel_requested);
    let mut unsure = Story::running(HEADER).end(unknown());
    assert_eq!(unsure.tell(cancel()), Answer::Now(State::Uncertain));
    assert_eq!(unsure.why(), Some(Uncertainty::Cancelled));
    assert!(unsure.record.may_be_applied());
}

#[test]
fn cancel_of_an_unstarted_lease_supersedes_its_token() {
    let mut story = Story::of(HEADER).then([lease()]);
    assert_eq!(story.tell(cancel()), Answer::Now(State::Cancelled));
    assert_eq!((story.record.token.get(), story.record.lease.as_ref()), (2, None));
    assert_eq!(story.refusal(start(1)), Refusal::Superseded);
    assert_eq!(story.refusal(start(2)), Refusal::Superseded);
    let mut unsure = Story::running(HEADER).end(unknown()).wait(HOUR).then([lease()]);
    assert_eq!(unsure.tell(cancel()), Answer::Now(State::Uncertain));
    assert_eq!((unsure.record.token.get(), unsure.why()), (3, Some(Uncertainty::Cancelled)));
}

#[test]
fn cancel_of_a_running_record_ends_with_what_the_attempt_knows() {
    for (outcome, state, why) in [
        (done(), State::Succeeded, None),
        (not_applied(), State::Cancelled, None),
        (told_to_wait(HOUR), State::Cancelled, None),
        (rejected(), State::Failed, None),
        (unknown(), State::Uncertain, Some(Uncertainty::Cancelled)),
    ] {
        for contract in [HEADER, Contract::NONE] {
            let after = Story::running(contract).then([cancel()]).end(outcome.clone());
            assert_eq!((after.state(), after.why()), (state, why), "{outcome:?}");
        }
    }
    let lost = Story::running(HEADER).then([cancel()]).wait(HOUR).then([Command::Expire]);
    assert_eq!((lost.state(), lost.why()), (State::Uncertain, Some(Uncertainty::Cancelled)));
}

#[test]
fn a_cancelled_attempt_is_told_when_it_extends_its_lease() {
    let mut story = Story::running(HEADER).then([cancel()]);
    let renew = Command::Renew { token: Token::new(1), duration: MINUTE };
    let told = Answer::Renewed { until: at(MINUTE), cancel_requested: true };
    assert_eq!(story.tell(renew), told);
}

#[test]
fn replay_in_each_state() {
    for (state, story) in in_each_state() {
        for accept_risk in [false, true] {
            let expected = match (state, accept_risk) {
                (State::Failed | State::Exhausted | State::Cancelled, _)
                | (State::Uncertain | State::Abandoned, true) => Ok(Answer::Now(State::Pending)),
                (State::Uncertain | State::Abandoned, false) => {
                    Err(Refusal::RiskNotAccepted(Uncertainty::NoDeduplication))
                }
                (other, _) => Err(Refusal::State(other)),
            };
            let answer = story.decide(&replay(accept_risk)).map(|decision| decision.answer);
            assert_eq!(answer, expected, "{state}, {accept_risk}");
        }
    }
}

#[test]
fn a_replay_is_the_same_record_with_fresh_attempts() {
    let failed = Story::running(HEADER).then([pin(1, None, "body")]).end(rejected());
    let replayed = failed.clone().wait(HOUR).then([replay(false)]);
    // Nothing was applied, so the window and the horizon begin anew.
    let mut effect = failed.record.effect.clone();
    effect.first_started_at = None;
    effect.pin.as_mut().expect("a pin").first_at = at(HOUR);
    let expected = Record {
        state: State::Pending,
        ready_at: at(HOUR),
        spent: 0,
        settled_at: None,
        effect,
        ..failed.record
    };
    assert_eq!(replayed.record, expected);
    assert_eq!(replayed.lease_and_start().record.token.get(), 2);
}

#[test]
fn a_replay_where_a_repetition_is_recognised_needs_no_risk_and_gains_no_time() {
    let spent = Story::with(HEADER, |policy| policy.retry.max_attempts = 1).lease_and_start().end(unknown());
    assert_eq!(spent.why(), Some(Uncertainty::AttemptsSpent));
    let replayed = spent.clone().wait(HOUR).then([replay(false)]);
    assert!(!replayed.record.risk_accepted);
    assert_eq!(replayed.record.effect.first_started_at, Some(START));
    let too_late = spent.wait(23 * HOUR);
    assert_eq!(too_late.refusal(replay(false)), Refusal::RiskNotAccepted(Uncertainty::WindowOver));
}

#[test]
fn an_accepted_risk_holds_for_one_attempt() {
    let story = Story::running(Contract::NONE).end(unknown()).then([replay(true)]);
    assert!(story.record.risk_accepted);
    let unstarted = story.clone().then([lease()]).wait(HOUR).then([Command::Expire]);
    assert!(unstarted.record.risk_accepted, "a lease that was not started used nothing up");
    let used = story.lease_and_start().end(unknown());
    assert_eq!((used.state(), used.record.risk_accepted), (State::Uncertain, false));
    assert_eq!(used.refusal(replay(false)), Refusal::RiskNotAccepted(Uncertainty::NoDeduplication));
}

#[test]
fn a_definite_end_is_replayed_within_the_declared_time_only() {
    let failed =
        Story::with(HEADER, |policy| policy.replay_within = Some(HOUR)).lease_and_start().end(rejected());
    let end = START.after(HOUR);
    assert_eq!(failed.clone().wait(HOUR).refusal(replay(true)), Refusal::ReplayOver(end));
    let last = failed.wait(HOUR.saturating_sub(Duration::from_millis(1))).then([replay(false)]);
    assert_eq!(last.record.state, State::Pending);
    // What is uncertain has no end yet, so it stays open.
    let open = Story::with(Contract::NONE, |policy| policy.replay_within = Some(HOUR))
        .lease_and_start()
        .end(unknown());
    assert_eq!(open.wait(DAY).then([replay(true)]).record.state, State::Pending);
}

#[test]
fn a_replay_forgets_that_it_was_cancelled() {
    let story = Story::of(HEADER).then([cancel(), replay(false)]);
    assert!(!story.record.cancel_requested);
    assert_eq!(story.lease_and_start().end(done()).state(), State::Succeeded);
}

#[test]
fn a_verdict_says_nothing_about_an_attempt_that_came_after_it() {
    let story = Story::of(Contract::NONE)
        .lease_and_start()
        .end(unknown())
        .then([replay(true)])
        .lease_and_start()
        .end(unknown());
    assert_eq!((story.state(), story.record.token.get()), (State::Uncertain, 2));
    let refused = story.decide(&resolve(Verdict::NotAppliedAndClosed)).map(|decision| decision.answer);
    assert_eq!(refused, Err(Refusal::Superseded));
}

#[test]
fn resolve_in_each_state() {
    for (state, story) in in_each_state() {
        let open = matches!(state, State::Uncertain | State::Abandoned);
        for (verdict, after) in [
            (Verdict::Applied { result: Some(json("1")) }, State::Succeeded),
            (Verdict::NotAppliedAndClosed, State::Failed),
            (Verdict::NotAppliedOldCallsRefused, State::Pending),
            (Verdict::StillUnknown { ask_again_at: Some(at(HOUR)) }, state),
        ] {
            let expected = if open { Ok(Answer::Now(after)) } else { Err(Refusal::State(state)) };
            let answer = story.decide(&resolve(verdict)).map(|decision| decision.answer);
            assert_eq!(answer, expected, "{state}");
        }
    }
}

#[test]
fn each_verdict_leaves_what_it_found() {
    let parked = || Story::running(Contract::NONE).then([pin(1, None, "body")]).end(unknown()).wait(HOUR);
    let applied = parked().then([resolve(Verdict::Applied { result: Some(json("1")) })]).record;
    assert_eq!((applied.result, applied.cause, applied.settled_at), (Some(json("1")), None, Some(at(HOUR))));

    let closed = parked().then([resolve(Verdict::NotAppliedAndClosed)]).record;
    let cause = closed.cause.expect("a cause");
    assert_eq!((cause.kind(), cause.detail()), (CauseKind::Resolved, "asked the provider"));
    assert_eq!((closed.uncertainty, closed.settled_at), (None, Some(at(HOUR))));

    let open = parked().then([resolve(Verdict::NotAppliedOldCallsRefused)]).record;
    assert_eq!(
        (open.effect.pin, open.effect.first_started_at),
        (None, None),
        "the next send opens a new window"
    );
    assert_eq!((open.ready_at, open.spent), (at(HOUR), 0));

    let mut asked = parked();
    let decision = asked.decision(&resolve(Verdict::StillUnknown { ask_again_at: Some(at(DAY)) }));
    let audit = decision.audit.expect("audited");
    assert_eq!(
        (audit.from, audit.to, audit.action.as_str()),
        (State::Uncertain, State::Uncertain, "resolve")
    );
    assert_eq!(asked.record, Record { reconcile_at: Some(at(DAY)), ..parked().record });
}

fn ask() -> Command {
    Command::Ask { at_most: MINUTE }
}

fn reconciling() -> Story {
    let wait = 30 * SECOND;
    Story::with(Contract::NONE, |policy| (policy.reconciles, policy.reconcile_after) = (true, wait))
}

#[test]
fn the_destination_is_asked_after_the_declared_delay_by_one_asker() {
    let story = reconciling().lease_and_start().end(unknown());
    assert_eq!(story.record.reconcile_at, Some(at(30 * SECOND)));
    assert_eq!(story.refusal(ask()), Refusal::NotDue(at(30 * SECOND)));
    let mut story = story.wait(30 * SECOND);
    assert_eq!(story.tell(ask()), Answer::Asking);
    assert_eq!(story.refusal(ask()), Refusal::NotDue(at(90 * SECOND)), "not before the first asker gave up");
}

#[test]
fn questions_become_rarer() {
    let mut story = reconciling().lease_and_start().end(unknown()).wait(HOUR);
    story.tell(ask());
    assert_eq!(story.record.reconcile_at, Some(at(2 * HOUR)), "after as much time again");
    let mut story = story.wait(100 * DAY);
    story.tell(ask());
    assert_eq!(story.record.reconcile_at, Some(at(101 * DAY + HOUR)), "and at least once a day");
}

#[test]
fn nobody_asks_about_a_record_that_is_not_uncertain() {
    for (state, story) in in_each_state() {
        assert_eq!(story.refusal(ask()), Refusal::State(state), "without a reconciler nothing is due");
    }
    let story =
        reconciling().lease_and_start().end(unknown()).then([resolve(Verdict::Applied { result: None })]);
    assert_eq!(story.refusal(ask()), Refusal::State(State::Succeeded));
}

#[test]
fn after_a_cancel_nothing_more_is_sent_and_what_may_have_happened_is_asked_for_again() {
    let mut story = Story::running(Contract::STEPS).then([
        begin(1, CHARGE, HEADER),
        finish(1, CHARGE, done()),
        begin(1, NOTIFY, HEADER),
        finish(1, NOTIFY, unknown()),
        cancel(),
    ]);
    assert_eq!(story.refusal(begin(1, StepName::from_static("ship"), HEADER)), Refusal::Cancelled);
    assert!(matches!(story.tell(begin(1, CHARGE, HEADER)), Answer::StepDone(_)));
    assert_eq!(story.tell(begin(1, NOTIFY, HEADER)), Answer::StepBegun);

    let unsent = Story::running(HEADER).then([cancel()]);
    assert_eq!(unsent.refusal(pin(1, None, "body")), Refusal::Cancelled);
    assert_eq!(unsent.end(not_applied()).state(), State::Cancelled);
    let again = PinRequest { sent_before: true, ..request("body") };
    let again = Command::Pin { token: Token::new(1), step: None, request: Box::new(again) };
    let sent = Story::running(HEADER).then([pin(1, None, "body"), cancel()]);
    assert!(matches!(sent.decide(&again), Ok(Decision { answer: Answer::Pinned(_), .. })));
}

#[test]
fn a_replay_may_be_bounded_to_fewer_executions_than_the_policy_allows() {
    let bounded = |at_most| Command::Replay {
        by: "bo".to_owned(),
        reason: "once more".to_owned(),
        accept_risk: true,
        at_most: Some(at_most),
        seen: None,
    };
    let failed = || Story::running(HEADER).end(rejected());
    let once = failed().then([bounded(1)]).lease_and_start().end(not_applied());
    assert_eq!((once.state(), once.record.attempts), (State::Exhausted, 2));
    let twice = failed().then([bounded(2)]).lease_and_start().end(not_applied());
    assert_eq!(twice.state(), State::Pending);
    // The policy's own bound stands.
    let many = failed().then([bounded(1000)]);
    assert_eq!(many.record.spent, 0);
}
