//! The tables and their versions.

use std::time::Duration;

use ratchet_core::LedgerError;
use sqlx::{Connection as _, PgConnection};

use crate::error::{Fault, While as _, code};

/// Some tables that have one version.
///
/// They are not made by `sqlx::migrate!`, whose table of applied migrations belongs to the user of the database.
struct Schema {
    /// Every step from one version to the next, in order; a released file never changes.
    migrations: &'static [&'static str],
    /// The table that holds the version.
    version_table: &'static str,
    make_version: &'static str,
    read_version: &'static str,
    write_version: &'static str,
}

/// The ledger's tables.
const LEDGER: Schema = Schema {
    migrations: &[
        include_str!("../migrations/0001_initial.sql"),
        include_str!("../migrations/0002_key_language.sql"),
        include_str!("../migrations/0003_canonical_json.sql"),
        include_str!("../migrations/0004_functions.sql"),
        include_str!("../migrations/0005_cancel.sql"),
        include_str!("../migrations/0006_marks.sql"),
        include_str!("../migrations/0007_gates.sql"),
        include_str!("../migrations/0008_documents.sql"),
        include_str!("../migrations/0009_standing.sql"),
    ],
    version_table: "schema",
    make_version: "CREATE TABLE ratchet.schema (version bigint NOT NULL); INSERT INTO ratchet.schema VALUES (0)",
    read_version: "SELECT version FROM ratchet.schema",
    write_version: "UPDATE ratchet.schema SET version = $1",
};

/// The table of `once`, which may stand in a database without a ledger.
const EFFECTS: Schema = Schema {
    migrations: &[include_str!("../migrations/effects_0001_initial.sql")],
    version_table: "effects_schema",
    make_version: "CREATE TABLE ratchet.effects_schema (version bigint NOT NULL); \
                   INSERT INTO ratchet.effects_schema VALUES (0)",
    read_version: "SELECT version FROM ratchet.effects_schema",
    write_version: "UPDATE ratchet.effects_schema SET version = $1",
};

/// Makes or updates the ledger's tables and that of [`once`](crate::once()), as the role that is to own them.
///
/// Opening a [`PostgresLedger`](crate::PostgresLedger) does the same; this is for programs that only submit, with
/// [`submit_in`](crate::submit_in), and for a step of a deployment that has more rights than the program. It waits for
/// other programs that migrate at the same time, and does nothing where the tables are up to date.
///
/// # Errors
/// [`LedgerError::NewerSchema`] if a newer release made the tables, [`LedgerError::NoSchema`] if they are missing or old
/// and the role may not make them; otherwise what the store says.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use ratchet_postgres::sqlx::{Connection as _, PgConnection};
///
/// let mut connection = PgConnection::connect("postgres://owner@localhost/shop").await?;
/// ratchet_postgres::migrate(&mut connection).await?;
/// # Ok(()) }
/// ```
pub async fn migrate(connection: &mut PgConnection) -> Result<(), LedgerError> {
    bring_up_to_date(connection).await.map_err(|fault| fault.told(Duration::ZERO))
}

/// Makes or updates the table of [`once`](crate::once()) alone: for a database that holds no ledger.
///
/// [`migrate`], and opening a [`PostgresLedger`](crate::PostgresLedger), make it too. It waits for other programs that
/// migrate at the same time, and does nothing where the table is up to date.
///
/// # Errors
/// As [`migrate`].
///
/// ```no_run
/// # async fn example(pool: ratchet_postgres::sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
/// ratchet_postgres::migrate_effects(&mut *pool.acquire().await?).await?;
/// # Ok(()) }
/// ```
pub async fn migrate_effects(connection: &mut PgConnection) -> Result<(), LedgerError> {
    EFFECTS.bring_up_to_date(connection).await.map_err(|fault| fault.told(Duration::ZERO))
}

/// Whether there is nothing to make and nothing to update.
pub(crate) async fn is_up_to_date(connection: &mut PgConnection) -> Result<bool, Fault> {
    let ledger = LEDGER.is_current(LEDGER.found(connection).await?)?;
    Ok(ledger && EFFECTS.is_current(EFFECTS.found(connection).await?)?)
}

pub(crate) async fn bring_up_to_date(connection: &mut PgConnection) -> Result<(), Fault> {
    LEDGER.bring_up_to_date(connection).await?;
    EFFECTS.bring_up_to_date(connection).await
}

const INSUFFICIENT_PRIVILEGE: &str = "42501";

impl Schema {
    /// The version that this release reads and writes.
    #[allow(clippy::cast_possible_wrap, reason = "a handful of files")]
    const fn known(&self) -> i64 {
        self.migrations.len() as i64
    }

    async fn bring_up_to_date(&self, connection: &mut PgConnection) -> Result<(), Fault> {
        // Most starts find everything in place and need no rights but to read.
        if self.is_current(self.found(connection).await?)? {
            return Ok(());
        }
        let doing = "update its tables";
        let mut transaction = connection.begin().await.while_trying(doing)?;
        wait_for_others(&mut transaction).await.while_trying(doing)?;
        let from = self.found(&mut transaction).await?;
        if !self.is_current(from)? {
            self.run_from(from, &mut transaction).await.map_err(|error| match code(&error).as_deref() {
                Some(INSUFFICIENT_PRIVILEGE) => Fault::NoSchema,
                _ => Fault::of(doing, error),
            })?;
        }
        transaction.commit().await.while_trying(doing)
    }

    /// The version of the tables; 0 if there are none.
    async fn found(&self, connection: &mut PgConnection) -> Result<i64, Fault> {
        // The table is asked for only where it exists: an error would end the caller's transaction. `to_regclass` would
        // answer from a cache that knows nothing of what another program did while this one waited for the lock.
        const EXISTS: &str = "SELECT EXISTS (SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
            WHERE n.nspname = 'ratchet' AND c.relname = $1::name)";
        let doing = "read the version of its tables";
        let exists = sqlx::query_scalar(EXISTS).bind(self.version_table).fetch_one(&mut *connection).await;
        if !exists.while_trying(doing)? {
            return Ok(0);
        }
        let version = sqlx::query_scalar(self.read_version).fetch_optional(connection).await;
        version.while_trying(doing)?.ok_or(Fault::Damaged("the version of its tables is missing"))
    }

    fn is_current(&self, found: i64) -> Result<bool, Fault> {
        let known = self.known();
        if found > known {
            return Err(Fault::NewerSchema { found, known });
        }
        Ok(found == known)
    }

    async fn run_from(&self, version: i64, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        // Somebody with more rights may have made the schema for a role that may make no other.
        const SCHEMA: &str = "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'ratchet') \
            THEN CREATE SCHEMA ratchet; END IF; END $$";
        if version == 0 {
            sqlx::raw_sql(SCHEMA).execute(&mut *connection).await?;
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

/// One program migrates at a time, also while there is no table yet that could be locked.
async fn wait_for_others(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    // "ratchet" in ASCII.
    const LOCK: i64 = 0x72_61_74_63_68_65_74;
    sqlx::query("SELECT set_config('lock_timeout', '0', true), pg_advisory_xact_lock($1)")
        .bind(LOCK)
        .execute(connection)
        .await?;
    Ok(())
}
