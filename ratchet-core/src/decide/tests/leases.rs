//! Leases: granted, started, extended, given back, ended.

use super::*;

fn renew(token: u64, duration: Duration) -> Command {
    Command::Renew { token: Token::new(token), duration }
}

fn release(token: u64) -> Command {
    Command::Release { token: Token::new(token) }
}

#[test]
fn a_lease_is_not_a_start() {
    let mut story = Story::of(Contract::NONE);
    let decision = story.decision(&lease());
    assert_eq!(decision.answer, Answer::Leased);
    let record = &story.record;
    assert_eq!((record.state, record.token.get(), record.attempts), (State::Running, 1, 0));
    assert_eq!(record.lease.as_ref().map(|lease| (lease.until, lease.started_at)), Some((at(MINUTE), None)));
    assert_eq!(record.effect.first_started_at, None);
    let Some(AttemptNote::Opened(attempt)) = decision.attempt else {
        panic!("a new attempt is opened");
    };
    assert_eq!((attempt.token.get(), attempt.leased_at, attempt.started_at), (1, START, None));
    assert_eq!(story.refusal(settle(1, done())), Refusal::NotStarted);
    assert_eq!(story.refusal(pin(1, None, "body")), Refusal::NotStarted);
    assert_eq!(story.refusal(begin(1, CHARGE, HEADER)), Refusal::NotStarted);
}

#[test]
fn an_unstarted_lease_that_ends_or_is_given_back_costs_nothing() {
    let ended = Story::of(Contract::NONE).then([lease()]).wait(MINUTE).then([Command::Expire]);
    let returned = Story::of(Contract::NONE).then([lease()]).wait(MINUTE).then([release(1)]);
    for story in [ended, returned] {
        let expected = Record { token: Token::new(1), ..Story::of(Contract::NONE).record };
        assert_eq!(story.record, expected, "nothing but the token remembers the lease");
    }
}

#[test]
fn a_started_lease_that_ends_is_unknown_and_is_not_given_back() {
    let mut story = Story::running(Contract::NONE).wait(MINUTE);
    assert_eq!(story.refusal(release(1)), Refusal::AlreadyStarted);
    let decision = story.decision(&Command::Expire);
    assert_eq!(decision.answer, Answer::Settled(State::Uncertain));
    let (token, end) = end(&decision);
    assert_eq!((token, end.late, end.at), (1, false, at(MINUTE)));
    assert_eq!(end.cause.as_ref().map(Cause::kind), Some(CauseKind::LeaseLost));
    assert!(story.record.effect.may_be_applied);
}

#[test]
fn starting_twice_counts_once() {
    let mut story = Story::running(HEADER).wait(SECOND);
    let before = story.record.clone();
    let decision = story.decision(&start(1));
    assert_eq!((decision.answer, decision.attempt), (Answer::Started, None));
    assert_eq!(story.record, before);
    assert_eq!((before.attempts, before.effect.first_started_at), (1, Some(START)));
}

#[test]
fn the_start_is_merged_with_the_lease_only_where_the_destination_deduplicates() {
    for (contract, started_at, attempts) in [
        (HEADER, Some(START), 1),
        (HEADER.remembers_forever(), Some(START), 1),
        (Contract::NONE, None, 0),
        (Contract::STEPS, None, 0),
    ] {
        let story = Story::of(contract).then([lease_ahead()]);
        assert_eq!(story.record.lease.and_then(|lease| lease.started_at), started_at, "{contract:?}");
        assert_eq!(story.record.attempts, attempts, "{contract:?}");
    }
}

#[test]
fn a_merged_start_that_nobody_used_is_unknown_like_any_other() {
    let story = Story::of(HEADER).then([lease_ahead()]).wait(MINUTE).then([Command::Expire]);
    assert_eq!((story.state(), story.record.spent), (State::Pending, 1));
    assert!(story.record.may_be_applied());
}

#[test]
fn a_record_is_leased_when_it_is_due_and_pending_and_not_otherwise() {
    let waiting = Story::running(HEADER).end(not_applied());
    assert_eq!(waiting.refusal(lease()), Refusal::NotDue(at(30 * SECOND)));
    assert_eq!(waiting.wait(30 * SECOND).tell(lease()), Answer::Leased);
    assert_eq!(Story::running(HEADER).refusal(lease()), Refusal::State(State::Running));
    assert_eq!(Story::running(HEADER).end(done()).refusal(lease()), Refusal::State(State::Succeeded));
}

#[test]
fn where_a_loss_is_accepted_a_record_that_slept_past_its_window_is_abandoned() {
    let mut story = Story::with(HEADER, |policy| policy.on_unknown = OnUnknown::MayLose)
        .lease_and_start()
        .end(unknown())
        .wait(3 * DAY);
    assert_eq!(story.state(), State::Pending);
    assert_eq!(story.decision(&lease()).answer, Answer::Parked(Uncertainty::WindowOver));
    assert_eq!(story.state(), State::Abandoned);
}

#[test]
fn a_record_that_slept_past_its_deadline_is_parked_and_not_leased() {
    let asleep = |contract, change: fn(&mut Policy)| {
        Story::with(contract, change).lease_and_start().end(unknown()).wait(3 * DAY)
    };
    for (mut story, why) in [
        (asleep(HEADER, |_| {}), Uncertainty::WindowOver),
        (asleep(HEADER.remembers_forever(), |_| {}), Uncertainty::HorizonOver),
        (
            asleep(Contract::NONE, |policy| policy.on_unknown = OnUnknown::MayDuplicate),
            Uncertainty::HorizonOver,
        ),
    ] {
        assert_eq!(story.state(), State::Pending);
        let decision = story.decision(&lease());
        assert_eq!((decision.answer, decision.attempt), (Answer::Parked(why), None));
        assert_eq!((story.state(), story.why()), (State::Uncertain, Some(why)));
        assert_eq!(story.record.settled_at, Some(at(3 * DAY)));
        assert_eq!((story.record.token.get(), story.record.attempts), (1, 1));
    }
}

#[test]
fn a_record_that_certainly_had_no_effect_is_leased_however_long_it_slept() {
    let story = Story::running(Contract::NONE).end(not_applied()).wait(3 * DAY);
    assert_eq!(story.clone().tell(lease()), Answer::Leased);
    let never_tried = Story::of(Contract::NONE).wait(300 * DAY);
    assert_eq!(never_tried.clone().tell(lease()), Answer::Leased);
}

#[test]
fn a_lease_is_over_at_its_deadline_or_when_no_clock_can_have_granted_it() {
    let story = Story::of(HEADER).then([lease()]);
    assert_eq!(story.clone().wait(59 * SECOND).refusal(Command::Expire), Refusal::NotExpired);
    assert_eq!(story.clone().wait(MINUTE).tell(Command::Expire), Answer::Released);
    // The clock is set back: by 14 minutes that can be, by more the lease is longer than the longest.
    let set_back = |span: Duration| Story {
        now: Timestamp::from_millis(
            START.as_millis() - i64::try_from(span.as_millis()).expect("a short span"),
        ),
        ..story.clone()
    };
    assert_eq!(set_back(14 * MINUTE).refusal(Command::Expire), Refusal::NotExpired);
    assert_eq!(set_back(14 * MINUTE + SECOND).tell(Command::Expire), Answer::Released);
    assert_eq!(Story::of(HEADER).refusal(Command::Expire), Refusal::State(State::Pending));
}

#[test]
fn no_lease_lasts_longer_than_a_quarter_of_an_hour() {
    let forever = Command::Lease {
        worker: WorkerId::from_static("worker-1"),
        duration: Duration::MAX,
        start_if_safe: false,
    };
    let mut story = Story::of(HEADER).then([forever]);
    assert_eq!(story.record.lease.as_ref().map(|lease| lease.until), Some(at(15 * MINUTE)));
    story = story.wait(MINUTE);
    let renewed = Answer::Renewed { until: at(16 * MINUTE), cancel_requested: false };
    assert_eq!(story.tell(renew(1, DAY)), renewed);
}

#[test]
fn stale_is_a_superseded_token_and_not_a_passed_deadline() {
    let late = Story::running(HEADER).wait(DAY);
    let renewed = Answer::Renewed { until: at(DAY + MINUTE), cancel_requested: false };
    assert_eq!(late.clone().tell(renew(1, MINUTE)), renewed);
    assert_eq!(late.end(done()).state(), State::Succeeded);
    let newer = Story::running(HEADER).end(unknown()).wait(HOUR).lease_and_start();
    for token in [0, 1, 3] {
        for command in [
            start(token),
            renew(token, MINUTE),
            release(token),
            pin(token, None, "body"),
            begin(token, CHARGE, HEADER),
            finish(token, CHARGE, done()),
        ] {
            assert_eq!(newer.refusal(command.clone()), Refusal::Superseded, "{command:?}");
        }
    }
}
