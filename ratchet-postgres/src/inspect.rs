//! How the server and the database are set up.

use ratchet_core::ledger::{Inspection, Problem, Setting};
use sqlx::PgConnection;

use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::row::now;

const LOST_WITH_POWER: Problem = Problem {
    why: "a power cut can lose or damage what was acknowledged, which is then done again",
    remedy: "set it to `on` in postgresql.conf",
};

const LATE_COMMITS: Problem = Problem {
    why: "the ledger's own connections turn it on, but a transaction of yours that enqueues can be lost after its COMMIT",
    remedy: "set it to `on` for this role, database or server",
};

const STANDBY: Problem = Problem {
    why: "nothing can be submitted or executed here",
    remedy: "name the primary, or promote this server",
};

const NEVER_VACUUMED: Problem = Problem {
    why: "every attempt leaves dead rows behind, which claims then have to pass by",
    remedy: "turn `autovacuum` and `track_counts` on, and `autovacuum_enabled` for the table",
};

/// Reads what the ledger depends on. What the ledger sets for its own connections is read as others have it.
pub(crate) async fn inspect(connection: &mut PgConnection, clock: Option<i64>) -> Result<Inspection, Fault> {
    const READ: &str = concat!(
        "SELECT ",
        now!("$1"),
        " AS now, (SELECT version FROM ratchet.schema) AS version, current_setting('server_version') AS server, \
         current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes, \
         (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') AS synchronous_commit, \
         pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool AS read_only, \
         current_setting('autovacuum')::bool AND current_setting('track_counts')::bool \
             AND NOT coalesce('autovacuum_enabled=false' = ANY(c.reloptions), false) AS vacuumed \
         FROM pg_class AS c WHERE c.oid = 'ratchet.progress'::regclass"
    );
    let row = sqlx::query(READ)
        .persistent(false)
        .bind(clock)
        .fetch_one(connection)
        .await
        .while_trying("read its settings")?;
    let row = Columns(&row);
    let on = |name, problem| {
        let value = row.text(name)?;
        Ok::<_, Fault>(Setting::checked(name, value, value != "off", problem))
    };
    let flag = |name, column, wanted: bool, problem| {
        let value = row.flag(column)?;
        Ok::<_, Fault>(Setting::checked(name, if value { "yes" } else { "no" }, value == wanted, problem))
    };
    let settings = vec![
        Setting::sound("schema", row.number("version")?.to_string()),
        Setting::sound("server", row.text("server")?),
        on("fsync", LOST_WITH_POWER)?,
        on("full_page_writes", LOST_WITH_POWER)?,
        on("synchronous_commit", LATE_COMMITS)?,
        flag("read-only", "read_only", false, STANDBY)?,
        flag("autovacuum of ratchet.progress", "vacuumed", true, NEVER_VACUUMED)?,
    ];
    Ok(Inspection { now: row.time("now")?, settings })
}
