//! What Rust programs declare about operations, held in memory for a moment.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ratchet::ledger::{Declared, Served, SharedLedger};
use ratchet::{LedgerError, OnUnknown, VolatileFields};

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
        Ok(about(&declared, of))
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

/// What is declared about this version. About one that nobody has declared, it is what the most careful other version says:
/// the destination of an operation is known once one version is, and a new handler does not make it forgetful.
fn about(declared: &[Declared], of: &Served) -> Option<Declared> {
    let others = || declared.iter().filter(|other| other.of.operation == of.operation);
    let exact = others().find(|other| other.of.version == of.version).cloned();
    exact.or_else(|| {
        let most_careful = others().min_by_key(|other| carelessness(other))?;
        // Which fields change from one attempt to the next is a matter of each version's input.
        let volatile = VolatileFields::default();
        Some(Declared { of: of.clone(), volatile, ..most_careful.clone() })
    })
}

/// How freely an effect is repeated that may have happened.
fn carelessness(declared: &Declared) -> (u8, bool) {
    let tradeoff = match declared.policy.on_unknown {
        OnUnknown::Park => 0,
        OnUnknown::MayLose => 1,
        OnUnknown::MayDuplicate => 2,
    };
    (tradeoff, declared.contract.deduplicates())
}

#[cfg(test)]
mod tests {
    use ratchet::{Contract, OperationName, Policy, Priority, Queue, Version};

    use super::*;

    fn of(operation: &'static str, version: &'static str) -> Served {
        let (operation, version) = (OperationName::from_static(operation), Version::from_static(version));
        Served { operation, version }
    }

    fn declared(version: &'static str, contract: Contract, on_unknown: OnUnknown) -> Declared {
        Declared {
            of: of("charge", version),
            policy: Policy { on_unknown, ..Policy::DEFAULT },
            contract: contract.terms(),
            priority: Priority::default(),
            queue: Queue::DEFAULT,
            volatile: VolatileFields::default(),
            concurrency: None,
        }
    }

    #[test]
    fn a_version_that_nobody_declared_is_as_careful_as_the_most_careful_other_one() {
        let remembers = Contract::header("Idempotency-Key");
        let one = declared("1", remembers, OnUnknown::MayDuplicate);
        let two = declared("2", remembers, OnUnknown::Park);
        let three = declared("3", Contract::NONE, OnUnknown::Park);
        let all = [one.clone(), two, three.clone()];
        assert_eq!(about(&all, &of("charge", "1")), Some(one));
        assert_eq!(about(&all, &of("charge", "4")), Some(Declared { of: of("charge", "4"), ..three }));
        assert_eq!(about(&all, &of("refund", "1")), None);
    }
}
