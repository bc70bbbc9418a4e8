//! How much room the limits of operations leave: counts what runs, for operations that have a limit and for no others.

use ratchet_core::ledger::{Offer, Room};
use ratchet_core::{Namespace, OperationName};
use sqlx::SqliteExecutor;

use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::row::rows_as_json;

/// The index of leases has all that it asks for, and no more than runs.
const RUNNING: &str = "SELECT w.value AS operation, ( \
        SELECT count(*) FROM ratchet_records AS r INDEXED BY ratchet_records_leased \
        WHERE r.state = 'running' AND r.namespace = ?1 AND r.operation = w.value) AS attempts \
    FROM json_each(?2) AS w";

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
