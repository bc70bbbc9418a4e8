//! Records that wait until others have ended.

use ratchet_core::ledger::follow::{Followed, IN_A_ROUND, Looked, MOST_ROUNDS, Waiting, Whose, endings};
use ratchet_core::{Ending, RecordId};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use crate::columns::Columns;
use crate::desk;
use crate::error::{Fault, While as _};
use crate::options::Sources;
use crate::row::{IdentityRow, rows_as_json};

pub(crate) async fn follow(
    connection: &mut SqliteConnection,
    whose: &Whose,
    sources: &Sources,
) -> Result<Looked, Fault> {
    let (mut looked, mut ended) = match whose {
        Whose::Ended(ids) => (Looked::default(), ids.clone()),
        Whose::Any { behind, limit, .. } => {
            let found = waiting(connection, *behind, *limit).await?;
            let mut looked = Looked::at(&found, *behind, *limit);
            let skipped = looked.add(decide(connection, found, sources).await?);
            (looked, skipped)
        }
    };
    for _ in 0..MOST_ROUNDS {
        if ended.is_empty() {
            break;
        }
        let (found, before) = (of_ended(connection, &ended).await?, looked.decided);
        ended.extend(looked.add(decide(connection, found, sources).await?));
        if looked.decided == before {
            break;
        }
    }
    Ok(looked)
}

async fn decide(
    connection: &mut SqliteConnection,
    found: Vec<Waiting>,
    sources: &Sources,
) -> Result<Followed, Fault> {
    let endings = endings(found);
    if endings.is_empty() {
        return Ok(Followed::default());
    }
    let mut desk = desk::load_rows(connection, &endings.keys().copied().collect::<Vec<_>>()).await?;
    desk.log_damaged(&sources.logged);
    let followed = desk.follow(&endings, || sources.moment());
    desk::write(connection, &desk).await?;
    Ok(followed)
}

async fn waiting(
    connection: &mut SqliteConnection,
    behind: i64,
    limit: usize,
) -> Result<Vec<Waiting>, Fault> {
    const WAITING: &str = "SELECT f.id, coalesce(p.state, t.state) AS state, p.uncertainty, p.reconcile_at \
        FROM (SELECT id, after_id FROM ratchet_records INDEXED BY ratchet_records_waiting \
                WHERE comes_after IS NOT NULL AND state = 'waiting' AND id > ?1 ORDER BY id LIMIT ?2) AS f \
            LEFT JOIN ratchet_records AS p ON p.id = f.after_id \
            LEFT JOIN ratchet_tombstones AS t ON t.place = f.after_id \
        ORDER BY f.id";
    let rows = sqlx::query(WAITING)
        .bind(behind)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(connection)
        .await
        .while_trying("look for records that wait")?;
    rows.iter().map(read).collect()
}

async fn of_ended(connection: &mut SqliteConnection, ended: &[RecordId]) -> Result<Vec<Waiting>, Fault> {
    const OF_ENDED: &str = "WITH wanted AS MATERIALIZED (SELECT DISTINCT value AS w FROM json_each(?1)), \
        ended(id, state, uncertainty, reconcile_at) AS ( \
            SELECT p.id, p.state, p.uncertainty, p.reconcile_at \
            FROM wanted CROSS JOIN ratchet_records AS p INDEXED BY ratchet_records_identity \
            ON p.namespace = w ->> 'namespace' AND p.operation = w ->> 'operation' AND p.key = w ->> 'key' \
                AND p.generation = w ->> 'generation' \
            UNION ALL \
            SELECT t.place, t.state, NULL, NULL FROM wanted CROSS JOIN ratchet_tombstones AS t \
            ON t.namespace = w ->> 'namespace' AND t.operation = w ->> 'operation' AND t.key = w ->> 'key' \
                AND t.generation = w ->> 'generation') \
        SELECT f.id, e.state, e.uncertainty, e.reconcile_at \
        FROM ended AS e CROSS JOIN ratchet_records AS f INDEXED BY ratchet_records_followers \
            ON f.state = 'waiting' AND f.after_id = e.id \
        WHERE e.state NOT IN ('waiting', 'pending', 'running') \
            AND (e.state <> 'uncertain' OR e.uncertainty = 'cancelled' OR e.reconcile_at IS NULL) LIMIT ?2";
    let ids: Vec<IdentityRow<'_>> = ended.iter().map(IdentityRow::from).collect();
    let rows = sqlx::query(OF_ENDED)
        .bind(rows_as_json(&ids)?)
        .bind(IN_A_ROUND)
        .fetch_all(connection)
        .await
        .while_trying("look for records that wait")?;
    rows.iter().map(read).collect()
}

fn read(row: &SqliteRow) -> Result<Waiting, Fault> {
    let row = Columns(row);
    let state = row.text_if_any("state")?.and_then(ratchet_core::State::from_name);
    let (uncertainty, reconcile_at) = (row.name_if_any("uncertainty")?, row.time_if_any("reconcile_at")?);
    let ended = state.and_then(|state| Ending::of(state, uncertainty, reconcile_at));
    Ok((row.number("id")?, ended))
}
