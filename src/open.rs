//! Opens a ledger by its address.

use std::ops::Deref;

use ratchet_core::{Client, LedgerError, Namespace, SharedLedger};

/// A connection to a ledger: the place where operations are enqueued, executed and settled.
///
/// It is a [`Client`] that was opened by an address, and has all its methods. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Ratchet {
    client: Client,
}

impl Ratchet {
    /// Opens the ledger at `url`: `sqlite:ratchet.db` is a file in the current directory, which is created if it does
    /// not exist; `postgres://app@localhost/shop` is a database, in which a schema `ratchet` is made if there is none;
    /// `restate://localhost:8080` is an engine, whose handlers a worker program has registered.
    ///
    /// # Errors
    /// If there is no store for the address, or the store cannot be opened.
    pub async fn open(url: &str) -> Result<Self, LedgerError> {
        open_ledger(url).await.map(Self::with_ledger)
    }

    /// Uses a ledger that is open already.
    #[must_use]
    pub fn with_ledger(ledger: SharedLedger) -> Self {
        Self { client: Client::new(ledger) }
    }

    /// A ledger in memory, for unit tests.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn in_memory() -> Self {
        Self::with_ledger(ratchet_core::MemoryLedger::new())
    }

    /// The same ledger, in another namespace: a separate world of records.
    #[must_use]
    pub fn in_namespace(&self, namespace: Namespace) -> Self {
        Self { client: self.client.in_namespace(namespace) }
    }
}

impl Deref for Ratchet {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

#[cfg_attr(
    not(any(feature = "postgres", feature = "sqlite")),
    allow(clippy::unused_async, reason = "this build has no store to wait for")
)]
async fn open_ledger(url: &str) -> Result<SharedLedger, LedgerError> {
    // What stands before the colon holds no credentials; what follows may.
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    match scheme {
        #[cfg(feature = "sqlite")]
        "sqlite" => Ok(ratchet_sqlite::SqliteLedger::open(url).await?),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => Ok(ratchet_postgres::PostgresLedger::open(url).await?),
        #[cfg(feature = "restate")]
        "restate" | "restates" => Ok(ratchet_restate::RestateLedger::open(url)?),
        _ => Err(LedgerError::Address { url: format!("{scheme}:…"), why: WHY_NOT.to_owned() }),
    }
}

const WHY_NOT: &str = "no store of this build has such addresses; `sqlite:FILE` needs the feature `sqlite`, \
    `postgres://HOST/DATABASE` the feature `postgres`, and `restate://HOST` the feature `restate`";
