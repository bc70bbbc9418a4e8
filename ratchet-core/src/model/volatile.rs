//! What the fingerprint of an input leaves out, for programs that do not have the code.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The members of an input that are no part of its fingerprint; kept in the ledger for each operation and version, so that
/// a program without the code can compute the same fingerprint.
///
/// As JSON it is a list of kinds of objects, the first of which is the input itself: `without` names the members that are
/// left out, and `within` says of which kinds the objects are that a member holds, at once or in lists. Types that hold
/// themselves have a finite list, too.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VolatileFields(Vec<ObjectKind>);

/// One kind of object in an input.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub(crate) struct ObjectKind {
    pub(crate) without: BTreeSet<String>,
    pub(crate) within: BTreeMap<String, BTreeSet<usize>>,
}

impl VolatileFields {
    pub(crate) fn new(kinds: Vec<ObjectKind>) -> Self {
        let nothing = kinds.iter().all(|kind| kind.without.is_empty());
        Self(if nothing { Vec::new() } else { kinds })
    }
}
