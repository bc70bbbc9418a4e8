//! What the compiler computes of the retries (R009, R010) is what they do.

use proptest::prelude::*;

use super::*;

fn policy() -> impl Strategy<Value = (RetryPolicy, Duration)> {
    let seconds = |most: u64| (0..most).prop_map(Duration::from_secs);
    let waits = (0..20_u32, seconds(90_000), 0..1_000_u32, seconds(200_000), 0..150_u32);
    (waits, seconds(400_000), seconds(1_000)).prop_map(|(waits, horizon, timeout)| {
        let (max_attempts, first_delay, growth_percent, max_delay, jitter_percent) = waits;
        let policy =
            RetryPolicy { max_attempts, first_delay, growth_percent, max_delay, jitter_percent, horizon };
        (policy, timeout)
    })
}

/// The end of the last attempt, if each runs for as long as it may, and each wait is as long as it may be.
fn last_send(retry: RetryPolicy, timeout: Duration) -> Duration {
    let mut story = Story::with(HEADER.remembers_forever(), |own| own.retry = retry);
    loop {
        story.now = story.record.ready_at;
        story = story.lease_and_start().wait(timeout);
        let moment = Moment { now: story.now, jitter: Jitter::LONGEST };
        let token = story.record.token.get();
        story.record = decide(&story.record, &settle(token, unknown()), moment).expect("settled").record;
        if story.state() != State::Pending {
            return story.now.since(START);
        }
    }
}

proptest! {
    #[test]
    fn the_longest_span_is_the_time_of_the_last_send((retry, timeout) in policy()) {
        let (last, span) = (last_send(retry, timeout), retry.longest_span(timeout));
        // An attempt that is under way when the horizon ends sends nothing after it.
        prop_assert!(last.min(retry.horizon) <= span, "{last:?} {span:?}");
        // Each time is cut to milliseconds.
        let cut = Duration::from_millis(u64::from(retry.max_attempts));
        prop_assert!(span == retry.horizon || span <= last + cut, "{last:?} {span:?}");
    }
}
