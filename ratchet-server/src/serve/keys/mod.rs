//! Keys of callers: how they are made, kept and found.

mod command;
mod secret;

use std::collections::BTreeSet;
use std::fmt;

use ratchet::{DocumentKind, LedgerError, Namespace, OperationName, Timestamp};
use serde::{Deserialize, Serialize};

pub(crate) use command::{Task, run};
pub(super) use secret::{Presented, Secret, SecretHash};

use super::shelf::{Kept, Shelf};

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
    /// Starts runs, enqueues, and reads and cancels what it enqueued.
    Producer,
    /// Executes.
    Worker,
    /// Reads everything, replays, cancels, settles, and sets policies.
    Operator,
    /// Reads the metrics, which count the records of all namespaces; nothing else.
    Monitor,
}

/// What is kept of a key, under its id. The secret is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredKey {
    /// Who acts, in audit trails; what a producer enqueued belongs to all keys of its name.
    pub(super) name: String,
    pub(super) scopes: BTreeSet<Scope>,
    pub(super) namespace: Namespace,
    /// All, if there are none.
    pub(super) operations: BTreeSet<OperationName>,
    pub(super) hash: SecretHash,
    pub(super) created_at: Timestamp,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) revoked_at: Option<Timestamp>,
}

impl Kept for StoredKey {
    const KIND: DocumentKind = DocumentKind::from_static("api_key");
}

/// Keys of all namespaces are kept in one, since a caller shows nothing but the key.
pub(super) const KEPT_IN: Namespace = Namespace::DEFAULT;

impl StoredKey {
    /// Whether it opens anything at this point.
    pub(super) fn is_good(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// The namespaces that some key belongs to.
pub(super) async fn namespaces(shelf: &Shelf) -> Result<BTreeSet<Namespace>, LedgerError> {
    let keys = shelf.all::<StoredKey>(&KEPT_IN).await?;
    Ok(keys.into_iter().map(|(_, key)| key.namespace).collect())
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Producer => "producer",
            Self::Worker => "worker",
            Self::Operator => "operator",
            Self::Monitor => "monitor",
        })
    }
}
