//! Commands for single records.

use std::collections::{BTreeSet, HashMap};

use ratchet_core::RecordId;
use ratchet_core::decide::{Answer, Refusal};
use ratchet_core::ledger::Order;
use sqlx::SqliteConnection;

use crate::desk::Desk;
use crate::error::Fault;
use crate::options::Sources;

/// Decides about orders in their order; a later one sees what an earlier one did.
pub(crate) async fn apply(
    connection: &mut SqliteConnection,
    orders: &[&Order],
    sources: &Sources,
) -> Result<Vec<Result<Answer, Refusal>>, Fault> {
    let ids: BTreeSet<&RecordId> = orders.iter().map(|order| &order.id).collect();
    let mut desk = Desk::with_identities(connection, &ids).await?;
    desk.log_damaged(&sources.logged);
    let places = places(&desk);
    let answers = orders
        .iter()
        .map(|order| {
            let place = places.get(&order.id).cloned().unwrap_or(Err(Refusal::NoRecord))?;
            desk.decide(place, &order.command, sources.moment())
        })
        .collect();
    desk.write(connection).await?;
    Ok(answers)
}

/// Where each record lies on the desk, or why it does not.
fn places(desk: &Desk) -> HashMap<RecordId, Result<usize, Refusal>> {
    let sound = desk.sheets.iter().enumerate().map(|(place, sheet)| (sheet.record.id.clone(), Ok(place)));
    let damaged = desk.damaged.iter().filter_map(|damaged| {
        let refusal = Refusal::Damaged { what: damaged.what.to_owned() };
        Some((damaged.id.clone()?, Err(refusal)))
    });
    sound.chain(damaged).collect()
}
