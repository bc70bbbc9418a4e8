//! Claims: due records of the operations, versions and queues that a worker serves.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use ratchet_core::decide::{Answer, Command};
use ratchet_core::ledger::desk::Desk;
use ratchet_core::ledger::{Claim, Offer, Room};
use ratchet_core::{Record, Timestamp};
use serde::Serialize;
use sqlx::SqliteConnection;

use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::held::Held;
use crate::options::Sources;
use crate::row::rows_as_json;
use crate::stored::columns;
use crate::{desk, room};

/// One queue, operation, version and priority: a contiguous part of the index of pending records.
struct Shelf {
    queue: String,
    operation: String,
    version: String,
    /// As it is in the index: one that is out of its range is damage to its record alone.
    priority: i64,
}

/// The priorities of pending records in namespace `?1` for each queue, operation and version in `?2`, by one seek each.
macro_rules! tables_of_shelves {
    () => {
        "offer(queue, operation, version) AS ( \
             SELECT value ->> 'queue', value ->> 'operation', value ->> 'version' FROM json_each(?2)), \
         shelf(queue, operation, version, priority) AS ( \
             SELECT queue, operation, version, ( \
                 SELECT max(r.priority) FROM ratchet_records AS r INDEXED BY ratchet_records_pending \
                 WHERE r.state = 'pending' AND r.namespace = ?1 AND r.queue = offer.queue \
                     AND r.operation = offer.operation AND r.version = offer.version) \
             FROM offer \
             UNION ALL \
             SELECT queue, operation, version, ( \
                 SELECT max(r.priority) FROM ratchet_records AS r INDEXED BY ratchet_records_pending \
                 WHERE r.state = 'pending' AND r.namespace = ?1 AND r.queue = shelf.queue \
                     AND r.operation = shelf.operation AND r.version = shelf.version \
                     AND r.priority < shelf.priority) \
             FROM shelf WHERE priority IS NOT NULL)"
    };
}
pub(crate) use tables_of_shelves;

/// Which shelves there are.
pub(crate) const SHELVES: &str = concat!(
    "WITH RECURSIVE ",
    tables_of_shelves!(),
    " SELECT queue, operation, version, priority FROM shelf WHERE priority IS NOT NULL"
);

/// What is due on one shelf, as one JSON list.
pub(crate) const DUE: &str = "SELECT json_group_array(json_array(ready_at, id)) FROM (SELECT r.ready_at, r.id FROM ratchet_records AS r INDEXED BY ratchet_records_pending \
    WHERE r.state = 'pending' AND r.namespace = ?1 AND r.queue = ?2 AND r.operation = ?3 AND r.version = ?4 \
        AND r.priority = ?5 AND r.ready_at <= ?6 \
    ORDER BY r.ready_at, r.id LIMIT ?7)";

/// An offer as the JSON parameter of a statement.
#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct OfferRow<'a> {
    queue: &'a str,
    operation: &'a str,
    version: &'a str,
}

pub(crate) fn offers_as_json(offers: &[Offer]) -> Result<String, Fault> {
    let distinct: BTreeSet<OfferRow<'_>> = offers
        .iter()
        .map(|Offer { queue, served, .. }| OfferRow {
            queue: queue.as_str(),
            operation: served.operation.as_str(),
            version: served.version.as_str(),
        })
        .collect();
    rows_as_json(&distinct.iter().collect::<Vec<_>>())
}

/// How often one claim looks on behind records that it had to park; bounds one transaction.
const MOST_LOOKS: usize = 16;

/// Leases due records; one whose repetition became unsafe while it waited is parked and not handed out.
///
/// Neither parked records nor those of an operation whose limit is reached stand in anybody's way: while there were some
/// and there is room, it looks on behind them. Nobody else writes meanwhile, so what was counted stays true.
pub(crate) async fn claim(
    connection: &mut SqliteConnection,
    claim: &Claim,
    held: &mut Held,
    sources: &Sources,
) -> Result<Vec<Record>, Fault> {
    let mut room = room::left(&mut *connection, &claim.namespace, &claim.offers).await?;
    let mut leased = Vec::new();
    for _ in 0..MOST_LOOKS {
        let offers = room.open(&claim.offers);
        let rest = Claim { limit: claim.limit - leased.len(), offers, ..claim.clone() };
        let (more, passed_by) = claim_once(connection, &rest, &mut room, held, sources).await?;
        leased.extend(more);
        if passed_by == 0 || leased.len() >= claim.limit {
            break;
        }
    }
    Ok(leased)
}

/// The leased records, and how many were passed by: parked, or of an operation without room.
async fn claim_once(
    connection: &mut SqliteConnection,
    claim: &Claim,
    room: &mut Room,
    held: &mut Held,
    sources: &Sources,
) -> Result<(Vec<Record>, usize), Fault> {
    let now = sources.now();
    let mut desk = load_due(connection, claim, sources, now).await?;
    let command = Command::Lease {
        worker: claim.worker.clone(),
        duration: claim.lease,
        start_if_safe: claim.start_if_safe,
    };
    let (mut leased, mut passed_by) = (Vec::new(), 0);
    for place in 0..desk.sheets.len().min(claim.limit) {
        if !room.has(&desk.sheets[place].record.id.operation) {
            passed_by += 1;
            continue;
        }
        match desk.decide(place, &command, sources.moment_at(now)) {
            Ok(Answer::Leased) => {
                room.take(&desk.sheets[place].record.id.operation, 1);
                leased.push(place);
            }
            Ok(Answer::Parked(_)) => passed_by += 1,
            _ => {}
        }
    }
    desk::write(connection, &desk).await?;
    leased.sort_by_key(|place| {
        let sheet = &desk.sheets[*place];
        (Reverse(sheet.record.priority), sheet.record.ready_at, sheet.row)
    });
    let leased = leased.into_iter().map(|place| desk.sheets[place].record.clone()).collect();
    held.remember(desk.sheets);
    Ok((leased, passed_by))
}

/// Loads what is due, and looks further where damaged rows stand in front of others.
async fn load_due(
    connection: &mut SqliteConnection,
    claim: &Claim,
    sources: &Sources,
    now: Timestamp,
) -> Result<Desk, Fault> {
    let mut looked_at = claim.limit;
    loop {
        let due = due(connection, claim, looked_at, now).await?;
        if due.is_empty() {
            return Ok(Desk::default());
        }
        let desk = desk::load_rows(connection, &due).await?;
        if !desk.lacks(claim.limit, looked_at) {
            desk.log_damaged(&sources.logged);
            return Ok(desk);
        }
        looked_at = looked_at.saturating_mul(2);
    }
}

/// The rows of the most urgent and then longest waiting records, `limit` of them at the most.
///
/// Every shelf is one seek in the index and no more rows than are wanted, so neither settled records nor those that
/// wait for later or for somebody else cost anything.
async fn due(
    connection: &mut SqliteConnection,
    claim: &Claim,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<i64>, Fault> {
    let mut shelves = shelves(connection, claim).await?;
    shelves.sort_by_key(|shelf| Reverse(shelf.priority));
    let mut rows = Vec::new();
    for level in shelves.chunk_by(|one, other| one.priority == other.priority) {
        let wanted = limit - rows.len();
        if wanted == 0 {
            break;
        }
        let mut waiting = Vec::new();
        for shelf in level {
            waiting.extend(due_on(connection, claim, shelf, wanted, now).await?);
        }
        waiting.sort_unstable();
        rows.extend(waiting.into_iter().take(wanted).map(|(_, row)| row));
    }
    Ok(rows)
}

async fn shelves(connection: &mut SqliteConnection, claim: &Claim) -> Result<Vec<Shelf>, Fault> {
    let rows = sqlx::query(SHELVES)
        .bind(claim.namespace.as_str())
        .bind(offers_as_json(&claim.offers)?)
        .fetch_all(connection)
        .await
        .while_trying("look for due records")?;
    rows.iter()
        .map(|row| {
            let row = Columns(row);
            Ok(Shelf {
                queue: row.text("queue")?.to_owned(),
                operation: row.text("operation")?.to_owned(),
                version: row.text("version")?.to_owned(),
                priority: row.number("priority")?,
            })
        })
        .collect()
}

async fn due_on(
    connection: &mut SqliteConnection,
    claim: &Claim,
    shelf: &Shelf,
    wanted: usize,
    now: Timestamp,
) -> Result<Vec<(i64, i64)>, Fault> {
    let due: Vec<u8> = sqlx::query_scalar(DUE)
        .bind(claim.namespace.as_str())
        .bind(&shelf.queue)
        .bind(&shelf.operation)
        .bind(&shelf.version)
        .bind(shelf.priority)
        .bind(now.as_millis())
        .bind(i64::try_from(wanted).unwrap_or(i64::MAX))
        .fetch_one(connection)
        .await
        .while_trying("look for due records")?;
    columns(&due)
}
