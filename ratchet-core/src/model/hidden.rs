//! Which parts of an input are not shown to people.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Stands in for a value that is not shown.
pub(crate) const HIDDEN: &str = "[redacted]";

/// Puts a word in the place of a value. That there is no value is no secret.
pub(crate) fn hide(value: &mut Value) {
    if !value.is_null() {
        *value = Value::from(HIDDEN);
    }
}

/// The way to a field of an input: names of fields, from the outside in. A list on the way means all of its items.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HiddenPath(Vec<String>);

impl HiddenPath {
    /// The path of a field within what this path leads to.
    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        Self(self.0.iter().map(String::as_str).chain([name]).map(str::to_owned).collect())
    }
}

/// The parts of an input that are not shown to people; kept in the ledger for each operation and version.
///
/// ```
/// use ratchet_core::{HiddenPath, HiddenPaths};
/// use ratchet_core::serde_json::json;
///
/// let email = HiddenPath::default().field("customer").field("email");
/// let mut input = json!({"id": 7, "customer": {"email": "ada@example.com"}});
/// HiddenPaths::new([email]).hide(&mut input);
/// assert_eq!(input, json!({"id": 7, "customer": {"email": "[redacted]"}}));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HiddenPaths(Vec<HiddenPath>);

impl HiddenPaths {
    /// These paths, sorted, each once.
    #[must_use]
    pub fn new(paths: impl IntoIterator<Item = HiddenPath>) -> Self {
        let mut paths: Vec<HiddenPath> = paths.into_iter().collect();
        paths.sort();
        paths.dedup();
        Self(paths)
    }

    /// Everything.
    #[must_use]
    pub fn everything() -> Self {
        Self(vec![HiddenPath::default()])
    }

    /// What either of them hides: what was hidden once is not shown because an older worker starts again.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::new(self.0.iter().chain(&other.0).cloned())
    }

    /// Whether nothing is hidden.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts `"[redacted]"` in the place of every value that one of the paths leads to.
    pub fn hide(&self, input: &mut Value) {
        for path in &self.0 {
            hide_at(input, &path.0);
        }
    }
}

fn hide_at(value: &mut Value, path: &[String]) {
    let Some((name, rest)) = path.split_first() else { return hide(value) };
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| hide_at(item, path)),
        Value::Object(fields) => {
            if let Some(field) = fields.get_mut(name) {
                hide_at(field, rest);
            }
        }
        // Written in another form than in fields.
        _ => hide(value),
    }
}
