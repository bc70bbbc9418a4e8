//! Commands for single records.

use std::collections::BTreeSet;

use ratchet_core::RecordId;
use ratchet_core::decide::{Answer, Refusal};
use ratchet_core::ledger::Order;
use sqlx::{Connection as _, PgConnection};

use crate::desk::{self, Loaded};
use crate::error::{Fault, While as _};
use crate::options::Sources;

/// Decides about orders in their order; a later one sees what an earlier one did.
pub(crate) async fn apply(
    connection: &mut PgConnection,
    orders: &[&Order],
    sources: &Sources,
) -> Result<Vec<Result<Answer, Refusal>>, Fault> {
    let doing = "write what was decided";
    let ids: BTreeSet<&RecordId> = orders.iter().map(|order| &order.id).collect();
    let mut transaction = connection.begin().await.while_trying(doing)?;
    let Loaded { mut desk, now } = desk::load_identities(&mut transaction, &ids, sources.now()).await?;
    desk.log_damaged(&sources.logged);
    let places = desk.places();
    let answers = orders
        .iter()
        .map(|order| {
            let place = places.get(&order.id).cloned().unwrap_or(Err(Refusal::NoRecord))?;
            desk.decide(place, &order.command, sources.moment(now))
        })
        .collect();
    desk::write(&mut transaction, &desk).await?;
    transaction.commit().await.while_trying(doing)?;
    Ok(answers)
}
