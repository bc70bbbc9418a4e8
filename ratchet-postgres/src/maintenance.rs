//! What the ledger does about records that nobody reports on, and about those that are kept for long enough.

use ratchet_core::decide::{Command, LONGEST_LEASE};
use sqlx::{Connection as _, PgConnection};

use crate::desk::{self, Loaded};
use crate::error::{Fault, While as _};
use crate::options::Sources;
use crate::row::{now, record_columns};

/// Decides about records whose lease is over, or so far in the future that a clock must have been wrong.
pub(crate) async fn expire(
    connection: &mut PgConnection,
    limit: usize,
    sources: &Sources,
) -> Result<usize, Fault> {
    let doing = "end leases";
    let mut transaction = connection.begin().await.while_trying(doing)?;
    let mut loaded = load_over(&mut transaction, limit, sources).await?;
    let decided = (0..loaded.desk.sheets.len().min(limit))
        .filter(|place| loaded.desk.decide(*place, &Command::Expire, sources.moment(loaded.now)).is_ok())
        .count();
    desk::write(&mut transaction, &loaded).await?;
    transaction.commit().await.while_trying(doing)?;
    Ok(decided)
}

/// Loads records whose lease is over, and looks further where damaged rows stand in front of others.
async fn load_over(connection: &mut PgConnection, limit: usize, sources: &Sources) -> Result<Loaded, Fault> {
    const OVER: &str = concat!(
        "WITH moment AS MATERIALIZED (SELECT ",
        now!("$1"),
        " AS now), over AS MATERIALIZED ( \
            (SELECT record_id FROM ratchet.progress \
             WHERE state = 'running' AND lease_until <= (SELECT now FROM moment) ORDER BY lease_until LIMIT $3) \
            UNION ALL \
            (SELECT record_id FROM ratchet.progress \
             WHERE state = 'running' AND lease_until > (SELECT now FROM moment) + $2 \
             ORDER BY lease_until LIMIT $3) \
            LIMIT $3) \
         SELECT ",
        record_columns!(),
        ", p.xmin AS seen, p.ctid AS place, (SELECT now FROM moment) AS now FROM over JOIN ratchet.progress AS p USING (record_id) JOIN ratchet.records AS r ON r.id = p.record_id \
          WHERE p.state = 'running' FOR UPDATE OF p SKIP LOCKED"
    );
    let mut looked_at = limit;
    loop {
        let rows = sqlx::query(OVER)
            .bind(sources.now())
            .bind(i64::try_from(LONGEST_LEASE.as_millis()).unwrap_or(i64::MAX))
            .bind(as_limit(looked_at))
            .fetch_all(&mut *connection)
            .await
            .while_trying("look for leases that are over")?;
        let loaded = desk::lay_out(connection, &rows).await?;
        if !loaded.desk.lacks(limit, looked_at) || looked_at == 0 {
            loaded.desk.log_damaged(&sources.logged);
            return Ok(loaded);
        }
        looked_at = looked_at.saturating_mul(2);
    }
}

/// Makes tombstones of settled records that are past their retention. Tombstones stay for ever.
pub(crate) async fn purge(
    connection: &mut PgConnection,
    limit: usize,
    sources: &Sources,
) -> Result<usize, Fault> {
    const OVER: &str = concat!(
        "SELECT record_id FROM ratchet.progress WHERE purge_at <= (SELECT ",
        now!("$1"),
        ") AND state NOT IN ('pending', 'running', 'uncertain') ORDER BY purge_at LIMIT $2 FOR UPDATE SKIP LOCKED"
    );
    // What the index of identities holds stays as it is.
    const BURY: &str = "WITH settled AS (DELETE FROM ratchet.progress WHERE record_id = ANY($1) \
            RETURNING record_id, state, settled_at), \
        step AS (DELETE FROM ratchet.steps WHERE record_id = ANY($1)), \
        attempt AS (DELETE FROM ratchet.attempts WHERE record_id = ANY($1)), \
        entry AS (DELETE FROM ratchet.audit WHERE record_id = ANY($1)) \
        UPDATE ratchet.records AS r SET ended_as = s.state, ended_at = s.settled_at, policy = NULL, contract = NULL, \
            input = NULL, group_id = NULL, comes_after = NULL, trace = NULL FROM settled AS s WHERE r.id = s.record_id";
    let doing = "purge records";
    let mut transaction = connection.begin().await.while_trying(doing)?;
    let over: Vec<i64> = sqlx::query_scalar(OVER)
        .bind(sources.now())
        .bind(as_limit(limit))
        .fetch_all(&mut *transaction)
        .await
        .while_trying(doing)?;
    if !over.is_empty() {
        sqlx::query(BURY).bind(&over).execute(&mut *transaction).await.while_trying(doing)?;
    }
    transaction.commit().await.while_trying(doing)?;
    Ok(over.len())
}

fn as_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
