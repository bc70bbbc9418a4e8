//! Key templates.

use ratchet_key::{Finding, inspect_foreign};

/// What one template gives away.
pub(super) fn judge(line: &str) -> Vec<Finding> {
    inspect_foreign(line)
}
