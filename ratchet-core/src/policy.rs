//! How an operation is retried, bounded and kept. Every record carries a snapshot of its policy.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What to do about an unknown outcome where the destination cannot be asked again with the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnknown {
    /// Stop, and keep the record for a person or a reconciler.
    #[default]
    Park,
    /// Send again: the effect may happen twice.
    MayDuplicate,
    /// Give up: the effect may never happen.
    MayLose,
}

/// When a failed attempt is followed by another, and when no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// How many executions there are at the most, the first one included.
    pub max_attempts: u32,
    /// The wait before the second execution.
    #[serde(with = "crate::span")]
    pub first_delay: Duration,
    /// By how much each wait is longer than the one before, in hundredths: 200 doubles.
    pub growth_percent: u32,
    /// The longest wait, before the spread.
    #[serde(with = "crate::span")]
    pub max_delay: Duration,
    /// By how many per cent a wait is spread in both directions, 0 to 100.
    pub jitter_percent: u32,
    /// How long after the first send the last automatic one may happen.
    #[serde(with = "crate::span")]
    pub horizon: Duration,
}

impl RetryPolicy {
    /// Five executions, 30 seconds first, doubling up to 15 minutes, spread by 20 per cent, all within a day.
    pub const STANDARD: Self = Self::doubling(5, Duration::from_secs(30), Duration::from_mins(15));
    /// Eight executions, 5 seconds first, doubling up to 5 minutes.
    pub const AGGRESSIVE: Self = Self::doubling(8, Duration::from_secs(5), Duration::from_mins(5));
    /// Three executions, 2 minutes first, doubling up to 30 minutes.
    pub const RELAXED: Self = Self::doubling(3, Duration::from_mins(2), Duration::from_mins(30));
    /// The longest wait between two attempts, whatever a policy or a destination asks for.
    pub const LONGEST_DELAY: Duration = Duration::from_hours(24);

    /// A policy that doubles its waits, spread by 20 per cent, with a horizon of a day.
    #[must_use]
    pub const fn doubling(max_attempts: u32, first_delay: Duration, max_delay: Duration) -> Self {
        Self {
            max_attempts,
            first_delay,
            growth_percent: 200,
            max_delay,
            jitter_percent: 20,
            horizon: Duration::from_hours(24),
        }
    }

    /// The same policy with another horizon.
    #[must_use]
    pub const fn within(mut self, horizon: Duration) -> Self {
        self.horizon = horizon;
        self
    }

    /// The longest time from a first send to the last automatic one, if each attempt may run for `timeout`: all attempts
    /// (one may send at its very end), and the waits between them at their longest. Never more than the horizon, which
    /// ends all of it.
    ///
    /// A wait that a destination asks for is not counted: it spends no attempt, and what ends it is the horizon.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ratchet_core::RetryPolicy;
    ///
    /// // Four waits of 30, 60, 120 and 240 s, each a fifth longer at the most, and five attempts.
    /// let longest = RetryPolicy::STANDARD.longest_span(Duration::from_secs(60));
    /// assert_eq!(longest, Duration::from_secs(540 + 300));
    /// ```
    #[must_use]
    pub const fn longest_span(&self, timeout: Duration) -> Duration {
        // The first happens whatever the policy says.
        let attempts = if self.max_attempts == 0 { 1 } else { self.max_attempts as u128 };
        let mut span = timeout.as_nanos().saturating_mul(attempts);
        let cap = self.max_delay.as_nanos();
        let mut delay = lesser(self.first_delay.as_nanos(), cap);
        let mut waits = attempts - 1;
        while waits > 0 {
            let next = lesser(delay.saturating_mul(self.growth_percent as u128) / 100, cap);
            // From the last change on, all waits are the same.
            let alike = if next == delay { waits } else { 1 };
            span = span.saturating_add(self.spread(delay).saturating_mul(alike));
            waits -= alike;
            delay = next;
        }
        from_nanos(lesser(span, self.horizon.as_nanos()))
    }

    /// A wait at its longest.
    const fn spread(&self, delay: u128) -> u128 {
        let jitter = if self.jitter_percent > 100 { 100 } else { self.jitter_percent };
        lesser(delay.saturating_mul(100 + jitter as u128) / 100, Self::LONGEST_DELAY.as_nanos())
    }

    /// The wait after `spent` executions (counted from 1), before the spread.
    pub(crate) fn delay_after(&self, spent: u32) -> Duration {
        let mut delay = self.first_delay.min(self.max_delay);
        for _ in 1..spent {
            let next = (delay.saturating_mul(self.growth_percent) / 100).min(self.max_delay);
            if next == delay {
                break;
            }
            delay = next;
        }
        delay
    }
}

const fn lesser(one: u128, other: u128) -> u128 {
    if one < other { one } else { other }
}

const fn from_nanos(nanos: u128) -> Duration {
    const SECOND: u128 = 1_000_000_000;
    let seconds = nanos / SECOND;
    if seconds > u64::MAX as u128 {
        return Duration::MAX;
    }
    #[allow(clippy::cast_possible_truncation, reason = "both were made to fit")]
    Duration::new(seconds as u64, (nanos % SECOND) as u32)
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::STANDARD
    }
}

/// Everything about an operation that the decision function needs beside the contract of its destination.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Policy {
    /// When and how often to try again.
    pub retry: RetryPolicy,
    /// How long one attempt may run.
    #[serde(with = "crate::span")]
    pub timeout: Duration,
    /// What to do about an unknown outcome without deduplication.
    pub on_unknown: OnUnknown,
    /// Whether somebody can ask the destination, with the pinned key, what happened.
    pub reconciles: bool,
    /// How long after the last attempt the destination is asked for the first time: look-ups can lag behind.
    #[serde(default, skip_serializing_if = "Duration::is_zero", with = "crate::span")]
    pub reconcile_after: Duration,
    /// How long a settled record is kept before a tombstone takes its place.
    #[serde(with = "crate::span")]
    pub retention: Duration,
    /// How long after its end a record may be replayed; `None`: for as long as it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_within: Option<Duration>,
}

impl Policy {
    /// Standard retries, attempts of 60 seconds at the most, park on unknown, 90 days of retention.
    pub const DEFAULT: Self = Self {
        retry: RetryPolicy::STANDARD,
        timeout: Duration::from_mins(1),
        on_unknown: OnUnknown::Park,
        reconciles: false,
        reconcile_after: Duration::ZERO,
        retention: Duration::from_hours(2160),
        replay_within: None,
    };
}

impl Default for Policy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_delays_double_up_to_the_cap() {
        let delays: Vec<u64> = (1..=7).map(|n| RetryPolicy::STANDARD.delay_after(n).as_secs()).collect();
        assert_eq!(delays, [30, 60, 120, 240, 480, 900, 900]);
    }

    #[test]
    fn a_record_keeps_little_of_a_policy_and_all_that_it_says() {
        let json = serde_json::to_string(&Policy::DEFAULT).unwrap();
        assert_eq!(
            json,
            r#"{"retry":{"max_attempts":5,"first_delay":30000,"growth_percent":200,"max_delay":900000,"jitter_percent":20,"horizon":86400000},"timeout":60000,"on_unknown":"park","reconciles":false,"retention":7776000000}"#
        );
        let mut policy = Policy { timeout: Duration::new(1, 1), retention: Duration::MAX, ..Policy::DEFAULT };
        policy.reconcile_after = Duration::from_millis(1);
        let json = serde_json::to_string(&policy).unwrap();
        assert!(json.contains(r#""timeout":{"secs":1,"nanos":1}"#), "{json}");
        assert_eq!(serde_json::from_str::<Policy>(&json).unwrap(), policy);
    }

    #[test]
    fn the_longest_span_is_the_sum_of_attempts_and_waits_within_the_horizon() {
        const MINUTE: Duration = Duration::from_mins(1);
        let span = |policy: RetryPolicy| policy.longest_span(MINUTE);
        assert_eq!(span(RetryPolicy::AGGRESSIVE), Duration::from_secs(738) + 8 * MINUTE);
        assert_eq!(span(RetryPolicy { max_attempts: 1, ..RetryPolicy::STANDARD }), MINUTE);
        assert_eq!(span(RetryPolicy { max_attempts: 0, ..RetryPolicy::STANDARD }), MINUTE);
        // 100 waits of 15 minutes and more are cut by the horizon of a day.
        assert_eq!(
            span(RetryPolicy { max_attempts: 100, ..RetryPolicy::STANDARD }),
            Duration::from_hours(24)
        );
        let endless = RetryPolicy { max_attempts: u32::MAX, horizon: Duration::MAX, ..RetryPolicy::STANDARD };
        assert_eq!(endless.longest_span(Duration::MAX), Duration::MAX);
    }

    #[test]
    fn the_longest_span_is_what_the_delays_add_up_to() {
        for growth_percent in [0, 50, 100, 101, 150, 1000] {
            for max_attempts in 1..40 {
                let policy = RetryPolicy {
                    growth_percent,
                    max_attempts,
                    horizon: Duration::MAX,
                    ..RetryPolicy::STANDARD
                };
                let waits: Duration =
                    (1..max_attempts).map(|spent| policy.delay_after(spent) * 120 / 100).sum();
                assert_eq!(policy.longest_span(Duration::ZERO), waits, "{policy:?}");
            }
        }
    }

    #[test]
    fn a_policy_without_growth_ends_at_once() {
        let flat = RetryPolicy { growth_percent: 100, ..RetryPolicy::STANDARD };
        assert_eq!(flat.delay_after(u32::MAX), Duration::from_secs(30));
    }
}
