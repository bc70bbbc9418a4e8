//! Commands for single records.

use std::collections::{BTreeSet, HashMap};

use ratchet_core::RecordId;
use ratchet_core::decide::{Answer, Refusal};
use ratchet_core::ledger::Order;
use sqlx::{Connection as _, PgConnection};

use crate::desk;
use crate::error::{Fault, While as _};
use crate::held::Held;
use crate::options::Sources;
use crate::{notes, write};

type Told = Result<Answer, Refusal>;

/// Decides about orders in their order; a later one sees what an earlier one did.
///
/// Those for records that this program has leased are committed before the others are looked at, which may fail still.
pub(crate) async fn apply(
    connection: &mut PgConnection,
    orders: &[&Order],
    sources: &Sources,
    held: &Held,
) -> Result<Vec<Told>, Fault> {
    let known = apply_to_held(connection, orders, sources, held).await?;
    let unknown: Vec<&Order> = orders
        .iter()
        .copied()
        .zip(&known)
        .filter_map(|(order, told)| told.is_none().then_some(order))
        .collect();
    let mut loaded = if unknown.is_empty() {
        Vec::new()
    } else {
        apply_to_locked(connection, &unknown, sources, held).await?
    }
    .into_iter();
    let told = known.into_iter().map(|told| told.or_else(|| loaded.next()));
    told.map(|told| told.ok_or(Fault::Damaged("an order has no answer"))).collect()
}

fn records_of<'a>(orders: &[&'a Order]) -> BTreeSet<&'a RecordId> {
    orders.iter().map(|order| &order.id).collect()
}

/// Orders for records that this program has leased: one statement, which is a transaction by itself. No answer to those
/// for others, and where only a look can tell.
async fn apply_to_held(
    connection: &mut PgConnection,
    orders: &[&Order],
    sources: &Sources,
    held: &Held,
) -> Result<Vec<Option<Told>>, Fault> {
    let Some((mut known, places)) = held.lay_out(orders, sources.now()) else {
        return Ok(vec![None; orders.len()]);
    };
    let mut decide = |(order, place): (&&Order, &Option<usize>)| {
        let moment = sources.moment(known.now);
        place.map(|place| known.desk.decide(place, &order.command, moment))
    };
    let mut answers: Vec<Option<Told>> = orders.iter().zip(&places).map(&mut decide).collect();
    if !notes::is_all_in_progress(&known.desk) {
        return Ok(vec![None; orders.len()]);
    }
    let written = write::records(connection, &known).await?;
    held.remember(&known, &written, false);
    for (place, answer) in places.iter().zip(&mut answers) {
        let sheet = place.and_then(|place| known.desk.sheets.get(place));
        // What changed nothing has not been compared with its row.
        if !sheet.is_some_and(|sheet| written.contains_key(&sheet.row)) {
            *answer = None;
        }
    }
    Ok(answers)
}

/// Orders for records that are loaded and locked for them.
async fn apply_to_locked(
    connection: &mut PgConnection,
    orders: &[&Order],
    sources: &Sources,
    held: &Held,
) -> Result<Vec<Told>, Fault> {
    let doing = "write what was decided";
    let mut transaction = connection.begin().await.while_trying(doing)?;
    let mut loaded = desk::load_identities(&mut transaction, &records_of(orders), sources.now()).await?;
    held.read_clock(&loaded);
    loaded.desk.log_damaged(&sources.logged);
    let mut answers = vec![None; orders.len()];
    let places: HashMap<RecordId, Result<usize, Refusal>> = loaded.desk.places();
    for (order, answer) in orders.iter().zip(&mut answers) {
        *answer = places.get(&order.id).cloned().map(|place| {
            place.and_then(|place| loaded.desk.decide(place, &order.command, sources.moment(loaded.now)))
        });
    }
    let written = desk::write(&mut transaction, &loaded).await?;
    transaction.commit().await.while_trying(doing)?;
    held.remember(&loaded, &written, false);
    Ok(answers.into_iter().map(|answer| answer.unwrap_or(Err(Refusal::NoRecord))).collect())
}
