//! Commands for single records.

use std::collections::{BTreeSet, HashMap};

use ratchet_core::RecordId;
use ratchet_core::decide::{Answer, Refusal};
use ratchet_core::ledger::Order;
use ratchet_core::ledger::desk::Desk;
use sqlx::SqliteConnection;

use crate::desk;
use crate::error::Fault;
use crate::held::Held;
use crate::options::Sources;

/// Where on the desk the record of an order lies, or why it does not.
type Places<'a> = HashMap<&'a RecordId, Result<usize, Refusal>>;

/// Decides about orders in their order; a later one sees what an earlier one did.
pub(crate) async fn apply(
    connection: &mut SqliteConnection,
    orders: &[&Order],
    held: &mut Held,
    sources: &Sources,
) -> Result<Vec<Result<Answer, Refusal>>, Fault> {
    held.look(connection).await?;
    let (mut desk, mut places) = lay_out(orders, held);
    load_the_rest(connection, orders, &mut desk, &mut places).await?;
    desk.log_damaged(&sources.logged);
    let now = sources.now();
    let answers = orders
        .iter()
        .map(|order| {
            let place = places.get(&order.id).cloned().unwrap_or(Err(Refusal::NoRecord))?;
            desk.decide(place, &order.command, sources.moment_at(now))
        })
        .collect();
    desk::write(connection, &desk).await?;
    held.remember(desk.sheets);
    Ok(answers)
}

fn lay_out<'a>(orders: &[&'a Order], held: &mut Held) -> (Desk, Places<'a>) {
    let (mut desk, mut places) = (Desk::default(), Places::with_capacity(orders.len()));
    for order in orders {
        if let Some(sheet) = held.take(&order.id) {
            places.insert(&order.id, Ok(desk.sheets.len()));
            desk.sheets.push(sheet);
        }
    }
    (desk, places)
}

async fn load_the_rest<'a>(
    connection: &mut SqliteConnection,
    orders: &[&'a Order],
    desk: &mut Desk,
    places: &mut Places<'a>,
) -> Result<(), Fault> {
    let ids = orders.iter().map(|order| &order.id);
    let rest: BTreeSet<&RecordId> = ids.filter(|id| !places.contains_key(id)).collect();
    if rest.is_empty() {
        return Ok(());
    }
    let loaded = desk::load_identities(connection, &rest).await?;
    let found = loaded.places();
    for id in rest {
        if let Some(place) = found.get(id) {
            places.insert(id, place.clone().map(|place| desk.sheets.len() + place));
        }
    }
    desk.sheets.extend(loaded.sheets);
    desk.damaged.extend(loaded.damaged);
    Ok(())
}
