//! Whether the store takes work, and the guards that hold every program to it.
//!
//! The guards are triggers. To put one up waits for every transaction that has written to its table, the user's own too, and
//! all that write later meet it: so nothing that was let in before is committed after.

use ratchet_core::Timestamp;
use ratchet_core::ledger::moving::{Place, StandingChange, StandingRefused, StoreStanding};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::columns::{Columns, by_json};
use crate::error::{Fault, While as _};
use crate::row::{as_json, now};
use crate::{export, mark};

const DOING: &str = "change how it stands";

/// All that a ledger holds, in the order in which its writes lock tables.
const TABLES: [&str; 12] = [
    "records",
    "progress",
    "steps",
    "attempts",
    "audit",
    "templates",
    "hidden",
    "declarations",
    "mark",
    "acknowledgements",
    "gates",
    "documents",
];

/// What must not begin in a source: a submission, also one whose key is taken; a lease, a start, and a send that was not
/// pinned before; the same of a step.
const BEGINNINGS: [(&str, &str); 3] = [
    ("records", "BEFORE INSERT ON ratchet.records FOR EACH STATEMENT EXECUTE FUNCTION ratchet.refuse()"),
    (
        "progress",
        "BEFORE UPDATE ON ratchet.progress FOR EACH ROW WHEN (NEW.state = 'running' AND (OLD.state <> 'running' \
             OR NEW.token <> OLD.token OR (OLD.attempt_started_at IS NULL AND NEW.attempt_started_at IS NOT NULL)) \
         OR (NEW.pin IS NOT NULL AND NEW.pin IS DISTINCT FROM OLD.pin)) EXECUTE FUNCTION ratchet.refuse()",
    ),
    (
        "steps",
        "BEFORE INSERT ON ratchet.steps FOR EACH ROW EXECUTE FUNCTION ratchet.refuse_step_that_begins()",
    ),
];

pub(crate) async fn read(connection: &mut PgConnection) -> Result<StoreStanding, Fault> {
    let facts: Option<String> = sqlx::query_scalar("SELECT facts FROM ratchet.standing")
        .fetch_optional(connection)
        .await
        .while_trying("read how it stands")?;
    by_json(&facts.ok_or(Fault::Damaged("how it stands is missing"))?)
}

/// Under the lock of the row, so that changes come one after the other.
pub(crate) async fn lock(connection: &mut PgConnection) -> Result<StoreStanding, Fault> {
    let facts: Option<String> = sqlx::query_scalar("SELECT facts FROM ratchet.standing FOR UPDATE")
        .fetch_optional(connection)
        .await
        .while_trying("read how it stands")?;
    by_json(&facts.ok_or(Fault::Damaged("how it stands is missing"))?)
}

pub(crate) async fn change(
    connection: &mut PgConnection,
    change: &StandingChange,
    clock: Option<i64>,
) -> Result<Result<StoreStanding, StandingRefused>, Fault> {
    let mut transaction = connection.begin().await.while_trying(DOING)?;
    let changed = change_in(&mut transaction, change, clock).await?;
    match &changed {
        Ok(_) => transaction.commit().await.while_trying(DOING)?,
        // The guards that were put up before the look.
        Err(_) => transaction.rollback().await.while_trying(DOING)?,
    }
    Ok(changed)
}

async fn change_in(
    connection: &mut PgConnection,
    change: &StandingChange,
    clock: Option<i64>,
) -> Result<Result<StoreStanding, StandingRefused>, Fault> {
    let standing = lock(connection).await?;
    let next = match standing.after(change) {
        Ok(next) if next == standing => return Ok(Ok(next)),
        Ok(next) => next,
        Err(refused) => return Ok(Err(refused)),
    };
    write(connection, &next).await?;
    put_up_guards(connection, &next).await?;
    // Behind the guards, which nobody passes any more.
    match change {
        StandingChange::Fill { .. } if !is_empty(connection).await? => {
            return Ok(Err(StandingRefused::NotEmpty));
        }
        StandingChange::Freeze { .. } => match leases(connection).await? {
            0 => {}
            leases => return Ok(Err(StandingRefused::Running { leases })),
        },
        StandingChange::Open { above, .. } => {
            let mark = mark::read(connection).await?.opened(*above, moment(connection, clock).await?);
            mark::write(connection, mark).await?;
        }
        _ => {}
    }
    Ok(Ok(next))
}

async fn moment(connection: &mut PgConnection, clock: Option<i64>) -> Result<Timestamp, Fault> {
    const NOW: &str = concat!("SELECT ", now!("$1"), " AS now");
    let row = sqlx::query(NOW).bind(clock).fetch_one(connection).await.while_trying(DOING)?;
    Columns(&row).time("now")
}

pub(crate) async fn write(connection: &mut PgConnection, standing: &StoreStanding) -> Result<(), Fault> {
    sqlx::query("UPDATE ratchet.standing SET stands = $1, other = $2, facts = $3")
        .bind(standing.name())
        .bind(standing.other_store())
        .bind(as_json(standing)?)
        .execute(connection)
        .await
        .while_trying(DOING)?;
    Ok(())
}

/// Lets the rows of this transaction through, or no more.
pub(crate) async fn let_through(connection: &mut PgConnection, rows: bool) -> Result<(), Fault> {
    let query = sqlx::query("UPDATE ratchet.standing SET importing = $1").bind(rows);
    query.execute(connection).await.while_trying(DOING)?;
    Ok(())
}

async fn is_empty(connection: &mut PgConnection) -> Result<bool, Fault> {
    let mut place = Place::START;
    while place != Place::End {
        let batch = export::export(connection, &place, 1).await?;
        if !batch.items.is_empty() {
            return Ok(false);
        }
        place = batch.next;
    }
    Ok(true)
}

async fn leases(connection: &mut PgConnection) -> Result<u64, Fault> {
    let leases: i64 = sqlx::query_scalar("SELECT count(*) FROM ratchet.progress WHERE state = 'running'")
        .fetch_one(connection)
        .await
        .while_trying("count attempts that run")?;
    Ok(u64::try_from(leases).unwrap_or(0))
}

/// Puts up what is missing. Guards of an earlier step stay, and are taken down together: that has to wait for those who read
/// as well, which a backup does for long.
async fn put_up_guards(connection: &mut PgConnection, standing: &StoreStanding) -> Result<(), Fault> {
    const STANDING: &str = "SELECT c.relname, g.tgname FROM pg_catalog.pg_trigger AS g \
        JOIN pg_catalog.pg_class AS c ON c.oid = g.tgrelid \
        WHERE c.relnamespace = 'ratchet'::regnamespace AND g.tgname IN ('ratchet_guard', 'ratchet_guard_beginning')";
    let up: Vec<(String, String)> =
        sqlx::query_as(STANDING).fetch_all(&mut *connection).await.while_trying(DOING)?;
    if standing.is_open() {
        for (table, name) in up {
            run(connection, format!("DROP TRIGGER {name} ON ratchet.{table}")).await?;
        }
        return Ok(());
    }
    let is_up = |table: &str, name: &str| up.iter().any(|guard| guard.0 == table && guard.1 == name);
    if matches!(standing, StoreStanding::Draining { .. }) {
        for (_, guard) in BEGINNINGS.iter().filter(|(table, _)| !is_up(table, "ratchet_guard_beginning")) {
            run(connection, format!("CREATE TRIGGER ratchet_guard_beginning {guard}")).await?;
        }
        return Ok(());
    }
    for table in TABLES.iter().filter(|table| !is_up(table, "ratchet_guard")) {
        let guard = format!(
            "CREATE TRIGGER ratchet_guard BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON ratchet.{table} \
             FOR EACH STATEMENT EXECUTE FUNCTION ratchet.refuse()"
        );
        run(connection, guard).await?;
    }
    Ok(())
}

/// Runs a statement that is made of names in this file.
async fn run(connection: &mut PgConnection, statement: String) -> Result<(), Fault> {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(connection).await.while_trying(DOING)?;
    Ok(())
}
