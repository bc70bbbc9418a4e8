//! Claims: due records of the operations, versions and queues that a worker serves.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ratchet_core::Record;
use ratchet_core::decide::{Answer, Command};
use ratchet_core::ledger::desk::Sheet;
use ratchet_core::ledger::{Claim, Offer, Room};
use sqlx::{Connection as _, PgConnection};

use crate::desk::{self, Loaded};
use crate::error::{Fault, While as _};
use crate::held::Held;
use crate::options::Sources;
use crate::room;
use crate::row::{now, record_columns};
use crate::write;

/// The pending records `p` on the shelf `s` in namespace `$1`, by the number that the index has for the four names.
macro_rules! on_shelf {
    () => {
        "p.state = 'pending' AND hashtextextended(p.version, hashtextextended(p.queue, hashtextextended(p.operation, \
             hashtextextended(p.namespace, 0)))) = s.number \
         AND p.namespace = $1 AND p.queue = s.queue AND p.operation = s.operation AND p.version = s.version"
    };
}
pub(crate) use on_shelf;

/// The priorities of pending records in namespace `$1` for each queue, operation and version in `$2` to `$4`, by one seek
/// each. One queue, operation, version and priority is a shelf: a contiguous part of the index of pending records.
macro_rules! tables_of_shelves {
    () => {
        concat!(
            "offer(queue, operation, version, number) AS (SELECT o.*, hashtextextended(o.version, \
                 hashtextextended(o.queue, hashtextextended(o.operation, hashtextextended($1, 0)))) \
                 FROM unnest($2::text[], $3::text[], $4::text[]) AS o(queue, operation, version)), \
             shelf(queue, operation, version, number, priority) AS ( \
                 SELECT s.queue, s.operation, s.version, s.number, ( \
                     SELECT max(p.priority) FROM ratchet.progress AS p WHERE ",
            $crate::claim::on_shelf!(),
            ") FROM offer AS s \
             UNION ALL \
                 SELECT s.queue, s.operation, s.version, s.number, ( \
                     SELECT max(p.priority) FROM ratchet.progress AS p WHERE ",
            $crate::claim::on_shelf!(),
            " AND p.priority < s.priority) \
                 FROM shelf AS s WHERE s.priority IS NOT NULL)"
        )
    };
}
pub(crate) use tables_of_shelves;

/// What is due on the shelf `s`, the longest waiting first.
macro_rules! due_on_shelf {
    () => {
        concat!(
            "FROM ratchet.progress AS p WHERE ",
            on_shelf!(),
            " AND p.priority = s.priority AND p.ready_at <= (SELECT now FROM moment) \
             ORDER BY p.ready_at, p.record_id "
        )
    };
}

/// The `$6` most urgent and then longest waiting records.
///
/// A look says how many each shelf gives, if more than one holds anything; then as many are read there, or locked past those
/// that others hold. Every shelf is two seeks in the index and no more rows than are wanted, so neither settled records nor
/// those that wait for later or for somebody else cost anything.
macro_rules! due {
    ($lock:literal) => {
        concat!(
            "WITH RECURSIVE moment AS MATERIALIZED (SELECT ",
            now!("$5"),
            " AS now), ",
            tables_of_shelves!(),
            ", filled AS MATERIALIZED (SELECT * FROM shelf WHERE priority IS NOT NULL), \
               first AS (SELECT s.queue, s.operation, s.version, s.number, s.priority FROM filled AS s CROSS JOIN LATERAL ( \
                   SELECT p.ready_at, p.record_id ",
            due_on_shelf!(),
            "LIMIT $6) AS w \
               WHERE (SELECT count(*) FROM filled) > 1 \
               ORDER BY s.priority DESC, w.ready_at, w.record_id LIMIT $6), \
               share AS MATERIALIZED ( \
                   SELECT queue, operation, version, number, priority, count(*) AS records \
                   FROM first GROUP BY 1, 2, 3, 4, 5 \
                   UNION ALL \
                   SELECT queue, operation, version, number, priority, $6 FROM filled WHERE (SELECT count(*) FROM filled) = 1) \
             SELECT ",
            record_columns!(),
            ", p.seen, p.place, (SELECT now FROM moment) AS now FROM share AS s CROSS JOIN LATERAL (SELECT p.xmin AS seen, p.ctid AS place, p.* ",
            due_on_shelf!(),
            "LIMIT s.records",
            $lock,
            ") AS p CROSS JOIN LATERAL (SELECT * FROM ratchet.records AS r WHERE r.id = p.record_id LIMIT 1) AS r"
        )
    };
}

/// Locks what is due.
pub(crate) const DUE: &str = due!(" FOR UPDATE SKIP LOCKED");

/// Looks at what is due.
pub(crate) const LOOK: &str = due!("");

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

/// How many claims lock what they look at after one met another program.
const CAREFUL_CLAIMS: u32 = 64;

/// What a ledger knows when it claims.
#[derive(Debug)]
pub(crate) struct Claiming {
    pub(crate) sources: Sources,
    pub(crate) held: Arc<Held>,
    /// How many claims are to expect that others claim too.
    careful: AtomicU32,
}

impl Claiming {
    pub(crate) fn new(sources: Sources, held: Arc<Held>) -> Self {
        Self { sources, held, careful: AtomicU32::new(0) }
    }

    /// Leases due records for each of the claims.
    ///
    /// One that comes alone reads without locks and leases what is still the same when it writes. This is half the work, as
    /// long as no other program wants the same records. Limits are counted in a transaction that [holds](room::hold) them.
    pub(crate) async fn claim(
        &self,
        connection: &mut PgConnection,
        claims: &[&Claim],
    ) -> Result<Vec<Vec<Record>>, Fault> {
        let less = |careful: u32| careful.checked_sub(1);
        let careful = self.careful.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok();
        let limited = |claim: &&Claim| claim.offers.iter().any(|offer| offer.at_most.is_some());
        if let ([claim], false) = (claims, careful || claims.iter().any(limited)) {
            match self.search(connection, claim, LOOK).await {
                Ok(found) if found.lost == 0 || !found.leased.is_empty() => return Ok(vec![found.leased]),
                // Somebody holds what is due, or was faster: the others are leased past it.
                Ok(_) | Err(Fault::Busy) => self.careful.store(CAREFUL_CLAIMS, Ordering::Relaxed),
                Err(fault) => return Err(fault),
            }
        }
        let doing = "claim records";
        let mut transaction = connection.begin().await.while_trying(doing)?;
        room::hold(&mut transaction, claims).await?;
        let mut leased = Vec::with_capacity(claims.len());
        for claim in claims {
            leased.push(self.search(&mut transaction, claim, DUE).await?.leased);
        }
        transaction.commit().await.while_trying(doing)?;
        Ok(leased)
    }

    /// Leases due records; one whose repetition became unsafe while it waited is parked and not handed out.
    ///
    /// Neither parked records nor those of an operation whose limit is reached stand in anybody's way: while there were some
    /// and there is room, it looks on behind them.
    async fn search(
        &self,
        connection: &mut PgConnection,
        claim: &Claim,
        due: &'static str,
    ) -> Result<Found, Fault> {
        let mut found = Found::default();
        let mut room = room::left(&mut *connection, &claim.namespace, &claim.offers).await?;
        for _ in 0..MOST_LOOKS {
            let offers = room.open(&claim.offers);
            let rest = Claim { limit: claim.limit - found.leased.len(), offers, ..claim.clone() };
            if rest.limit == 0 || rest.offers.is_empty() {
                break;
            }
            let more = match self.search_once(connection, &rest, &mut room, due).await {
                // What is leased is committed already.
                Err(fault) if due == LOOK && !found.leased.is_empty() => {
                    tracing::warn!(?fault, "a claim found less than there may be");
                    break;
                }
                more => more?,
            };
            found.leased.extend(more.leased);
            found.lost = more.lost;
            if more.passed_by == 0 {
                break;
            }
        }
        Ok(found)
    }

    async fn search_once(
        &self,
        connection: &mut PgConnection,
        claim: &Claim,
        room: &mut Room,
        due: &'static str,
    ) -> Result<Found, Fault> {
        let mut loaded = load_due(connection, claim, due, &self.sources).await?;
        self.held.read_clock(&loaded);
        let command = Command::Lease {
            worker: claim.worker.clone(),
            duration: claim.lease,
            start_if_safe: claim.start_if_safe,
        };
        let desk = &mut loaded.desk;
        desk.sheets.sort_by_key(|sheet| (Reverse(sheet.record.priority), sheet.record.ready_at, sheet.row));
        let (mut leased, mut parked, mut full) = (HashSet::new(), 0, 0);
        for place in 0..desk.sheets.len().min(claim.limit) {
            if !room.has(&desk.sheets[place].record.id.operation) {
                full += 1;
                continue;
            }
            match desk.decide(place, &command, self.sources.moment(loaded.now)) {
                Ok(Answer::Leased) => {
                    room.take(&desk.sheets[place].record.id.operation, 1);
                    leased.insert(desk.sheets[place].row);
                }
                Ok(Answer::Parked(_)) => parked += 1,
                _ => {}
            }
        }
        let wanted = leased.len() + parked;
        let written = if due == DUE {
            desk::write(connection, &loaded).await?
        } else {
            write::records(connection, &loaded).await?
        };
        self.held.remember(&loaded, &written, true);
        if written.len() < wanted {
            self.careful.store(CAREFUL_CLAIMS, Ordering::Relaxed);
        }
        let ours = |sheet: &Sheet| leased.contains(&sheet.row) && written.contains_key(&sheet.row);
        let leased = loaded.desk.sheets.into_iter().filter(ours).map(|sheet| sheet.record).collect();
        Ok(Found { leased, passed_by: parked + full, lost: wanted - written.len() })
    }
}

/// What came of a look.
#[derive(Debug, Default)]
struct Found {
    leased: Vec<Record>,
    /// Whose repetition became unsafe while they waited, or whose operation has no room.
    passed_by: usize,
    /// What somebody else wrote in between.
    lost: usize,
}

/// Loads what is due, and looks further where damaged rows stand in front of others.
async fn load_due(
    connection: &mut PgConnection,
    claim: &Claim,
    due: &'static str,
    sources: &Sources,
) -> Result<Loaded, Fault> {
    let mut looked_at = claim.limit;
    loop {
        let [queues, operations, versions] = offer_columns(&claim.offers);
        let rows = sqlx::query(due)
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
