//! How much room the limits of operations leave: counts what runs, for operations that have a limit and for no others.

use ratchet_core::ledger::{Offer, Room};
use ratchet_core::{Namespace, OperationName};
use sqlx::SqliteExecutor;

use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::row::rows_as_json;

/// One pass over the index of leases, which holds what runs and no more.
const RUNNING: &str = "SELECT operation, count(*) AS attempts \
    FROM ratchet_records INDEXED BY ratchet_records_leased \
    WHERE state = 'running' AND namespace = ?1 AND operation IN (SELECT value FROM json_each(?2)) GROUP BY operation";

/// What the limits of these offers leave. A lease counts until it has ended, also if it is over.
pub(crate) async fn left(
    executor: impl SqliteExecutor<'_>,
    namespace: &Namespace,
    offers: &[Offer],
) -> Result<Room, Fault> {
    let mut room = Room::of(offers);
    if room.is_endless() {
        return Ok(room);
    }
    let limited: Vec<&OperationName> = room.limited().collect();
    let rows = sqlx::query(RUNNING)
        .bind(namespace.as_str())
        .bind(rows_as_json(&limited)?)
        .fetch_all(executor)
        .await
        .while_trying("count what runs")?;
    for row in &rows {
        let row = Columns(row);
        room.take(&row.name("operation")?, row.small("attempts")?);
    }
    Ok(room)
}
