//! Steps: each with a contract, a window, a state and a result of its own.

use super::*;
use crate::model::{Effect, StepState};

fn in_steps() -> Story {
    Story::running(Contract::STEPS)
}

fn step_state(story: &Story, step: &StepName) -> (StepState, bool) {
    let step = &story.record.steps[step];
    (step.state, step.effect.may_be_applied)
}

#[test]
fn a_finished_step_returns_its_result_and_is_not_entered_again() {
    let story = in_steps().then([begin(1, CHARGE, Contract::NONE), finish(1, CHARGE, done())]);
    let mut again = story.end(unknown()).wait(HOUR).lease_and_start();
    assert_eq!(again.tell(begin(2, CHARGE, Contract::NONE)), Answer::StepDone(Some(json("\"ch_1\""))));
    assert_eq!(step_state(&again, &CHARGE), (StepState::Done, false));
    // A second report changes nothing.
    again.tell(finish(2, CHARGE, unknown()));
    assert_eq!(step_state(&again, &CHARGE), (StepState::Done, false));
}

#[test]
fn each_outcome_of_a_step_and_what_clears_its_mark() {
    for (outcomes, state, marked) in [
        (vec![done()], StepState::Done, false),
        (vec![not_applied()], StepState::NotApplied, false),
        (vec![rejected()], StepState::NotApplied, false),
        (vec![unknown()], StepState::Started, true),
        (vec![unknown(), not_applied()], StepState::Started, true),
        (vec![unknown(), rejected()], StepState::Started, true),
        (vec![unknown(), rejected_after_lookup()], StepState::NotApplied, false),
        (vec![unknown(), done()], StepState::Done, false),
        (vec![not_applied(), unknown()], StepState::Started, true),
    ] {
        let mut story = in_steps().then([begin(1, CHARGE, HEADER)]);
        for outcome in outcomes.clone() {
            assert_eq!(story.tell(finish(1, CHARGE, outcome)), Answer::StepFinished);
        }
        assert_eq!(step_state(&story, &CHARGE), (state, marked), "{outcomes:?}");
    }
}

#[test]
fn a_step_that_was_not_begun_does_not_end() {
    assert_eq!(in_steps().refusal(finish(1, CHARGE, done())), Refusal::NoStep);
}

#[test]
fn an_unfinished_step_is_decided_by_its_own_contract() {
    for (contract, state, why) in [
        (HEADER, State::Pending, None),
        (Contract::NONE, State::Uncertain, Some(Uncertainty::NoDeduplication)),
    ] {
        for outcome in [unknown(), not_applied(), rejected(), rejected_after_lookup()] {
            let after = in_steps().then([begin(1, CHARGE, contract)]).end(outcome.clone());
            assert_eq!((after.state(), after.why()), (state, why), "{contract:?}, {outcome:?}");
            assert_eq!(step_state(&after, &CHARGE), (StepState::Started, true));
            assert!(!after.record.effect.may_be_applied);
        }
    }
}

#[test]
fn a_handler_that_keeps_its_effects_in_steps_and_began_none_is_unknown() {
    let after = in_steps().end(unknown());
    assert_eq!((after.state(), after.why()), (State::Uncertain, Some(Uncertainty::NoDeduplication)));
}

#[test]
fn steps_that_all_ended_leave_nothing_unknown() {
    let story = in_steps().then([
        begin(1, CHARGE, Contract::NONE),
        finish(1, CHARGE, done()),
        begin(1, NOTIFY, Contract::NONE),
        finish(1, NOTIFY, not_applied()),
    ]);
    let after = story.clone().end(unknown());
    assert_eq!((after.state(), after.record.may_be_applied()), (State::Pending, false));
    assert_eq!(story.end(rejected()).state(), State::Failed);
}

#[test]
fn the_weakest_unfinished_step_governs() {
    let both = |one: Contract, other: Contract| {
        let story = in_steps().then([begin(1, CHARGE, one), begin(1, NOTIFY, other)]).end(unknown());
        (story.state(), story.why())
    };
    let parked = (State::Uncertain, Some(Uncertainty::NoDeduplication));
    assert_eq!(both(HEADER, HEADER.remembers_forever()), (State::Pending, None));
    assert_eq!(both(HEADER, Contract::NONE), parked);
    assert_eq!(both(Contract::NONE, HEADER), parked);
}

#[test]
fn a_handler_with_an_effect_of_its_own_is_unknown_beside_finished_steps() {
    let story = Story::running(Contract::NONE).then([begin(1, CHARGE, HEADER), finish(1, CHARGE, done())]);
    let after = story.end(unknown());
    assert_eq!((after.state(), after.why()), (State::Uncertain, Some(Uncertainty::NoDeduplication)));
    assert_eq!(step_state(&after, &CHARGE), (StepState::Done, false));
}

#[test]
fn a_look_up_of_the_handler_says_nothing_about_a_step() {
    let story = Story::running(HEADER).then([begin(1, CHARGE, HEADER)]).end(unknown());
    let after = story.wait(HOUR).lease_and_start().end(rejected_after_lookup());
    assert_eq!(after.state(), State::Pending);
    assert_eq!((after.record.effect.may_be_applied, after.record.may_be_applied()), (false, true));
}

#[test]
fn a_step_has_a_window_of_its_own_that_starts_when_it_is_first_entered() {
    let short = HEADER.remembers_for(3 * HOUR);
    let story = in_steps().wait(HOUR).then([begin(1, CHARGE, short)]).end(unknown());
    assert_eq!(story.record.steps[&CHARGE].effect.first_started_at, Some(at(HOUR)));
    let again = story.wait(HOUR).lease_and_start();
    assert_eq!(again.clone().tell(begin(2, CHARGE, short)), Answer::StepBegun);
    let late = again.wait(2 * HOUR);
    let blind = Refusal::NotRepeatable(Uncertainty::WindowOver);
    assert_eq!(late.refusal(begin(2, CHARGE, short)), blind);
    // What it could do besides is not affected.
    assert_eq!(late.clone().tell(begin(2, NOTIFY, HEADER)), Answer::StepBegun);
}

#[test]
fn success_of_the_handler_closes_every_step() {
    let after = in_steps().then([begin(1, CHARGE, Contract::NONE), finish(1, CHARGE, unknown())]).end(done());
    assert_eq!((after.state(), after.record.may_be_applied()), (State::Succeeded, false));
}

#[test]
fn a_verdict_closes_the_unfinished_steps_and_keeps_the_finished_ones() {
    let story = in_steps().then([
        begin(1, NOTIFY, HEADER),
        finish(1, NOTIFY, done()),
        begin(1, CHARGE, Contract::NONE),
        pin(1, Some(CHARGE), "charge"),
    ]);
    let after = story.end(unknown()).then([resolve(Verdict::NotAppliedOldCallsRefused)]);
    assert_eq!(step_state(&after, &NOTIFY), (StepState::Done, false));
    assert_eq!(step_state(&after, &CHARGE), (StepState::NotApplied, false));
    let charge = &after.record.steps[&CHARGE].effect;
    assert_eq!((charge.pin.as_ref(), charge.first_started_at), (None, None));
}

#[test]
fn an_unknown_report_on_a_step_that_was_not_begun_again_has_a_deadline() {
    let reopened = in_steps()
        .then([begin(1, CHARGE, Contract::NONE)])
        .end(unknown())
        .then([resolve(Verdict::NotAppliedOldCallsRefused)]);
    let story = reopened.wait(HOUR).lease_and_start().then([finish(2, CHARGE, unknown())]);
    assert_eq!(step_state(&story, &CHARGE), (StepState::Started, true));
    assert_eq!(story.record.steps[&CHARGE].effect.first_sent_at(), Some(at(HOUR)));
}

#[test]
fn an_effect_that_was_pinned_outside_the_steps_is_not_forgotten() {
    let after = in_steps().then([pin(1, None, "body")]).end(unknown());
    assert_eq!((after.state(), after.why()), (State::Uncertain, Some(Uncertainty::NoDeduplication)));
    assert!(after.record.effect.may_be_applied);
}

fn asked_about(answer: Answer) -> Effect {
    match answer {
        Answer::AskAboutStep(effect) => *effect,
        other => panic!("a question was expected, found {other:?}"),
    }
}

/// A step whose destination recognises nothing was entered by a handler that can ask, and fell silent.
fn silent() -> Story {
    let begun = in_steps().then([begin_asking(1, CHARGE, Contract::NONE), pin(1, Some(CHARGE), "charge")]);
    let after = begun.end(unknown());
    assert_eq!((after.state(), after.record.may_be_applied()), (State::Pending, true));
    after.wait(HOUR).lease_and_start()
}

#[test]
fn a_step_that_must_not_be_repeated_is_asked_about_where_the_handler_can() {
    let mut story = silent();
    let before = story.record.clone();
    let unconfirmed = asked_about(story.tell(begin_asking(2, CHARGE, Contract::NONE)));
    assert_eq!(unconfirmed.pin.unwrap().wire_key, "invoice:1");
    assert_eq!(story.record, before, "a question changes nothing");
}

#[test]
fn a_handler_that_cannot_ask_any_more_sends_nothing() {
    let story = silent();
    let blind = Refusal::NotRepeatable(Uncertainty::NoDeduplication);
    assert_eq!(story.refusal(begin(2, CHARGE, Contract::NONE)), blind);
    // Not even where duplicates are allowed: the step said that there is a better way.
    let mut careless = story;
    careless.record.policy.on_unknown = OnUnknown::MayDuplicate;
    assert_eq!(careless.refusal(begin(2, CHARGE, Contract::NONE)), blind);
    assert_eq!(careless.refusal(pin(2, Some(CHARGE), "charge")), blind);
}

#[test]
fn a_handler_that_has_learned_to_ask_does_so() {
    let mut story = in_steps().then([begin(1, CHARGE, Contract::NONE)]).end(unknown());
    assert_eq!(story.state(), State::Uncertain);
    story.record.policy.retry.max_attempts = 3;
    // A person has it run again, for the sake of another step.
    story.tell(replay(true));
    story = story.lease_and_start();
    story.record.risk_accepted = false;
    let _ = asked_about(story.tell(begin_asking(2, CHARGE, Contract::NONE)));
    assert_eq!(story.end(unknown()).state(), State::Pending);
}

#[test]
fn a_window_and_a_horizon_that_are_over_lead_to_a_question() {
    for (contract, wait) in [(HEADER.remembers_for(HOUR), HOUR), (HEADER.remembers_forever(), 3 * DAY)] {
        let story = in_steps().then([begin_asking(1, CHARGE, contract)]).wait(wait).end(unknown());
        assert_eq!(story.state(), State::Pending, "{contract:?}");
        let mut again = story.wait(HOUR).lease_and_start();
        let unconfirmed = asked_about(again.tell(begin_asking(2, CHARGE, contract)));
        assert_eq!(unconfirmed.first_started_at, Some(START));
        // Asked about, it is repeated in a window of its own.
        assert_eq!(again.tell(restart(2, CHARGE)), Answer::StepBegun);
        assert_eq!(again.record.steps[&CHARGE].effect.first_sent_at(), Some(at(wait + HOUR)));
    }
}

#[test]
fn a_step_inside_its_window_is_repeated_and_not_asked_about() {
    let story = in_steps().then([begin_asking(1, CHARGE, HEADER)]).end(unknown());
    let mut again = story.wait(HOUR).lease_and_start();
    assert_eq!(again.tell(begin_asking(2, CHARGE, HEADER)), Answer::StepBegun);
}

#[test]
fn a_restart_forgets_what_was_sent_and_is_for_unconfirmed_steps_alone() {
    let mut story = silent();
    assert_eq!(story.tell(restart(2, CHARGE)), Answer::StepBegun);
    assert_eq!(step_state(&story, &CHARGE), (StepState::Started, false));
    assert_eq!(story.record.steps[&CHARGE].effect.pin, None);
    // What is sent now is nothing that the answer spoke of.
    assert_eq!(story.refusal(restart(2, CHARGE)), Refusal::NoStep);
    assert_eq!(story.refusal(restart(2, NOTIFY)), Refusal::NoStep);
    assert_eq!(story.refusal(restart(1, CHARGE)), Refusal::Superseded);
    assert_eq!(step_state(&story.end(unknown()), &CHARGE), (StepState::Started, true));
}

#[test]
fn questions_are_bounded_by_the_allowed_attempts() {
    let mut story = silent();
    let most = story.record.policy.retry.max_attempts;
    loop {
        // A wait that the handler asks for is not free while a question is open.
        story = story.end(told_to_wait(MINUTE));
        if story.state() != State::Pending {
            break;
        }
        story = story.wait(DAY).lease_and_start();
    }
    assert_eq!((story.why(), story.record.attempts), (Some(Uncertainty::AttemptsSpent), most));
}

#[test]
fn a_replay_of_a_step_that_can_be_asked_about_accepts_no_risk() {
    let mut story = silent();
    story.record.spent = story.record.policy.retry.max_attempts - 1;
    let mut parked = story.end(unknown());
    assert_eq!(parked.why(), Some(Uncertainty::AttemptsSpent));
    let preview = preview_replay(&parked.record, parked.now);
    assert_eq!(preview.decision, Ok(Answer::Now(State::Pending)));
    assert!(preview.unconfirmed[0].asked_first);
    parked.tell(replay(false));
    let _ = asked_about(parked.lease_and_start().tell(begin_asking(3, CHARGE, Contract::NONE)));
}

#[test]
fn a_step_that_cannot_be_asked_about_parks_the_record_beside_one_that_can() {
    let both = [begin_asking(1, CHARGE, Contract::NONE), begin(1, NOTIFY, Contract::NONE)];
    let after = in_steps().then(both).end(unknown());
    assert_eq!((after.state(), after.why()), (State::Uncertain, Some(Uncertainty::NoDeduplication)));
}

#[test]
fn what_a_step_can_be_asked_about_says_nothing_about_the_handler_itself() {
    let story = Story::running(Contract::NONE).then([begin_asking(1, CHARGE, Contract::NONE)]);
    let after = story.end(unknown());
    assert_eq!((after.state(), after.why()), (State::Uncertain, Some(Uncertainty::NoDeduplication)));
}
