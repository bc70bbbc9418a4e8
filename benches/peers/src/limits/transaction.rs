//! The bare transaction around an effect: the identity goes in, the effect happens, the result is kept, commit.

use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio_postgres::{Client, Statement};

use super::TABLE;
use crate::subject::{Result, Role, Subject};
use crate::work::{CALLERS, Work};

const GUARD: &str = "INSERT INTO guards (key) VALUES ($1) ON CONFLICT DO NOTHING";
const EFFECT: &str = "INSERT INTO effects (id, amount_cents) VALUES ($1, 4200)";
const RESULT: &str = "UPDATE guards SET result = '4200' WHERE key = $1";

fn key(id: u64) -> String {
    format!("effect:{id}:v1")
}

/// With tokio-postgres, where BEGIN travels with the first statement: four round trips.
pub(super) struct Guarded {
    guard: Statement,
    effect: Statement,
    result: Statement,
}

impl Guarded {
    pub(super) async fn prepare(client: &Client) -> Result<Self> {
        Ok(Self {
            guard: client.prepare(GUARD).await?,
            effect: client.prepare(EFFECT).await?,
            result: client.prepare(RESULT).await?,
        })
    }

    pub(super) async fn run(&self, client: &Client, id: u64) -> Result<()> {
        let (key, id) = (key(id), i64::try_from(id)?);
        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 1] = [&key];
        // Both requests leave before the first answer is awaited, in this order.
        let begun = client.batch_execute("BEGIN");
        let guarded = client.execute(&self.guard, &parameters);
        let ((), new) = futures_util::future::try_join(begun, guarded).await?;
        if new == 1 {
            client.execute(&self.effect, &[&id]).await?;
            client.execute(&self.result, &parameters).await?;
        }
        Ok(client.batch_execute("COMMIT").await?)
    }
}

/// With sqlx, as one would write it by hand: BEGIN is a round trip of its own.
#[derive(Clone)]
pub(crate) struct Transaction(PgPool);

impl Subject for Transaction {
    const NAME: &'static str = "bare sqlx";
    const PACKAGE: &'static str = "sqlx-postgres";
    const ROLE: Role = Role::Limit;
    const OPEN: &'static str = super::OPEN;
    const RECORDS: &'static str = super::RECORDS;

    fn offers(work: Work) -> bool {
        work == Work::Effect
    }

    async fn open(url: &str) -> Result<Self> {
        let connections = u32::try_from(CALLERS)?;
        let pool = PgPoolOptions::new()
            .min_connections(connections)
            .max_connections(connections)
            .connect(url)
            .await?;
        sqlx::raw_sql(TABLE).execute(&pool).await?;
        Ok(Self(pool))
    }

    async fn enqueue(&self, _id: u64) -> Result<()> {
        Err("only effects are measured".into())
    }

    async fn effect(&self, id: u64) -> Result<()> {
        let (key, id) = (key(id), i64::try_from(id)?);
        let mut transaction = self.0.begin().await?;
        let new = sqlx::query(GUARD).bind(&key).execute(&mut *transaction).await?;
        if new.rows_affected() == 1 {
            sqlx::query(EFFECT).bind(id).execute(&mut *transaction).await?;
            sqlx::query(RESULT).bind(&key).execute(&mut *transaction).await?;
        }
        Ok(transaction.commit().await?)
    }
}
