//! What the ledger does about records that nobody reports on, and about those that are kept for long enough.

use ratchet_core::Timestamp;
use ratchet_core::decide::{Command, LONGEST_LEASE};
use ratchet_core::ledger::desk::Desk;
use sqlx::SqliteConnection;

use crate::desk;
use crate::error::{Fault, While as _};
use crate::held::Held;
use crate::options::Sources;
use crate::row::rows_as_json;

/// Decides about records whose lease is over, or so far in the future that a clock must have been wrong.
pub(crate) async fn expire(
    connection: &mut SqliteConnection,
    limit: usize,
    held: &mut Held,
    sources: &Sources,
) -> Result<usize, Fault> {
    let mut desk = load_over(connection, limit, sources).await?;
    let decided = (0..desk.sheets.len().min(limit))
        .filter(|place| desk.decide(*place, &Command::Expire, sources.moment()).is_ok())
        .count();
    desk::write(connection, &desk).await?;
    held.remember(desk.sheets);
    Ok(decided)
}

/// Loads records whose lease is over, and looks further where damaged rows stand in front of others.
async fn load_over(
    connection: &mut SqliteConnection,
    limit: usize,
    sources: &Sources,
) -> Result<Desk, Fault> {
    let (now, mut looked_at) = (sources.now(), limit);
    loop {
        let over = over(connection, looked_at, now).await?;
        if over.is_empty() {
            return Ok(Desk::default());
        }
        let desk = desk::load_rows(connection, &over).await?;
        if !desk.lacks(limit, looked_at) {
            desk.log_damaged(&sources.logged);
            return Ok(desk);
        }
        looked_at = looked_at.saturating_mul(2);
    }
}

async fn over(connection: &mut SqliteConnection, limit: usize, now: Timestamp) -> Result<Vec<i64>, Fault> {
    const OVER: &str = "SELECT id FROM ratchet_records INDEXED BY ratchet_records_leased \
            WHERE state = 'running' AND lease_until <= ?1 \
        UNION ALL SELECT id FROM ratchet_records INDEXED BY ratchet_records_leased \
            WHERE state = 'running' AND lease_until > ?2 \
        LIMIT ?3";
    sqlx::query_scalar(OVER)
        .bind(now.as_millis())
        .bind(now.after(LONGEST_LEASE).as_millis())
        .bind(as_limit(limit))
        .fetch_all(connection)
        .await
        .while_trying("look for leases that are over")
}

/// Puts tombstones in the place of settled records that are past their retention. Tombstones stay for ever.
pub(crate) async fn purge(
    connection: &mut SqliteConnection,
    limit: usize,
    now: Timestamp,
) -> Result<usize, Fault> {
    const OVER: &str = "SELECT id FROM ratchet_records INDEXED BY ratchet_records_purgeable \
        WHERE purge_at <= ?1 AND state NOT IN ('pending', 'running', 'uncertain') ORDER BY purge_at LIMIT ?2";
    const BURY: [&str; 5] = [
        "INSERT INTO ratchet_tombstones \
             (namespace, operation, key, generation, version, fingerprint, state, ended_at, place) \
         SELECT namespace, operation, key, generation, version, fingerprint, state, settled_at, id \
         FROM ratchet_records WHERE id IN (SELECT value FROM json_each(?1))",
        "DELETE FROM ratchet_steps WHERE record_id IN (SELECT value FROM json_each(?1))",
        "DELETE FROM ratchet_attempts WHERE record_id IN (SELECT value FROM json_each(?1))",
        "DELETE FROM ratchet_audit WHERE record_id IN (SELECT value FROM json_each(?1))",
        "DELETE FROM ratchet_records WHERE id IN (SELECT value FROM json_each(?1))",
    ];
    let over: Vec<i64> = sqlx::query_scalar(OVER)
        .bind(now.as_millis())
        .bind(as_limit(limit))
        .fetch_all(&mut *connection)
        .await
        .while_trying("look for records to purge")?;
    if over.is_empty() {
        return Ok(0);
    }
    let rows = rows_as_json(&over)?;
    for statement in BURY {
        sqlx::query(statement).bind(&rows).execute(&mut *connection).await.while_trying("purge records")?;
    }
    Ok(over.len())
}

fn as_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
