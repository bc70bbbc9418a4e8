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
    pub first_delay: Duration,
    /// By how much each wait is longer than the one before, in hundredths: 200 doubles.
    pub growth_percent: u32,
    /// The longest wait, before the spread.
    pub max_delay: Duration,
    /// By how many per cent a wait is spread in both directions, 0 to 100.
    pub jitter_percent: u32,
    /// How long after the first send the last automatic one may happen.
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
    pub timeout: Duration,
    /// What to do about an unknown outcome without deduplication.
    pub on_unknown: OnUnknown,
    /// Whether somebody can ask the destination, with the pinned key, what happened.
    pub reconciles: bool,
    /// How long a settled record is kept before a tombstone takes its place.
    pub retention: Duration,
}

impl Policy {
    /// Standard retries, attempts of 60 seconds at the most, park on unknown, 90 days of retention.
    pub const DEFAULT: Self = Self {
        retry: RetryPolicy::STANDARD,
        timeout: Duration::from_mins(1),
        on_unknown: OnUnknown::Park,
        reconciles: false,
        retention: Duration::from_hours(2160),
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
    fn a_policy_without_growth_ends_at_once() {
        let flat = RetryPolicy { growth_percent: 100, ..RetryPolicy::STANDARD };
        assert_eq!(flat.delay_after(u32::MAX), Duration::from_secs(30));
    }
}
