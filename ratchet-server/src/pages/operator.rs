//! Who looks at the pages and acts on them.

use ratchet::OperationName;

use crate::serve::auth::Grant;

/// Who signed in, and what the key allows.
#[derive(Clone)]
pub(super) struct Operator {
    /// As the person called themselves.
    pub(super) name: String,
    pub(super) grant: Grant,
}

impl Operator {
    pub(super) fn may_see(&self, operation: &OperationName) -> bool {
        self.grant.allows(operation)
    }

    /// Who decides, for the audit trail.
    pub(super) fn signature(&self) -> String {
        format!("{} (key {})", self.name, self.grant.name)
    }
}
