//! The names that metrics have series of. Callers make names up, and each would be a series that is kept for ever.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use ratchet::OperationName;
use ratchet::ledger::Served;

/// More operations, or versions of them, than programs have; what comes after so many is counted together.
const MOST: usize = 1_000;

const OTHERS: &str = "other";

/// As metrics are: of the whole process.
static OPERATIONS: Named<OperationName> = Named::new();
static VERSIONS: Named<Served> = Named::new();

struct Named<T>(Mutex<BTreeSet<T>>);

impl<T: Ord + Clone> Named<T> {
    const fn new() -> Self {
        Self(Mutex::new(BTreeSet::new()))
    }

    /// Whether this has a series of its own, as the first ones do that come.
    fn has(&self, name: &T) -> bool {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !names.contains(name) && names.len() < MOST {
            names.insert(name.clone());
        }
        names.contains(name)
    }
}

/// An operation as a label.
pub(crate) fn operation(name: &OperationName) -> String {
    if OPERATIONS.has(name) { name.to_string() } else { OTHERS.to_owned() }
}

/// An operation and its version as labels.
pub(super) fn version(of: Served) -> [String; 2] {
    if VERSIONS.has(&of) {
        [of.operation.into(), of.version.into()]
    } else {
        [OTHERS.to_owned(), OTHERS.to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_callers_make_up_are_one_series_in_the_end() {
        let names = Named::new();
        assert!((0..MOST).all(|number| names.has(&number)));
        assert!(!names.has(&MOST));
        assert!(names.has(&0));
    }
}
