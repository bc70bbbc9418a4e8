//! What the fingerprint of an input leaves out, for programs that do not have the code.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::payload::{Fingerprint, Payload};

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
    /// The fingerprint of an input without these members; `None` if it has none of them, so that all of it counts.
    #[must_use]
    pub fn compared(&self, input: &Value) -> Option<Fingerprint> {
        let mut rest = input.clone();
        let removed = !self.0.is_empty() && self.remove(&mut rest, &BTreeSet::from([0]));
        let rest = removed.then(|| Payload::from_value(&rest, Payload::LARGEST_INPUT).ok())??;
        Some(rest.fingerprint())
    }

    /// Whether there was something to remove from a value of these kinds.
    fn remove(&self, value: &mut Value, kinds: &BTreeSet<usize>) -> bool {
        match value {
            Value::Array(items) => {
                let mut removed = false;
                for item in items {
                    removed |= self.remove(item, kinds);
                }
                removed
            }
            Value::Object(members) => {
                let kinds: Vec<&ObjectKind> = kinds.iter().filter_map(|kind| self.0.get(*kind)).collect();
                let before = members.len();
                members.retain(|name, _| !kinds.iter().any(|kind| kind.without.contains(name)));
                let mut removed = members.len() < before;
                for (name, member) in members {
                    let within = kinds.iter().filter_map(|kind| kind.within.get(name)).flatten().copied();
                    removed |= self.remove(member, &within.collect());
                }
                removed
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_volatile_is_no_part_of_the_fingerprint_at_any_level() {
        let told = json!([
            {"without": ["at"], "within": {"customers": [1]}},
            {"without": ["seen"], "within": {}}
        ]);
        let volatile: VolatileFields = serde_json::from_value(told).unwrap();
        let input =
            json!({"id": 7, "at": 1, "seen": 3, "customers": [{"mail": "a", "seen": 2}, {"mail": "b"}]});
        let rest = json!({"id": 7, "seen": 3, "customers": [{"mail": "a"}, {"mail": "b"}]});
        let fingerprint = Payload::from_value(&rest, 1000).unwrap().fingerprint();
        assert_eq!(volatile.compared(&input), Some(fingerprint));
        assert_eq!(volatile.compared(&rest), None);
        assert_eq!(VolatileFields::default().compared(&input), None);
    }
}
