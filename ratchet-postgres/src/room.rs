//! How much room the limits of operations leave: counts what runs, for operations that have a limit and for no others.

use std::collections::BTreeSet;

use ratchet_core::ledger::{Claim, Offer, Room};
use ratchet_core::{Namespace, OperationName};
use sqlx::{PgConnection, PgExecutor};

use crate::columns::Columns;
use crate::error::{Fault, While as _};

/// Lets the transaction of `connection` alone claim from the limited operations of these claims, until it ends.
///
/// What is counted then stays true until the leases are written. All claimers take the locks in one order, and before
/// anything else, so that nobody waits in a circle.
pub(crate) async fn hold(connection: &mut PgConnection, claims: &[&Claim]) -> Result<(), Fault> {
    const HOLD: &str = "SELECT pg_advisory_xact_lock(lock) FROM ( \
        SELECT DISTINCT hashtextextended('ratchet ' || namespace || ' ' || operation, 0) AS lock \
        FROM unnest($1::text[], $2::text[]) AS w(namespace, operation) ORDER BY lock) AS ordered";
    let mut limited = BTreeSet::new();
    for claim in claims {
        let with_limit = claim.offers.iter().filter(|offer| offer.at_most.is_some());
        limited.extend(with_limit.map(|offer| (claim.namespace.as_str(), offer.served.operation.as_str())));
    }
    if limited.is_empty() {
        return Ok(());
    }
    let (namespaces, operations): (Vec<&str>, Vec<&str>) = limited.into_iter().unzip();
    sqlx::query(HOLD)
        .bind(namespaces)
        .bind(operations)
        .execute(connection)
        .await
        .while_trying("wait for its turn to claim")?;
    Ok(())
}

/// One range of the index of leases for each operation.
const RUNNING: &str = "SELECT w.operation, ( \
        SELECT count(*) FROM ratchet.progress AS p \
        WHERE p.state = 'running' AND p.namespace = $1 AND p.operation = w.operation) AS attempts \
    FROM unnest($2::text[]) AS w(operation)";

/// What the limits of these offers leave. A lease counts until it has ended, also if it is over.
pub(crate) async fn left(
    executor: impl PgExecutor<'_>,
    namespace: &Namespace,
    offers: &[Offer],
) -> Result<Room, Fault> {
    let mut room = Room::of(offers);
    if room.is_endless() {
        return Ok(room);
    }
    let limited: Vec<&str> = room.limited().map(OperationName::as_str).collect();
    let rows = sqlx::query(RUNNING)
        .bind(namespace.as_str())
        .bind(limited)
        .fetch_all(executor)
        .await
        .while_trying("count what runs")?;
    for row in &rows {
        let row = Columns(row);
        room.take(&row.name("operation")?, row.small("attempts")?);
    }
    Ok(room)
}

#[cfg(test)]
mod tests {
    use sqlx::Row as _;

    use super::*;
    use crate::schema;
    use crate::session::Connector;

    /// What runs of other operations must not slow the count down.
    #[tokio::test]
    async fn the_count_reads_one_range_of_the_index_for_each_operation() {
        let database = ratchet_test_postgres::shared().database().await;
        let connector = Connector {
            options: database.url().parse().unwrap(),
            lock_timeout: std::time::Duration::from_secs(1),
            answer_timeout: std::time::Duration::from_secs(30),
        };
        let mut connection = connector.connect().await.unwrap();
        schema::bring_up_to_date(&mut connection).await.unwrap();
        let prepare = format!("PREPARE running(text, text[]) AS {RUNNING}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(prepare)).execute(&mut connection).await.unwrap();
        let explain = "EXPLAIN EXECUTE running('default', '{a}')";
        let plan = sqlx::raw_sql(explain).fetch_all(&mut connection).await.unwrap();
        let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
        let plan = plan.join("\n");
        assert!(plan.contains("using progress_leased on progress"), "{plan}");
        assert!(plan.contains("(namespace = $1) AND (operation = w.operation)"), "{plan}");
    }
}
