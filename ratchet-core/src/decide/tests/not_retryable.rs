//! A handler that does not know what happened, and says that another attempt is of no use.

use super::*;

fn given_up() -> Outcome {
    Outcome::unknown(Cause::new(CauseKind::NotRetryable, "the card is stolen"))
}

#[test]
fn there_is_no_other_attempt_whatever_the_policy_and_the_destination_say() {
    for contract in [Contract::NONE, HEADER, HEADER.remembers_forever()] {
        for (on_unknown, state) in [
            (OnUnknown::Park, State::Uncertain),
            (OnUnknown::MayDuplicate, State::Uncertain),
            (OnUnknown::MayLose, State::Abandoned),
        ] {
            let story = Story::with(contract, |policy| policy.on_unknown = on_unknown);
            let ended = story.lease_and_start().end(given_up());
            assert_eq!(ended.state(), state, "{on_unknown:?}");
            assert!(ended.record.may_be_applied());
            let why = (state == State::Uncertain).then_some(Uncertainty::NotRetryable);
            assert_eq!(ended.why(), why);
        }
    }
}

#[test]
fn a_reconciler_asks_all_the_same() {
    let story = Story::with(Contract::NONE, |policy| {
        policy.on_unknown = OnUnknown::MayLose;
        policy.reconciles = true;
    });
    let parked = story.lease_and_start().end(given_up());
    assert_eq!((parked.state(), parked.record.reconcile_at), (State::Uncertain, Some(START)));
}

#[test]
fn a_handler_whose_steps_are_certain_has_failed() {
    let steps = Story::running(Contract::STEPS);
    let certain = steps.then([begin(1, CHARGE, HEADER), finish(1, CHARGE, not_applied())]);
    let failed = certain.end(given_up());
    assert_eq!((failed.state(), failed.record.may_be_applied()), (State::Failed, false));
}

#[test]
fn a_replay_starts_over() {
    let again = Story::running(HEADER).end(given_up()).then([replay(false)]);
    assert_eq!(again.state(), State::Pending);
    let retried = again.lease_and_start().end(unknown());
    assert_eq!(retried.state(), State::Pending, "only the last word counts");
}

#[test]
fn a_hint_after_an_unknown_outcome_is_a_lower_bound() {
    let hint = |span| Outcome::Unknown { cause: cause(), retry_after: Some(span) };
    for contract in [Contract::NONE, HEADER] {
        for (span, wait) in [(SECOND, 30 * SECOND), (HOUR, HOUR)] {
            let story = Story::with(contract, |policy| policy.on_unknown = OnUnknown::MayDuplicate);
            let waits = story.lease_and_start().end(hint(span));
            assert_eq!((waits.state(), waits.record.ready_at), (State::Pending, at(wait)));
        }
    }
}

#[test]
fn a_custom_policy_of_the_wire_can_be_said() {
    let policy = RetryPolicy {
        max_attempts: 4,
        first_delay: 10 * SECOND,
        growth_percent: 150,
        max_delay: 20 * SECOND,
        jitter_percent: 0,
        horizon: Duration::MAX,
    };
    let mut story = Story::with(Contract::NONE, |own| {
        own.on_unknown = OnUnknown::MayDuplicate;
        own.retry = policy;
    });
    for wait in [10_000, 15_000, 20_000] {
        let ended = story.now;
        story = story.lease_and_start().end(unknown());
        let wait = Duration::from_millis(wait);
        assert_eq!(story.record.ready_at.since(ended), wait);
        story = story.wait(wait);
    }
    let last = story.lease_and_start().end(unknown());
    assert_eq!((last.state(), last.why()), (State::Uncertain, Some(Uncertainty::AttemptsSpent)));
}
