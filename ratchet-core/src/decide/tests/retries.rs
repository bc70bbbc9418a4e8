//! When the next attempt happens, and what counts against the bounds.

use super::*;

fn ready_after(policy: RetryPolicy, jitter: Jitter, outcome: Outcome) -> Duration {
    let story = Story::with(HEADER.remembers_forever(), |own| own.retry = policy).lease_and_start();
    let moment = Moment { now: story.now, jitter };
    let decision = decide(&story.record, &settle(1, outcome), moment).expect("settled");
    assert_eq!(decision.record.state, State::Pending);
    decision.record.ready_at.since(START)
}

#[test]
fn a_wait_is_spread_by_the_jitter_and_never_beyond_it() {
    let policy = RetryPolicy { first_delay: 100 * SECOND, jitter_percent: 20, ..RetryPolicy::STANDARD };
    for (roll, wait) in [(0, 80), (250, 90), (500, 100), (750, 110), (1000, 120)] {
        let jitter = Jitter::from_bits(roll);
        assert_eq!(ready_after(policy, jitter, not_applied()), wait * SECOND, "roll {roll}");
        assert_eq!(ready_after(policy, jitter, unknown()), wait * SECOND, "roll {roll}");
    }
    let whole = RetryPolicy { jitter_percent: 100, ..policy };
    assert_eq!(ready_after(whole, Jitter::SHORTEST, unknown()), Duration::ZERO);
    assert_eq!(ready_after(whole, Jitter::LONGEST, unknown()), 200 * SECOND);
    assert_eq!(
        ready_after(RetryPolicy { jitter_percent: 0, ..policy }, Jitter::LONGEST, unknown()),
        100 * SECOND
    );
    let nonsense = RetryPolicy { jitter_percent: 5000, ..policy };
    assert_eq!(ready_after(nonsense, Jitter::SHORTEST, unknown()), Duration::ZERO);
}

#[test]
fn every_number_of_random_bits_is_a_roll_between_the_shortest_and_the_longest() {
    for (bits, roll) in [(0, 0), (1000, 1000), (1001, 0), (u64::MAX, 15)] {
        assert_eq!(Jitter::from_bits(bits).per_mille(), roll, "{bits}");
    }
}

#[test]
fn the_cap_holds_before_the_spread() {
    let capped = RetryPolicy {
        first_delay: HOUR,
        max_delay: 10 * MINUTE,
        jitter_percent: 20,
        ..RetryPolicy::STANDARD
    };
    assert_eq!(ready_after(capped, Jitter::LONGEST, unknown()), 12 * MINUTE);
    assert_eq!(ready_after(capped, Jitter::SHORTEST, unknown()), 8 * MINUTE);
}

#[test]
fn an_enormous_wait_is_a_day_and_no_overflow() {
    let enormous = RetryPolicy {
        first_delay: Duration::MAX,
        max_delay: Duration::MAX,
        growth_percent: u32::MAX,
        jitter_percent: 100,
        horizon: Duration::MAX,
        max_attempts: u32::MAX,
    };
    assert_eq!(ready_after(enormous, Jitter::LONGEST, unknown()), DAY);
    assert_eq!(ready_after(enormous, Jitter::SHORTEST, unknown()), Duration::ZERO);
    // What a destination asks for is not cut short: to come earlier would be a known mistake.
    assert_eq!(ready_after(enormous, Jitter::MIDDLE, told_to_wait(3 * DAY)), 3 * DAY);
}

#[test]
fn waits_double_up_to_the_cap() {
    let mut story = Story::with(HEADER.remembers_forever(), |policy| {
        policy.retry = RetryPolicy { max_attempts: 8, jitter_percent: 0, ..RetryPolicy::STANDARD };
    });
    let mut waits = Vec::new();
    for _ in 0..7 {
        story = story.lease_and_start().end(not_applied());
        waits.push(story.record.ready_at.since(story.now).as_secs());
        story.now = story.record.ready_at;
    }
    assert_eq!(waits, [30, 60, 120, 240, 480, 900, 900]);
}

#[test]
fn retry_after_is_a_lower_bound() {
    let policy = RetryPolicy { jitter_percent: 0, ..RetryPolicy::STANDARD };
    for (asked, wait) in [(SECOND, 30 * SECOND), (29 * SECOND, 30 * SECOND), (31 * SECOND, 31 * SECOND)] {
        assert_eq!(ready_after(policy, Jitter::MIDDLE, told_to_wait(asked)), wait);
        let outcome = Outcome::Unknown { cause: cause(), retry_after: Some(asked) };
        assert_eq!(ready_after(policy, Jitter::MIDDLE, outcome), wait);
    }
}

#[test]
fn a_requested_wait_spends_no_attempt_and_does_not_move_the_deadline() {
    let mut story = Story::of(HEADER);
    for started in 1..=23 {
        story = story.lease_and_start().end(told_to_wait(HOUR));
        assert_eq!((story.state(), story.record.spent), (State::Pending, 0));
        assert_eq!(story.record.attempts, started);
        story = story.wait(HOUR);
    }
    assert_eq!(story.record.effect.first_started_at, Some(START));
    // The 24th wait would end at the horizon.
    story = story.lease_and_start().end(told_to_wait(HOUR));
    assert_eq!((story.state(), story.record.attempts), (State::Exhausted, 24));
}

#[test]
fn a_requested_wait_spends_nothing_after_an_unknown_attempt_either() {
    let mut story = Story::with(HEADER.remembers_forever(), |_| {}).lease_and_start().end(unknown());
    for _ in 0..22 {
        story = story.wait(HOUR).lease_and_start().end(told_to_wait(HOUR));
        assert_eq!((story.state(), story.record.spent), (State::Pending, 1));
    }
    story = story.wait(HOUR).lease_and_start().end(told_to_wait(HOUR));
    assert_eq!((story.state(), story.why()), (State::Uncertain, Some(Uncertainty::HorizonOver)));
}

#[test]
fn certain_failures_are_exhausted_after_the_allowed_attempts() {
    let mut story = Story::of(Contract::NONE);
    for spent in 1..=4 {
        story = story.lease_and_start().end(not_applied());
        assert_eq!((story.state(), story.record.spent), (State::Pending, spent));
        story = story.wait(HOUR);
    }
    story = story.lease_and_start().end(not_applied());
    assert_eq!((story.state(), story.record.spent, story.record.attempts), (State::Exhausted, 5, 5));
    assert!(!story.record.may_be_applied());
}

#[test]
fn may_duplicate_sends_again_within_its_bounds() {
    let mut story = Story::with(Contract::NONE, |policy| policy.on_unknown = OnUnknown::MayDuplicate);
    for _ in 0..4 {
        story = story.lease_and_start().end(unknown());
        assert_eq!(story.state(), State::Pending);
        story = story.wait(HOUR);
    }
    story = story.lease_and_start().end(unknown());
    assert_eq!((story.state(), story.why()), (State::Uncertain, Some(Uncertainty::AttemptsSpent)));
}

#[test]
fn may_lose_gives_up_and_says_that_it_may_have_happened() {
    let story = Story::with(Contract::NONE, |policy| policy.on_unknown = OnUnknown::MayLose);
    let after = story.lease_and_start().wait(SECOND).end(unknown());
    assert_eq!((after.state(), after.why()), (State::Abandoned, None));
    assert_eq!(after.record.settled_at, Some(at(SECOND)));
    assert!(after.record.may_be_applied());
}

fn not_admitted(wait: Duration) -> Outcome {
    let cause = Cause::new(CauseKind::NotAdmitted, "`payments`: the circuit breaker is open");
    Outcome::NotApplied { cause, retry_after: Some(wait) }
}

#[test]
fn who_is_not_admitted_waits_as_long_as_the_gate_says_and_longer_than_the_horizon() {
    assert_eq!(ready_after(RetryPolicy::STANDARD, Jitter::MIDDLE, not_admitted(SECOND)), SECOND);
    let mut story = Story::of(HEADER);
    for _ in 0..40 {
        story = story.lease_and_start().end(not_admitted(HOUR));
        assert_eq!((story.state(), story.record.spent), (State::Pending, 0));
        story = story.wait(HOUR);
    }
    assert_eq!(story.lease_and_start().end(done()).state(), State::Succeeded);
}

#[test]
fn who_is_not_admitted_after_a_send_keeps_its_deadline() {
    let mut story = Story::of(HEADER).lease_and_start().end(unknown()).wait(HOUR);
    for _ in 0..21 {
        story = story.lease_and_start().end(not_admitted(HOUR));
        assert_eq!((story.state(), story.record.spent), (State::Pending, 1));
        assert!(story.record.may_be_applied());
        story = story.wait(HOUR);
    }
    let story = story.lease_and_start().end(not_admitted(HOUR));
    assert_eq!((story.state(), story.record.effect.first_sent_at()), (State::Uncertain, Some(START)));
}

#[test]
fn a_destination_that_asks_to_wait_and_recognises_the_request_spends_no_attempt() {
    let in_flight = || Outcome::Unknown { cause: cause(), retry_after: Some(SECOND) };
    let mut story = Story::of(HEADER);
    for _ in 0..20 {
        story = story.lease_and_start().end(in_flight());
        assert_eq!((story.state(), story.record.spent), (State::Pending, 0));
        story = story.wait(MINUTE);
    }
    assert_eq!(story.lease_and_start().end(done()).state(), State::Succeeded);
    // Where it will not be recognised, each send is a risk of its own.
    let told = Story::with(Contract::NONE, |policy| policy.on_unknown = OnUnknown::MayDuplicate);
    assert_eq!(told.lease_and_start().end(in_flight()).record.spent, 1);
}
