//! A destination and its limits, as a program declares them.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::DestinationName;

/// A destination by name, and how much it is asked to take: by all workers of a store together.
///
/// It is data, so it can stand in a constant. Without a limit it still shares what the destination asks for: after an
/// answer with `Retry-After`, nobody sends until then.
///
/// ```
/// use std::time::Duration;
/// use ratchet_core::Destination;
///
/// const PAYMENTS: Destination =
///     Destination::new("payments").at_most(8).per_second(20).breaker(5, Duration::from_secs(30));
/// assert_eq!(PAYMENTS.name().as_str(), "payments");
/// ```
///
/// Limits belong to whoever asks: while a deployment changes them, each worker keeps to its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Destination {
    name: DestinationName,
    limits: Limits,
}

/// What a destination is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Limits {
    /// How many sends are under way at once.
    pub at_most: Option<NonZeroU32>,
    /// How many sends begin in a span of time.
    pub rate: Option<Rate>,
    /// When sends stop because the destination fails.
    pub breaker: Option<BreakerPolicy>,
    /// After this time a send that nobody reported on counts as over: its worker died.
    pub longest_send: Duration,
}

/// At most so many sends begin in any span of this length, at even distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rate {
    /// How many.
    pub sends: NonZeroU32,
    /// In how much time.
    pub per: Duration,
}

/// When a circuit breaker opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BreakerPolicy {
    /// After so many failures in a row.
    pub failures: NonZeroU32,
    /// For how long nobody sends, until one send tries whether the destination works again.
    pub open_for: Duration,
}

impl Limits {
    /// No limits; a send counts as over after a minute.
    pub const NONE: Self =
        Self { at_most: None, rate: None, breaker: None, longest_send: Duration::from_mins(1) };
}

impl Default for Limits {
    fn default() -> Self {
        Self::NONE
    }
}

impl Destination {
    /// A destination without limits. The name is the same in all programs that share them.
    ///
    /// # Panics
    /// If the name has other characters than `a-z`, `0-9`, `_`, `.` and `-`, or more than 64; in a constant, the compiler
    /// says so.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name: DestinationName::from_static(name), limits: Limits::NONE }
    }

    /// A destination whose name and limits are known only when the program runs.
    #[must_use]
    pub const fn with_limits(name: DestinationName, limits: Limits) -> Self {
        Self { name, limits }
    }

    /// At most so many sends are under way at once.
    ///
    /// # Panics
    /// If it is none; in a constant, the compiler says so.
    #[must_use]
    pub const fn at_most(mut self, sends: u32) -> Self {
        self.limits.at_most = Some(number(sends));
        self
    }

    /// At most so many sends begin in any second, at even distances. More than 1,000 are as good as 1,000.
    ///
    /// # Panics
    /// If it is none; in a constant, the compiler says so.
    #[must_use]
    pub const fn per_second(self, sends: u32) -> Self {
        self.rate(sends, Duration::from_secs(1))
    }

    /// At most so many sends begin in any span of this length, at even distances of a millisecond or more.
    ///
    /// # Panics
    /// If it is none; in a constant, the compiler says so.
    #[must_use]
    pub const fn rate(mut self, sends: u32, per: Duration) -> Self {
        self.limits.rate = Some(Rate { sends: number(sends), per });
        self
    }

    /// Stops all sends for `open_for` after so many failures in a row. Then one send tries: if the destination answers it,
    /// all go on; if not, the wait begins anew.
    ///
    /// # Panics
    /// If it is after none; in a constant, the compiler says so.
    #[must_use]
    pub const fn breaker(mut self, failures: u32, open_for: Duration) -> Self {
        self.limits.breaker = Some(BreakerPolicy { failures: number(failures), open_for });
        self
    }

    /// After how long a send that nobody reported on counts as over, since its worker died; a minute unless said
    /// otherwise. It must be longer than a request may take: the timeout of the client that sends.
    #[must_use]
    pub const fn longest_send(mut self, span: Duration) -> Self {
        self.limits.longest_send = span;
        self
    }

    /// The name that all programs share.
    #[must_use]
    pub const fn name(&self) -> &DestinationName {
        &self.name
    }

    /// What it is held to.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }
}

const fn number(given: u32) -> NonZeroU32 {
    match NonZeroU32::new(given) {
        Some(number) => number,
        None => panic!("a limit of 0 would let nothing through: it must be 1 or more"),
    }
}

impl Rate {
    /// The distance between two sends in microseconds, rounded up.
    pub(super) fn interval_micros(&self) -> i64 {
        let interval = self.per.as_micros().div_ceil(u128::from(self.sends.get()));
        i64::try_from(interval).unwrap_or(i64::MAX)
    }
}
