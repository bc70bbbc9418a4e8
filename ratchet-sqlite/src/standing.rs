//! Whether the store takes work, and the guards that hold every program to it.
//!
//! The guards are triggers. They are put up in the transaction that changes the standing, so there is no moment between the two,
//! and they meet whoever writes: programs that looked a moment ago, transactions of the user's own, other releases.

use ratchet_core::ledger::moving::{Place, StandingChange, StandingRefused, StoreStanding};
use ratchet_core::{Timestamp, serde_json};
use sqlx::{AssertSqlSafe, SqliteConnection, SqliteExecutor};

use crate::declare::as_json;
use crate::error::{Closed, Fault, While as _};
use crate::{export, mark};

const DOING: &str = "change how it stands";

/// All that a ledger holds.
const TABLES: [&str; 13] = [
    "ratchet_terms",
    "ratchet_records",
    "ratchet_steps",
    "ratchet_attempts",
    "ratchet_audit",
    "ratchet_tombstones",
    "ratchet_templates",
    "ratchet_hidden",
    "ratchet_mark",
    "ratchet_acknowledgements",
    "ratchet_declarations",
    "ratchet_gates",
    "ratchet_documents",
];

const EVENTS: [&str; 3] = ["INSERT", "UPDATE", "DELETE"];

/// What must not begin in a source: on which table, by what, and when it is a beginning.
///
/// A lease, a start, and a send that was not pinned before; the same of a step. A step is written as a whole, by `INSERT OR
/// REPLACE`, so it is compared with the one that stands.
const BEGINNINGS: [(&str, &str, &str); 3] = [
    ("ratchet_records", "INSERT", "TRUE"),
    (
        "ratchet_records",
        "UPDATE",
        "NEW.state = 'running' AND (OLD.state <> 'running' OR NEW.token <> OLD.token \
             OR (OLD.lease_started_at IS NULL AND NEW.lease_started_at IS NOT NULL)) \
         OR (NEW.pin IS NOT NULL AND NEW.pin IS NOT OLD.pin)",
    ),
    (
        "ratchet_steps",
        "INSERT",
        "(NEW.state = 'started' AND NOT EXISTS (SELECT 1 FROM ratchet_steps AS s \
             WHERE s.record_id = NEW.record_id AND s.name = NEW.name AND s.state = 'started')) \
         OR (NEW.pin IS NOT NULL AND NEW.pin IS NOT (SELECT s.pin FROM ratchet_steps AS s \
             WHERE s.record_id = NEW.record_id AND s.name = NEW.name))",
    ),
];

pub(crate) async fn read(executor: impl SqliteExecutor<'_>) -> Result<StoreStanding, Fault> {
    let facts: Option<String> = sqlx::query_scalar("SELECT facts FROM ratchet_standing")
        .fetch_optional(executor)
        .await
        .while_trying("read how it stands")?;
    parse(facts.as_deref())
}

fn parse(facts: Option<&str>) -> Result<StoreStanding, Fault> {
    let facts = facts.ok_or(Fault::Damaged("how it stands is missing"))?;
    serde_json::from_str(facts).map_err(|_| Fault::Damaged("how it stands cannot be read"))
}

/// What would be answered of records that another store has by now, and no guard is asked about. Takes the column `facts` as
/// it was read together with the records.
pub(crate) fn require_open(facts: Option<&str>) -> Result<(), Fault> {
    Closed::of(&parse(facts)?).map_or(Ok(()), |closed| Err(Fault::Closed(closed)))
}

/// Under the write lock, so that what is looked at stays as it is until the guards stand.
pub(crate) async fn change(
    connection: &mut SqliteConnection,
    change: &StandingChange,
    now: Timestamp,
) -> Result<Result<StoreStanding, StandingRefused>, Fault> {
    let standing = read(&mut *connection).await?;
    let next = match standing.after(change) {
        Ok(next) if next == standing => return Ok(Ok(next)),
        Ok(next) => next,
        Err(refused) => return Ok(Err(refused)),
    };
    match change {
        StandingChange::Fill { .. } if !is_empty(connection).await? => {
            return Ok(Err(StandingRefused::NotEmpty));
        }
        StandingChange::Freeze { .. } => match leases(connection).await? {
            0 => {}
            leases => return Ok(Err(StandingRefused::Running { leases })),
        },
        _ => {}
    }
    write(connection, &next).await?;
    put_up_guards(connection, &next).await?;
    if let StandingChange::Open { above, .. } = change {
        let mark = mark::read(&mut *connection).await?.opened(*above, now);
        mark::write(connection, mark).await?;
    }
    Ok(Ok(next))
}

pub(crate) async fn write(connection: &mut SqliteConnection, standing: &StoreStanding) -> Result<(), Fault> {
    sqlx::query("UPDATE ratchet_standing SET stands = ?1, facts = ?2")
        .bind(standing.name())
        .bind(as_json(standing)?)
        .execute(connection)
        .await
        .while_trying(DOING)?;
    Ok(())
}

/// Lets the rows of this transaction through, or no more.
pub(crate) async fn let_through(connection: &mut SqliteConnection, rows: bool) -> Result<(), Fault> {
    sqlx::query("UPDATE ratchet_standing SET importing = ?1")
        .bind(rows)
        .execute(connection)
        .await
        .while_trying(DOING)?;
    Ok(())
}

async fn is_empty(connection: &mut SqliteConnection) -> Result<bool, Fault> {
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

async fn leases(connection: &mut SqliteConnection) -> Result<u64, Fault> {
    let leases: i64 = sqlx::query_scalar("SELECT count(*) FROM ratchet_records WHERE state = 'running'")
        .fetch_one(connection)
        .await
        .while_trying("count attempts that run")?;
    Ok(u64::try_from(leases).unwrap_or(0))
}

async fn put_up_guards(connection: &mut SqliteConnection, standing: &StoreStanding) -> Result<(), Fault> {
    for table in TABLES {
        for event in EVENTS {
            run(connection, format!("DROP TRIGGER IF EXISTS ratchet_guard_{table}_{event}")).await?;
        }
    }
    let Some(message) = Closed::of(standing).map(|closed| closed.message()) else { return Ok(()) };
    // No trigger takes a parameter.
    let message = message.replace('\'', "''");
    if matches!(standing, StoreStanding::Draining { .. }) {
        for (table, event, when) in BEGINNINGS {
            guard(connection, table, event, when, &message).await?;
        }
        return Ok(());
    }
    for table in TABLES {
        for event in EVENTS {
            guard(connection, table, event, UNLESS_CARRIED, &message).await?;
        }
    }
    Ok(())
}

const UNLESS_CARRIED: &str = "NOT (SELECT importing FROM ratchet_standing)";

async fn guard(
    connection: &mut SqliteConnection,
    table: &str,
    event: &str,
    when: &str,
    message: &str,
) -> Result<(), Fault> {
    let statement = format!(
        "CREATE TRIGGER ratchet_guard_{table}_{event} BEFORE {event} ON {table} WHEN {when} \
         BEGIN SELECT RAISE(ABORT, '{message}'); END"
    );
    run(connection, statement).await
}

/// Runs a statement that is made of names in this file, and of a message that is quoted.
async fn run(connection: &mut SqliteConnection, statement: String) -> Result<(), Fault> {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(connection).await.while_trying(DOING)?;
    Ok(())
}
