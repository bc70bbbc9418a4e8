//! riverqueue on SQLite.

use std::ops::Range;

use riverqueue::Client;
use riverqueue::migrate::SqliteMigrator;
use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;

use super::river::{Args, settings, workers};
use crate::limits::sqlite_options;
use crate::subject::{Result, Role, Store, Subject};
use crate::work::Tuning;

#[derive(Clone)]
pub(crate) struct RiverSqlite {
    pool: SqlitePool,
    client: Client,
}

impl Subject for RiverSqlite {
    const NAME: &'static str = "riverqueue";
    const PACKAGE: &'static str = "riverqueue";
    const ROLE: Role = Role::Peer;
    const STORE: Store = Store::Sqlite;
    const OPEN: &'static str = "SELECT count(*) FROM river_job WHERE state <> 'completed'";
    const RECORDS: &'static str = "SELECT count(*) FROM river_job";

    async fn open(url: &str) -> Result<Self> {
        let pool = SqlitePoolOptions::new().connect_with(sqlite_options(url)?).await?;
        SqliteMigrator::new(pool.clone()).migrate_up().await?;
        let client = Client::builder(pool.clone()).build()?;
        Ok(Self { pool, client })
    }

    async fn enqueue(&self, id: u64) -> Result<()> {
        self.client.insert(Args::new(id)).await?;
        Ok(())
    }

    async fn enqueue_batch(&self, ids: Range<u64>) -> Result<()> {
        self.client.insert_many(ids.map(Args::new)).await?;
        Ok(())
    }

    async fn start_worker(&self, tuning: Tuning) -> Result<()> {
        let (cooldown, queue) = settings(tuning);
        let client = Client::builder(self.pool.clone())
            .workers(workers()?)
            .fetch_cooldown(cooldown)
            .queue("default", queue)
            .build()?;
        client.start()?.detach();
        Ok(())
    }
}
