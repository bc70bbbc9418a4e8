//! The server's state over a ledger of a test's.

use std::collections::BTreeSet;
use std::time::Duration;

use ratchet::ledger::SharedLedger;
use ratchet::{Client, Namespace};

use super::App;
use super::keys::{KEPT_IN, Scope, Secret, StoredKey};
use super::limits::Limits;
use super::metrics::Metrics;
use crate::error::Error;

/// A server's state, and a key that may do everything in the default namespace.
pub(crate) async fn open(ledger: SharedLedger) -> Result<(App, String), Error> {
    let limits = Limits {
        connections: 1,
        connections_of_peer: 1,
        requests: 1,
        rate: u32::MAX,
        claim_wait: Duration::ZERO,
        body: 512 * 1024,
        patience: Duration::from_secs(10),
        grace: Duration::from_secs(10),
    };
    let app = App::on(Client::new(ledger), None, limits, Metrics::unused()).await?;
    let secret = Secret::new()?;
    let key = StoredKey {
        name: "test".to_owned(),
        scopes: BTreeSet::from([Scope::Producer, Scope::Worker, Scope::Operator]),
        namespace: Namespace::DEFAULT,
        operations: BTreeSet::new(),
        hash: secret.hash(),
        created_at: app.now(),
        expires_at: None,
        revoked_at: None,
    };
    app.shelf().create(&KEPT_IN, &secret.id, &key).await?;
    Ok((app, secret.shown()))
}
