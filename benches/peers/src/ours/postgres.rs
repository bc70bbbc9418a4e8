//! Ratchet on PostgreSQL, as it is opened by default.

use std::ops::Range;

use ratchet::Ratchet;

use super::{enqueue, enqueue_batch, start_worker};
use crate::subject::{Result, Role, Subject};
use crate::work::Tuning;

#[derive(Clone)]
pub(crate) struct OnPostgres(Ratchet);

impl Subject for OnPostgres {
    const NAME: &'static str = "ratchet";
    const PACKAGE: &'static str = "ratchet-postgres";
    const ROLE: Role = Role::Ours;
    const OPEN: &'static str = "SELECT count(*) FROM ratchet.progress WHERE state <> 'succeeded'";
    const RECORDS: &'static str = "SELECT count(*) FROM ratchet.records";

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
