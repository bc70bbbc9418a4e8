//! Places in listings: taken from the store in blocks, so that a submission costs no call to the one object that counts.

use std::time::Duration;

use ratchet_core::LedgerError;

use crate::engine::Engine;
use crate::names;

/// How many are taken at once.
const BLOCK: u32 = 1_000;

/// A block is given up after this time: what another program submits meanwhile is to stand behind, and not before, what came
/// a while earlier from here.
const KEPT: Duration = Duration::from_secs(1);

/// Places that this process may give out.
#[derive(Debug, Default)]
pub(crate) struct Places {
    next: i64,
    end: i64,
    taken_at: Duration,
}

impl Places {
    /// The first of `count` places.
    pub(crate) async fn take(
        &mut self,
        engine: &Engine,
        now: Duration,
        count: usize,
    ) -> Result<i64, LedgerError> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        if self.end - self.next < count || now.saturating_sub(self.taken_at) > KEPT {
            let block = BLOCK.max(u32::try_from(count).unwrap_or(u32::MAX));
            let last: i64 = engine
                .call(names::STORE, names::WHOLE, "reserve", &block, "take places in the listing")
                .await?;
            *self = Self { next: last + 1, end: last + 1 + i64::from(block), taken_at: now };
        }
        let first = self.next;
        self.next += count;
        Ok(first)
    }
}
