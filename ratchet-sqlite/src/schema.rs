//! The ledger's tables and their version.

use std::time::Duration;

use ratchet_core::LedgerError;
use sqlx::{Connection as _, SqliteConnection};

use crate::error::{Fault, While as _};

/// Some tables that have one version.
///
/// They are not made by `sqlx::migrate!`, whose table of applied migrations belongs to the user of the database.
struct Schema {
    /// Every step from one version to the next, in order; a released file never changes.
    migrations: &'static [&'static str],
    make_version: &'static str,
    read_version: &'static str,
    write_version: &'static str,
}

/// The ledger's tables.
const LEDGER: Schema = Schema {
    migrations: &[
        include_str!("../migrations/0001_initial.sql"),
        include_str!("../migrations/0002_hidden.sql"),
        include_str!("../migrations/0003_marks.sql"),
        include_str!("../migrations/0004_gates.sql"),
        include_str!("../migrations/0005_documents.sql"),
        include_str!("../migrations/0006_standing.sql"),
    ],
    make_version: "CREATE TABLE ratchet_schema (version INTEGER NOT NULL) STRICT; \
                   INSERT INTO ratchet_schema VALUES (0)",
    read_version: "SELECT version FROM ratchet_schema",
    write_version: "UPDATE ratchet_schema SET version = ?1",
};

/// The table of `once`, which may stand in a database without a ledger.
const EFFECTS: Schema = Schema {
    migrations: &[include_str!("../migrations/effects_0001_initial.sql")],
    make_version: "CREATE TABLE ratchet_effects_schema (version INTEGER NOT NULL) STRICT; \
                   INSERT INTO ratchet_effects_schema VALUES (0)",
    read_version: "SELECT version FROM ratchet_effects_schema",
    write_version: "UPDATE ratchet_effects_schema SET version = ?1",
};

/// Makes or updates the ledger's tables in the caller's own database, and that of [`once`](crate::once()).
///
/// Opening a [`SqliteLedger`](crate::SqliteLedger) does the same; this is for programs that only submit, with
/// [`submit_in`](crate::submit_in). It waits for other programs that migrate at the same time, and does nothing where
/// the tables are up to date.
///
/// # Errors
/// [`LedgerError::NewerSchema`] if a newer release made the tables; otherwise what the store says.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use sqlx::Connection as _;
///
/// let mut connection = sqlx::SqliteConnection::connect("sqlite::memory:").await?;
/// ratchet_sqlite::migrate(&mut connection).await?;
/// # Ok(()) }
/// ```
pub async fn migrate(connection: &mut SqliteConnection) -> Result<(), LedgerError> {
    bring_up_to_date(connection).await.map_err(|fault| fault.told(Duration::ZERO))
}

/// Makes or updates the table of [`once`](crate::once()) in the caller's own database: for one that holds no ledger.
///
/// [`migrate`], and opening a [`SqliteLedger`](crate::SqliteLedger), make it too. It waits for other programs that
/// migrate at the same time, and does nothing where the table is up to date.
///
/// # Errors
/// As [`migrate`].
pub async fn migrate_effects(connection: &mut SqliteConnection) -> Result<(), LedgerError> {
    EFFECTS.bring_up_to_date(connection).await.map_err(|fault| fault.told(Duration::ZERO))
}

pub(crate) async fn bring_up_to_date(connection: &mut SqliteConnection) -> Result<(), Fault> {
    LEDGER.bring_up_to_date(connection).await?;
    EFFECTS.bring_up_to_date(connection).await
}

/// Takes the write lock of the caller's transaction and makes sure that the tables are there.
///
/// A transaction that reads first and writes later fails at once if another writer came in between; one that starts
/// with a write waits for its turn. So this writes, though it changes no row.
pub(crate) async fn require(connection: &mut SqliteConnection) -> Result<(), Fault> {
    const OTHER_VERSION: &str =
        "UPDATE ratchet_schema SET version = version WHERE version <> ?1 RETURNING version";
    let other: Option<i64> = sqlx::query_scalar(OTHER_VERSION)
        .bind(LEDGER.known())
        .fetch_optional(connection)
        .await
        .while_trying("look for its tables")?;
    match other {
        None => Ok(()),
        Some(found) if LEDGER.is_current(found)? => Ok(()),
        Some(_) => Err(Fault::NoSchema),
    }
}

impl Schema {
    /// The version that this release reads and writes.
    #[allow(clippy::cast_possible_wrap, reason = "a handful of files")]
    const fn known(&self) -> i64 {
        self.migrations.len() as i64
    }

    async fn bring_up_to_date(&self, connection: &mut SqliteConnection) -> Result<(), Fault> {
        // Most starts find everything in place and need no write lock.
        if !self.is_current(self.found(connection).await?)? {
            let doing = "update its tables";
            let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.while_trying(doing)?;
            let from = self.found(&mut transaction).await?;
            if !self.is_current(from)? {
                self.run_from(from, &mut transaction).await.while_trying(doing)?;
            }
            transaction.commit().await.while_trying(doing)?;
        }
        Ok(())
    }

    /// The version of the tables; 0 if there are none.
    async fn found(&self, connection: &mut SqliteConnection) -> Result<i64, Fault> {
        let version = sqlx::query_scalar(self.read_version)
            .fetch_optional(connection)
            .await
            .while_trying("read the version of its tables");
        match version {
            Ok(version) => version.ok_or(Fault::Damaged("the version of its tables is missing")),
            Err(Fault::NoSchema) => Ok(0),
            Err(fault) => Err(fault),
        }
    }

    fn is_current(&self, found: i64) -> Result<bool, Fault> {
        let known = self.known();
        if found > known {
            return Err(Fault::NewerSchema { found, known });
        }
        Ok(found == known)
    }

    async fn run_from(&self, version: i64, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        if version == 0 {
            sqlx::raw_sql(self.make_version).execute(&mut *connection).await?;
        }
        let done = usize::try_from(version).unwrap_or(0);
        for migration in &self.migrations[done..] {
            sqlx::raw_sql(*migration).execute(&mut *connection).await?;
        }
        sqlx::query(self.write_version).bind(self.known()).execute(connection).await?;
        Ok(())
    }
}
