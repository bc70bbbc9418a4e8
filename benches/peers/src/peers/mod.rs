//! The peers, each set up as its documentation recommends; comments name what was chosen.

mod apalis;
mod apalis_sqlite;
mod fang;
mod graphile;
mod river;
mod river_sqlite;
mod sqlxmq;
mod underway;

pub(crate) use apalis::Apalis;
pub(crate) use apalis_sqlite::ApalisSqlite;
pub(crate) use fang::Fang;
pub(crate) use graphile::Graphile;
pub(crate) use river::River;
pub(crate) use river_sqlite::RiverSqlite;
pub(crate) use sqlxmq::Sqlxmq;
pub(crate) use underway::Underway;

use std::path::{Path, PathBuf};

use crate::subject::Result;
use crate::work::CALLERS;

/// Enough connections for every caller and what a worker needs beside them.
const CONNECTIONS: u32 = 24;
/// Connections that are open before anything is measured.
const OPEN_CONNECTIONS: u32 = 16;
const _: () = assert!(OPEN_CONNECTIONS as u64 == CALLERS);

async fn pool(url: &str) -> Result<sqlx::PgPool> {
    let options = sqlx::postgres::PgPoolOptions::new().max_connections(CONNECTIONS);
    Ok(options.min_connections(OPEN_CONNECTIONS).connect(url).await?)
}

/// For peers that use the version before.
async fn pool_08(url: &str) -> Result<sqlx_08::PgPool> {
    let options = sqlx_08::postgres::PgPoolOptions::new().max_connections(CONNECTIONS);
    Ok(options.min_connections(OPEN_CONNECTIONS).connect(url).await?)
}

/// Runs the migrations of a peer that ships them as files, in the order of their names.
async fn migrate(url: &str, folder: &str) -> Result<()> {
    use sqlx::Connection as _;

    let mut files = up_files(Path::new(folder))?;
    files.sort();
    let mut connection = sqlx::PgConnection::connect(url).await?;
    for file in files {
        let sql = std::fs::read_to_string(file)?;
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await?;
    }
    Ok(())
}

fn up_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(up_files(&path)?);
        } else if path.to_string_lossy().ends_with("up.sql") {
            files.push(path);
        }
    }
    Ok(files)
}
