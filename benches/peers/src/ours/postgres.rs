//! Ratchet on PostgreSQL, as it is opened by default.

use std::ops::Range;

use ratchet::Ratchet;
use ratchet::postgres::once;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use super::{attempt, enqueue, enqueue_batch, start_worker};
use crate::subject::{Result, Role, Subject};
use crate::work::{CALLERS, Tuning, Work};

#[derive(Clone)]
pub(crate) struct OnPostgres {
    ratchet: Ratchet,
    /// The user's own connections, for effects.
    pool: PgPool,
}

impl Subject for OnPostgres {
    const NAME: &'static str = "ratchet";
    const PACKAGE: &'static str = "ratchet-postgres";
    const ROLE: Role = Role::Ours;
    const OPEN: &'static str = "SELECT count(*) FROM ratchet.progress WHERE state <> 'succeeded'";
    const RECORDS: &'static str = "SELECT count(*) FROM ratchet.records";

    fn offers(_: Work) -> bool {
        true
    }

    async fn open(url: &str) -> Result<Self> {
        let connections = u32::try_from(CALLERS)?;
        let pool = PgPoolOptions::new().max_connections(connections).connect_lazy(url)?;
        Ok(Self { ratchet: Ratchet::open(url).await?, pool })
    }

    async fn enqueue(&self, id: u64) -> Result<()> {
        enqueue(&self.ratchet, id).await
    }

    async fn enqueue_batch(&self, ids: Range<u64>) -> Result<()> {
        enqueue_batch(&self.ratchet, ids).await
    }

    async fn start_worker(&self, tuning: Tuning) -> Result<()> {
        start_worker(&self.ratchet, tuning)
    }

    async fn effect(&self, id: u64) -> Result<()> {
        let ctx = attempt(id);
        let id = i64::try_from(id)?;
        let effect = once(&self.pool, &ctx, "pay", async |tx| {
            let insert = sqlx::query("INSERT INTO effects (id, amount_cents) VALUES ($1, 4200)").bind(id);
            insert.execute(tx).await?;
            Ok(4200)
        });
        effect.await.map_err(|error| error.to_string())?;
        Ok(())
    }
}
