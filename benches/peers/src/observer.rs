//! A connection of the harness itself, to look into the subject's tables.

use sqlx::{ConnectOptions as _, Connection as _, PgConnection, SqliteConnection};

use crate::limits::sqlite_options;
use crate::subject::Result;

pub(crate) enum Observer {
    Postgres(PgConnection),
    Sqlite(SqliteConnection),
}

impl Observer {
    pub(crate) async fn connect(url: &str) -> Result<Self> {
        Ok(if url.starts_with("sqlite:") {
            Self::Sqlite(sqlite_options(url)?.connect().await?)
        } else {
            Self::Postgres(PgConnection::connect(url).await?)
        })
    }

    pub(crate) async fn count(&mut self, sql: &'static str) -> Result<u64> {
        let count: i64 = match self {
            Self::Postgres(connection) => sqlx::query_scalar(sql).fetch_one(connection).await?,
            Self::Sqlite(connection) => sqlx::query_scalar(sql).fetch_one(connection).await?,
        };
        Ok(u64::try_from(count)?)
    }

    /// Brings the database into the state in which one finds it after a while: with statistics, and without pages that
    /// have yet to be written. A subject that never runs ANALYZE is helped by it.
    pub(crate) async fn settle(&mut self) -> Result<()> {
        match self {
            Self::Postgres(connection) => {
                for statement in ["VACUUM (ANALYZE)", "CHECKPOINT"] {
                    sqlx::raw_sql(statement).execute(&mut *connection).await?;
                }
            }
            Self::Sqlite(connection) => {
                sqlx::raw_sql("ANALYZE; PRAGMA wal_checkpoint").execute(connection).await?;
            }
        }
        Ok(())
    }

    /// The table in which effects are seen.
    pub(crate) async fn create_effects(&mut self) -> Result<()> {
        const TABLE: &str = "CREATE TABLE effects (id BIGINT NOT NULL, amount_cents BIGINT NOT NULL)";
        match self {
            Self::Postgres(connection) => {
                sqlx::raw_sql(TABLE).execute(connection).await?;
            }
            Self::Sqlite(connection) => {
                sqlx::raw_sql(TABLE).execute(connection).await?;
            }
        }
        Ok(())
    }
}
