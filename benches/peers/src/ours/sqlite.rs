//! Ratchet on SQLite, as it is opened by default: synchronous = FULL.

use std::ops::Range;

use ratchet::Ratchet;

use super::{enqueue, enqueue_batch, start_worker};
use crate::subject::{Result, Role, Store, Subject};
use crate::work::Tuning;

#[derive(Clone)]
pub(crate) struct OnSqlite(Ratchet);

impl Subject for OnSqlite {
    const NAME: &'static str = "ratchet";
    const PACKAGE: &'static str = "ratchet-sqlite";
    const ROLE: Role = Role::Ours;
    const STORE: Store = Store::Sqlite;
    const OPEN: &'static str = "SELECT count(*) FROM ratchet_records WHERE state <> 'succeeded'";
    const RECORDS: &'static str = "SELECT count(*) FROM ratchet_records";

    async fn open(url: &str) -> Result<Self> {
        Ok(Self(Ratchet::open(url).await?))
    }

    async fn enqueue(&self, id: u64) -> Result<()> {
        enqueue(&self.0, id).await
    }

    async fn enqueue_batch(&self, ids: Range<u64>) -> Result<()> {
        enqueue_batch(&self.0, ids).await
    }

    async fn start_worker(&self, tuning: Tuning) -> Result<()> {
        start_worker(&self.0, tuning)
    }
}
