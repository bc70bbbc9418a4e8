//! The names that metrics have series of. Callers make names up, and each would be a series that is kept for ever.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use ratchet::OperationName;
use ratchet::ledger::Served;

/// More operations than programs have, and more versions of all of them; what comes after so many is counted together.
const MOST: usize = 1_000;

const OTHERS: &str = "other";

/// As metrics are: of the whole process.
static NAMES: Names = Names::new();

struct Names {
    operations: Named<OperationName>,
    versions: Named<Served>,
}

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

impl Names {
    const fn new() -> Self {
        Self { operations: Named::new(), versions: Named::new() }
    }

    fn operation(&self, name: &OperationName) -> String {
        if self.operations.has(name) { name.to_string() } else { OTHERS.to_owned() }
    }

    /// However many versions there are, what is counted of an operation stays its own: somebody may watch it.
    fn version(&self, of: Served) -> [String; 2] {
        if !self.operations.has(&of.operation) {
            return [OTHERS.to_owned(), OTHERS.to_owned()];
        }
        let has_series = self.versions.has(&of);
        [of.operation.into(), if has_series { of.version.into() } else { OTHERS.to_owned() }]
    }
}

/// An operation as a label.
pub(crate) fn operation(name: &OperationName) -> String {
    NAMES.operation(name)
}

/// An operation and its version as labels.
pub(super) fn version(of: Served) -> [String; 2] {
    NAMES.version(of)
}

#[cfg(test)]
mod tests {
    use ratchet::Version;

    use super::*;

    fn labels(names: &Names, operation: &str, version: &str) -> [String; 2] {
        let operation = OperationName::new(operation.to_owned()).unwrap();
        names.version(Served { operation, version: Version::new(version.to_owned()).unwrap() })
    }

    #[test]
    fn an_operation_keeps_its_series_however_many_versions_callers_make_up() {
        let names = Names::new();
        for number in 0..MOST {
            let version = number.to_string();
            assert_eq!(labels(&names, "charge", &version), ["charge", version.as_str()]);
        }
        assert_eq!(labels(&names, "charge", "made-up"), ["charge", "other"]);
        assert_eq!(labels(&names, "refund", "1"), ["refund", "other"]);
        for number in 2..MOST {
            assert_eq!(labels(&names, &format!("op-{number}"), "1")[0], format!("op-{number}"));
        }
        assert_eq!(labels(&names, "one-more", "1"), ["other", "other"]);
        assert_eq!(names.operation(&OperationName::from_static("charge")), "charge");
    }

    #[test]
    fn names_that_callers_make_up_are_one_series_in_the_end() {
        let names = Named::new();
        assert!((0..MOST).all(|number| names.has(&number)));
        assert!(!names.has(&MOST));
        assert!(names.has(&0));
    }
}
