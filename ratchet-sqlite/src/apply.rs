//! Commands for single records.

use std::collections::BTreeSet;

use ratchet_core::RecordId;
use ratchet_core::decide::{Answer, Refusal};
use ratchet_core::ledger::Order;
use sqlx::SqliteConnection;

use crate::desk;
use crate::error::Fault;
use crate::options::Sources;

/// Decides about orders in their order; a later one sees what an earlier one did.
pub(crate) async fn apply(
    connection: &mut SqliteConnection,
    orders: &[&Order],
    sources: &Sources,
) -> Result<Vec<Result<Answer, Refusal>>, Fault> {
    let ids: BTreeSet<&RecordId> = orders.iter().map(|order| &order.id).collect();
    let mut desk = desk::load_identities(connection, &ids).await?;
    desk.log_damaged(&sources.logged);
    let places = desk.places();
    let answers = orders
        .iter()
        .map(|order| {
            let place = places.get(&order.id).cloned().unwrap_or(Err(Refusal::NoRecord))?;
            desk.decide(place, &order.command, sources.moment())
        })
        .collect();
    desk::write(connection, &desk).await?;
    Ok(answers)
}
