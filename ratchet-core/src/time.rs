//! Time enters through these types only, so that tests and simulations can own it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A point of wall-clock time in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The Unix epoch.
    pub const EPOCH: Self = Self(0);

    /// The point `milliseconds` after (or, if negative, before) the Unix epoch.
    #[must_use]
    pub const fn from_millis(milliseconds: i64) -> Self {
        Self(milliseconds)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// This point moved into the future; saturates at the end of time. Part milliseconds are dropped.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long it is from `earlier` to here; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(span) => Self::EPOCH.after(span),
            Err(before) => Self(i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms)),
        }
    }
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(time: jiff::Timestamp) -> Self {
        Self(time.as_millisecond())
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC, as in `2026-11-29T15:04:05Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => time.fmt(f),
            Err(_) => write!(f, "{} ms after the Unix epoch", self.0),
        }
    }
}

/// Where wall-clock and monotonic time come from.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// The wall clock.
    fn now(&self) -> Timestamp;

    /// A clock that never goes back; only differences between two readings have a meaning.
    fn monotonic(&self) -> Duration;
}

/// A clock that many parts share.
pub type SharedClock = Arc<dyn Clock>;

/// The clocks of the operating system.
#[derive(Debug, Clone)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// A clock whose monotonic time starts now.
    #[must_use]
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }

    /// The same, ready to be shared.
    #[must_use]
    pub fn shared() -> SharedClock {
        Arc::new(Self::new())
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        SystemTime::now().into()
    }

    fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }
}

#[cfg(feature = "testing")]
mod manual {
    use std::sync::Mutex;
    use std::sync::PoisonError;

    use super::{Arc, Clock, Duration, Timestamp};

    /// A clock that stands still until a test moves it.
    #[derive(Debug)]
    pub struct ManualClock {
        time: Mutex<(Timestamp, Duration)>,
    }

    impl ManualClock {
        /// A clock that reads `start`.
        #[must_use]
        pub fn at(start: Timestamp) -> Arc<Self> {
            Arc::new(Self { time: Mutex::new((start, Duration::ZERO)) })
        }

        /// Moves both the wall clock and the monotonic clock forward.
        pub fn advance(&self, span: Duration) {
            let mut time = self.time.lock().unwrap_or_else(PoisonError::into_inner);
            *time = (time.0.after(span), time.1 + span);
        }

        /// Sets the wall clock alone, as an administrator or a time server does.
        pub fn jump_to(&self, now: Timestamp) {
            self.time.lock().unwrap_or_else(PoisonError::into_inner).0 = now;
        }
    }

    impl Clock for ManualClock {
        fn now(&self) -> Timestamp {
            self.time.lock().unwrap_or_else(PoisonError::into_inner).0
        }

        fn monotonic(&self) -> Duration {
            self.time.lock().unwrap_or_else(PoisonError::into_inner).1
        }
    }
}

#[cfg(feature = "testing")]
pub use manual::ManualClock;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_rfc_3339() {
        assert_eq!(Timestamp::from_millis(1_795_968_000_000).to_string(), "2026-11-29T16:00:00Z");
    }

    #[test]
    fn distance_to_a_later_point_is_zero() {
        let (early, late) = (Timestamp::from_millis(1_000), Timestamp::from_millis(3_500));
        assert_eq!(late.since(early), Duration::from_millis(2_500));
        assert_eq!(early.since(late), Duration::ZERO);
    }

    #[test]
    fn saturates_instead_of_wrapping() {
        assert_eq!(Timestamp::from_millis(5).after(Duration::MAX).as_millis(), i64::MAX);
    }
}
