//! How the database is set up.

use ratchet_core::ledger::{Problem, Setting};
use sqlx::SqliteConnection;

use crate::error::{Fault, While as _};

const NO_WAL: Problem = Problem {
    why: "reads and writes wait for each other, and a crash of the machine can leave a hot journal behind",
    remedy: "keep the file where write-ahead logging works: on a local disk, not on a network share",
};

const NO_SYNC: Problem = Problem {
    why: "what was acknowledged can be lost with the machine's power, and is then done again",
    remedy: "build SQLite without options that lower `synchronous`",
};

/// Reads the settings that a connection of the ledger has.
pub(crate) async fn settings(connection: &mut SqliteConnection) -> Result<Vec<Setting>, Fault> {
    let version = number(connection, "SELECT version FROM ratchet_schema").await?;
    let journal = text(connection, "SELECT journal_mode FROM pragma_journal_mode").await?;
    let synchronous = number(connection, "SELECT synchronous FROM pragma_synchronous").await?;
    let is_wal = journal == "wal";
    Ok(vec![
        Setting::sound("schema", version.to_string()),
        Setting::checked("journal_mode", journal, is_wal, NO_WAL),
        Setting::checked("synchronous", synchronous.to_string(), synchronous >= 2, NO_SYNC),
    ])
}

async fn number(connection: &mut SqliteConnection, statement: &'static str) -> Result<i64, Fault> {
    sqlx::query_scalar(statement).fetch_one(connection).await.while_trying("read its settings")
}

async fn text(connection: &mut SqliteConnection, statement: &'static str) -> Result<String, Fault> {
    sqlx::query_scalar(statement).fetch_one(connection).await.while_trying("read its settings")
}
