//! Claims: due records of the operations, versions and queues that a worker serves.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use ratchet_core::Record;
use ratchet_core::decide::{Answer, Command};
use ratchet_core::ledger::{Claim, Offer, Room};
use sqlx::PgConnection;

use crate::desk::{self, Loaded};
use crate::error::{Fault, While as _};
use crate::options::Sources;
use crate::room;
use crate::row::{now, record_columns};

/// The priorities of pending records in namespace `$1` for each queue, operation and version in `$2` to `$4`, by one seek
/// each. One queue, operation, version and priority is a shelf: a contiguous part of the index of pending records.
macro_rules! tables_of_shelves {
    () => {
        "offer(queue, operation, version) AS (SELECT * FROM unnest($2::text[], $3::text[], $4::text[])), \
         shelf(queue, operation, version, priority) AS ( \
             SELECT s.queue, s.operation, s.version, ( \
                 SELECT max(p.priority) FROM ratchet.progress AS p \
                 WHERE p.state = 'pending' AND p.namespace = $1 AND p.queue = s.queue \
                     AND p.operation = s.operation AND p.version = s.version) \
             FROM offer AS s \
             UNION ALL \
             SELECT s.queue, s.operation, s.version, ( \
                 SELECT max(p.priority) FROM ratchet.progress AS p \
                 WHERE p.state = 'pending' AND p.namespace = $1 AND p.queue = s.queue \
                     AND p.operation = s.operation AND p.version = s.version AND p.priority < s.priority) \
             FROM shelf AS s WHERE s.priority IS NOT NULL)"
    };
}
pub(crate) use tables_of_shelves;

/// What is due on the shelf `s`, the longest waiting first.
macro_rules! due_on_shelf {
    () => {
        "FROM ratchet.progress AS p \
         WHERE p.state = 'pending' AND p.namespace = $1 AND p.queue = s.queue AND p.operation = s.operation \
             AND p.version = s.version AND p.priority = s.priority AND p.ready_at <= (SELECT now FROM moment) \
         ORDER BY p.ready_at, p.record_id "
    };
}

/// Locks the `$6` most urgent and then longest waiting records.
///
/// A look without locks says how many each shelf gives; then as many are locked there, past those that others hold. Every
/// shelf is two seeks in the index and no more rows than are wanted, so neither settled records nor those that wait for
/// later or for somebody else cost anything.
pub(crate) const DUE: &str = concat!(
    "WITH RECURSIVE moment AS MATERIALIZED (SELECT ",
    now!("$5"),
    " AS now), ",
    tables_of_shelves!(),
    ", first AS (SELECT s.queue, s.operation, s.version, s.priority FROM shelf AS s CROSS JOIN LATERAL ( \
           SELECT p.ready_at, p.record_id ",
    due_on_shelf!(),
    "LIMIT $6) AS w \
       WHERE s.priority IS NOT NULL ORDER BY s.priority DESC, w.ready_at, w.record_id LIMIT $6), \
       share AS MATERIALIZED ( \
           SELECT queue, operation, version, priority, count(*) AS records FROM first GROUP BY 1, 2, 3, 4) \
     SELECT (SELECT now FROM moment) AS now, ",
    record_columns!(),
    " FROM share AS s CROSS JOIN LATERAL (SELECT p.* ",
    due_on_shelf!(),
    "LIMIT s.records FOR UPDATE SKIP LOCKED) AS p \
     CROSS JOIN LATERAL (SELECT * FROM ratchet.records AS r WHERE r.id = p.record_id LIMIT 1) AS r"
);

/// Queues, operations and versions as three columns.
pub(crate) fn offer_columns(offers: &[Offer]) -> [Vec<&str>; 3] {
    let distinct: BTreeSet<(&str, &str, &str)> = offers
        .iter()
        .map(|Offer { queue, served, .. }| {
            (queue.as_str(), served.operation.as_str(), served.version.as_str())
        })
        .collect();
    let mut columns = [(); 3].map(|()| Vec::with_capacity(distinct.len()));
    for (queue, operation, version) in distinct {
        columns[0].push(queue);
        columns[1].push(operation);
        columns[2].push(version);
    }
    columns
}

/// How often one claim looks on behind records that it had to park; bounds one transaction.
const MOST_LOOKS: usize = 16;

/// Inside the transaction of `connection`, leases due records; one whose repetition became unsafe while it waited is parked
/// and not handed out. The transaction [holds](room::hold) the limited operations of the claim.
///
/// Neither parked records nor those of an operation whose limit is reached stand in anybody's way: while there were some
/// and there is room, it looks on behind them.
pub(crate) async fn claim(
    connection: &mut PgConnection,
    claim: &Claim,
    sources: &Sources,
) -> Result<Vec<Record>, Fault> {
    let mut room = room::left(&mut *connection, &claim.namespace, &claim.offers).await?;
    let mut leased = Vec::new();
    for _ in 0..MOST_LOOKS {
        let offers = room.open(&claim.offers);
        let rest = Claim { limit: claim.limit - leased.len(), offers, ..claim.clone() };
        if rest.limit == 0 || rest.offers.is_empty() {
            break;
        }
        let (more, passed_by) = claim_once(connection, &rest, &mut room, sources).await?;
        leased.extend(more);
        if passed_by == 0 {
            break;
        }
    }
    Ok(leased)
}

/// The leased records, and how many were passed by: parked, or of an operation without room.
async fn claim_once(
    connection: &mut PgConnection,
    claim: &Claim,
    room: &mut Room,
    sources: &Sources,
) -> Result<(Vec<Record>, usize), Fault> {
    let Loaded { mut desk, now } = load_due(connection, claim, sources).await?;
    let command = Command::Lease {
        worker: claim.worker.clone(),
        duration: claim.lease,
        start_if_safe: claim.start_if_safe,
    };
    desk.sheets.sort_by_key(|sheet| (Reverse(sheet.record.priority), sheet.record.ready_at, sheet.row));
    let (mut leased, mut passed_by) = (Vec::new(), 0);
    for place in 0..desk.sheets.len().min(claim.limit) {
        if !room.has(&desk.sheets[place].record.id.operation) {
            passed_by += 1;
            continue;
        }
        match desk.decide(place, &command, sources.moment(now)) {
            Ok(Answer::Leased) => {
                room.take(&desk.sheets[place].record.id.operation, 1);
                leased.push(place);
            }
            Ok(Answer::Parked(_)) => passed_by += 1,
            _ => {}
        }
    }
    desk::write(connection, &desk).await?;
    Ok((leased.into_iter().map(|place| desk.sheets[place].record.clone()).collect(), passed_by))
}

/// Loads what is due, and looks further where damaged rows stand in front of others.
async fn load_due(connection: &mut PgConnection, claim: &Claim, sources: &Sources) -> Result<Loaded, Fault> {
    let mut looked_at = claim.limit;
    loop {
        let [queues, operations, versions] = offer_columns(&claim.offers);
        let rows = sqlx::query(DUE)
            .bind(claim.namespace.as_str())
            .bind(queues)
            .bind(operations)
            .bind(versions)
            .bind(sources.now())
            .bind(i64::try_from(looked_at).unwrap_or(i64::MAX))
            .fetch_all(&mut *connection)
            .await
            .while_trying("look for due records")?;
        let loaded = desk::lay_out(connection, &rows).await?;
        if !loaded.desk.lacks(claim.limit, looked_at) {
            loaded.desk.log_damaged(&sources.logged);
            return Ok(loaded);
        }
        looked_at = looked_at.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use sqlx::Row as _;

    use super::*;
    use crate::schema;
    use crate::session::Connector;

    /// A long settled history must not slow claims down: every step of one goes straight to its part of the index.
    #[tokio::test]
    async fn claims_seek_in_the_index_of_pending_records() {
        let database = ratchet_test_postgres::shared().database().await;
        let connector = Connector {
            options: database.url().parse().unwrap(),
            lock_timeout: std::time::Duration::from_secs(1),
            answer_timeout: std::time::Duration::from_secs(10),
        };
        let mut connection = connector.connect().await.unwrap();
        schema::bring_up_to_date(&mut connection).await.unwrap();
        let prepare = format!("PREPARE due(text, text[], text[], text[], bigint, bigint) AS {DUE}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(prepare)).execute(&mut connection).await.unwrap();
        let explain = "EXPLAIN EXECUTE due('default', '{default}', '{a}', '{1}', NULL, 10)";
        let plan = sqlx::raw_sql(explain).fetch_all(&mut connection).await.unwrap();
        let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
        let plan = plan.join("\n");
        assert!(plan.matches("using progress_pending on progress").count() >= 3, "{plan}");
        assert!(plan.contains("Index Cond: (id = p.record_id)"), "{plan}");
        for reads_all in ["Seq Scan", "Bitmap", "Hash Join", "Merge Join"] {
            assert!(!plan.contains(reads_all), "{plan}");
        }
    }
}
