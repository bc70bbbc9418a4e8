//! How often each key may ask.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Keys that have not asked for longer than this are forgotten: their buckets are full again.
const FULL_AGAIN: Duration = Duration::from_secs(2);

/// A bucket per key, which holds one second's worth of requests and fills steadily.
pub(super) struct Rates {
    per_second: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Rates {
    pub(super) fn new(per_second: u32) -> Self {
        Self { per_second: f64::from(per_second.max(1)), buckets: Mutex::default() }
    }

    /// Takes one request from the bucket of `key`.
    ///
    /// # Errors
    /// In how many seconds to come again, if the bucket is empty.
    pub(super) fn take(&self, key: &str, now: Instant) -> Result<(), NonZeroU64> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if !buckets.contains_key(key) {
            buckets.retain(|_, bucket| now.saturating_duration_since(bucket.at) < FULL_AGAIN);
        }
        let bucket = buckets.entry(key.to_owned()).or_insert(Bucket { left: self.per_second, at: now });
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + passed * self.per_second).min(self.per_second);
        bucket.at = now;
        if bucket.left < 1.0 {
            return Err(NonZeroU64::MIN);
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_may_ask_as_often_in_a_second_as_the_limit_says_and_others_are_not_slowed() {
        let rates = Rates::new(2);
        let start = Instant::now();
        let come_again = Err(NonZeroU64::MIN);
        assert_eq!([(); 3].map(|()| rates.take("a", start)), [Ok(()), Ok(()), come_again]);
        assert_eq!(rates.take("b", start), Ok(()));
        let later = start + Duration::from_millis(500);
        assert_eq!([(); 2].map(|()| rates.take("a", later)), [Ok(()), come_again]);
    }

    #[test]
    fn keys_that_rest_are_forgotten() {
        let rates = Rates::new(2);
        let start = Instant::now();
        assert_eq!(rates.take("a", start), Ok(()));
        assert_eq!(rates.take("b", start + FULL_AGAIN), Ok(()));
        assert_eq!(rates.buckets.lock().unwrap().len(), 1);
    }
}
