//! What Rust programs declare about operations, held in memory for a moment.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ratchet::LedgerError;
use ratchet::ledger::{Declared, Served, SharedLedger};

/// All of them are read at once: a store has as many as programs have operations.
#[derive(Default)]
pub(super) struct Declarations(Mutex<Option<(Instant, Arc<Vec<Declared>>)>>);

const RECENT: Duration = Duration::from_secs(2);

impl Declarations {
    pub(super) async fn find(
        &self,
        ledger: &SharedLedger,
        of: &Served,
    ) -> Result<Option<Declared>, LedgerError> {
        let declared = match self.remembered() {
            Some(declared) => declared,
            None => self.read(ledger).await?,
        };
        let found = declared.binary_search_by(|declared| declared.of.cmp(of));
        Ok(found.ok().and_then(|at| declared.get(at).cloned()))
    }

    fn remembered(&self) -> Option<Arc<Vec<Declared>>> {
        let memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        memory.as_ref().filter(|(at, _)| at.elapsed() < RECENT).map(|(_, declared)| Arc::clone(declared))
    }

    async fn read(&self, ledger: &SharedLedger) -> Result<Arc<Vec<Declared>>, LedgerError> {
        let asked = Instant::now();
        let mut declared = ledger.declarations().await?;
        declared.sort_by(|one, other| one.of.cmp(&other.of));
        let declared = Arc::new(declared);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((asked, Arc::clone(&declared)));
        Ok(declared)
    }
}
