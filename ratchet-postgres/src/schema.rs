//! The ledger's tables and their version.

use std::time::Duration;

use ratchet_core::LedgerError;
use sqlx::{Connection as _, PgConnection};

use crate::error::{Fault, While as _, code};

/// Every step from one version to the next, in order; a released file never changes.
///
/// They are not run by `sqlx::migrate!`, whose table of applied migrations belongs to the user of the database.
const MIGRATIONS: [&str; 5] = [
    include_str!("../migrations/0001_initial.sql"),
    include_str!("../migrations/0002_key_language.sql"),
    include_str!("../migrations/0003_canonical_json.sql"),
    include_str!("../migrations/0004_functions.sql"),
    include_str!("../migrations/0005_cancel.sql"),
];

/// The version that this release reads and writes.
#[allow(clippy::cast_possible_wrap, reason = "a handful of files")]
const KNOWN: i64 = MIGRATIONS.len() as i64;

/// Makes or updates the ledger's tables, as the role that is to own them.
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

pub(crate) async fn bring_up_to_date(connection: &mut PgConnection) -> Result<(), Fault> {
    // Most starts find everything in place and need no rights but to read.
    if is_current(found(connection).await?)? {
        return Ok(());
    }
    let doing = "update its tables";
    let mut transaction = connection.begin().await.while_trying(doing)?;
    wait_for_others(&mut transaction).await.while_trying(doing)?;
    let from = found(&mut transaction).await?;
    if !is_current(from)? {
        run_from(from, &mut transaction).await.map_err(|error| match code(&error).as_deref() {
            Some(INSUFFICIENT_PRIVILEGE) => Fault::NoSchema,
            _ => Fault::of(doing, error),
        })?;
    }
    transaction.commit().await.while_trying(doing)
}

const INSUFFICIENT_PRIVILEGE: &str = "42501";

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

/// The version of the tables; 0 if there are none.
async fn found(connection: &mut PgConnection) -> Result<i64, Fault> {
    // The table is asked for only where it exists: an error would end the caller's transaction. `to_regclass` would answer
    // from a cache that knows nothing of what another program did while this one waited for the lock.
    const EXISTS: &str = "SELECT EXISTS (SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
        WHERE n.nspname = 'ratchet' AND c.relname = 'schema')";
    let doing = "read the version of its tables";
    let exists: bool = sqlx::query_scalar(EXISTS).fetch_one(&mut *connection).await.while_trying(doing)?;
    if !exists {
        return Ok(0);
    }
    let version = sqlx::query_scalar("SELECT version FROM ratchet.schema").fetch_optional(connection).await;
    version.while_trying(doing)?.ok_or(Fault::Damaged("the version of its tables is missing"))
}

fn is_current(found: i64) -> Result<bool, Fault> {
    if found > KNOWN {
        return Err(Fault::NewerSchema { found, known: KNOWN });
    }
    Ok(found == KNOWN)
}

async fn run_from(version: i64, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    if version == 0 {
        // Somebody with more rights may have made the schema for a role that may make no other.
        let first = "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'ratchet') THEN CREATE SCHEMA ratchet; END IF; END $$; \
                     CREATE TABLE ratchet.schema (version bigint NOT NULL); INSERT INTO ratchet.schema VALUES (0)";
        sqlx::raw_sql(first).execute(&mut *connection).await?;
    }
    let done = usize::try_from(version).unwrap_or(0);
    for migration in &MIGRATIONS[done..] {
        sqlx::raw_sql(*migration).execute(&mut *connection).await?;
    }
    sqlx::query("UPDATE ratchet.schema SET version = $1").bind(KNOWN).execute(connection).await?;
    Ok(())
}
