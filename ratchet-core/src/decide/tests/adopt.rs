//! What was enqueued before its operation was declared.

use super::*;

/// As it comes from a producer that knows nothing of the destination.
fn undeclared() -> Story {
    Story::with(Contract::NONE, |policy| policy.on_unknown = OnUnknown::MayDuplicate)
}

#[test]
fn it_is_held_to_the_declaration_from_its_next_execution_on() {
    let mut story = undeclared().then([lease()]);
    assert!(story.record.is_laxer_than(&Policy::DEFAULT));
    assert_eq!(story.tell(adopt(1, HEADER, Policy::DEFAULT)), Answer::Adopted);
    assert!(!story.record.is_laxer_than(&Policy::DEFAULT));
    assert_eq!(story.record.effect.contract, HEADER.terms());
    // Its retries stay those that it was enqueued with.
    assert_eq!(story.record.policy.retry.jitter_percent, 0);
    let parked =
        undeclared().then([lease(), adopt(1, Contract::NONE, Policy::DEFAULT), start(1)]).end(unknown());
    assert_eq!((parked.state(), parked.why()), (State::Uncertain, Some(Uncertainty::NoDeduplication)));
    assert_eq!(undeclared().lease_and_start().end(unknown()).state(), State::Pending);
}

#[test]
fn what_may_have_happened_before_is_not_repeated() {
    let mut story = undeclared().lease_and_start().end(unknown()).wait(HOUR).then([lease()]);
    // How the first request asked for the effect nobody knows, so that the destination may not recognise it.
    assert_eq!(story.tell(adopt(2, HEADER, Policy::DEFAULT)), Answer::Parked(Uncertainty::NoDeduplication));
    assert_eq!((story.state(), story.record.lease), (State::Uncertain, None));
    let lost = Policy { on_unknown: OnUnknown::MayLose, ..Policy::DEFAULT };
    let given_up =
        undeclared().lease_and_start().end(unknown()).wait(HOUR).then([lease(), adopt(2, HEADER, lost)]);
    assert_eq!(given_up.state(), State::Abandoned);
}

#[test]
fn a_declared_reconciler_is_asked_before_anything_is_repeated() {
    let asks = Policy { on_unknown: OnUnknown::MayDuplicate, reconciles: true, ..Policy::DEFAULT };
    let story = undeclared().lease_and_start().end(unknown()).wait(HOUR);
    assert!(story.record.is_laxer_than(&asks));
    let story = story.then([lease(), adopt(2, Contract::NONE, asks)]);
    assert_eq!(story.state(), State::Uncertain);
    assert!(story.record.reconcile_at.is_some());
}

#[test]
fn only_the_holder_of_the_lease_has_it_held_and_only_before_the_start() {
    let leased = undeclared().then([lease()]);
    let refused = leased.refusal(adopt(2, HEADER, Policy::DEFAULT));
    assert_eq!(refused, Refusal::Superseded);
    let started = undeclared().lease_and_start();
    assert_eq!(started.refusal(adopt(1, HEADER, Policy::DEFAULT)), Refusal::AlreadyStarted);
}
