//! The job that every subject puts on record: a small input, as background jobs have.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) id: u64,
    pub(crate) customer: String,
    pub(crate) amount_cents: u64,
}

impl Job {
    pub(crate) fn new(id: u64) -> Self {
        Self { id, customer: format!("cus_{id}"), amount_cents: 4_200 }
    }

    /// What must not be on record twice.
    pub(crate) fn key(&self) -> String {
        format!("job:{}:v1", self.id)
    }
}
