//! Records that wait until others have ended.

use ratchet_core::ledger::follow::{Followed, IN_A_ROUND, Looked, MOST_ROUNDS, Waiting, Whose, endings};
use ratchet_core::{Ending, RecordId, State};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection};

use crate::columns::Columns;
use crate::desk;
use crate::error::{Fault, While as _};
use crate::options::Sources;
use crate::row::{now, record_columns};
use crate::write::column;

const DOING: &str = "decide about records that wait";

pub(crate) async fn follow(
    connection: &mut PgConnection,
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

/// Decides in a transaction of its own. Those that somebody else holds are left for later.
async fn decide(
    connection: &mut PgConnection,
    found: Vec<Waiting>,
    sources: &Sources,
) -> Result<Followed, Fault> {
    const LOCK: &str = concat!(
        "SELECT ",
        record_columns!(),
        ", p.seen, p.place, ",
        now!("$1"),
        " AS now FROM unnest($2::bigint[]) AS w(id) \
          CROSS JOIN LATERAL (SELECT p.xmin AS seen, p.ctid AS place, p.* FROM ratchet.progress AS p \
              WHERE p.record_id = w.id AND p.state = 'waiting' LIMIT 1 FOR UPDATE SKIP LOCKED) AS p \
          CROSS JOIN LATERAL (SELECT * FROM ratchet.records AS r WHERE r.id = w.id LIMIT 1) AS r"
    );
    let endings = endings(found);
    if endings.is_empty() {
        return Ok(Followed::default());
    }
    let mut transaction = connection.begin().await.while_trying(DOING)?;
    let rows = sqlx::query(LOCK)
        .bind(sources.now())
        .bind(endings.keys().copied().collect::<Vec<_>>())
        .fetch_all(&mut *transaction)
        .await
        .while_trying(DOING)?;
    let mut loaded = desk::lay_out(&mut transaction, &rows).await?;
    loaded.desk.log_damaged(&sources.logged);
    let now = loaded.now;
    let followed = loaded.desk.follow(&endings, || sources.moment(now));
    desk::write(&mut transaction, &loaded).await?;
    transaction.commit().await.while_trying(DOING)?;
    Ok(followed)
}

/// How the record in `e` stands, which may be a tombstone.
macro_rules! standing {
    () => {
        "LEFT JOIN LATERAL (SELECT t.state, t.uncertainty, t.reconcile_at FROM ratchet.progress AS t \
             WHERE t.record_id = e.id LIMIT 1) AS q ON true"
    };
}

async fn waiting(connection: &mut PgConnection, behind: i64, limit: usize) -> Result<Vec<Waiting>, Fault> {
    const WAITING: &str = concat!(
        "SELECT p.record_id, coalesce(q.state, e.ended_as) AS state, q.uncertainty, q.reconcile_at \
         FROM (SELECT w.record_id, w.after_id FROM ratchet.progress AS w WHERE w.state = 'waiting' AND w.record_id > $1 \
                 ORDER BY w.record_id LIMIT $2) AS p \
         CROSS JOIN LATERAL (SELECT r.id, r.ended_as FROM ratchet.records AS r WHERE r.id = p.after_id LIMIT 1) AS e ",
        standing!(),
        " ORDER BY p.record_id"
    );
    let rows = sqlx::query(WAITING)
        .bind(behind)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(connection)
        .await
        .while_trying(DOING)?;
    rows.iter().map(read).collect()
}

/// Reads those that wait for one of these, as far as it has ended: others must not take the places of theirs.
async fn of_ended(connection: &mut PgConnection, ended: &[RecordId]) -> Result<Vec<Waiting>, Fault> {
    const OF_ENDED: &str = concat!(
        "SELECT p.record_id, coalesce(q.state, e.ended_as) AS state, q.uncertainty, q.reconcile_at \
         FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS w(namespace, operation, key, generation) \
         CROSS JOIN LATERAL (SELECT r.id, r.ended_as FROM ratchet.records AS r \
             WHERE r.namespace = w.namespace AND r.operation = w.operation AND r.key = w.key \
                 AND r.generation = w.generation LIMIT 1) AS e \
         ",
        standing!(),
        " CROSS JOIN LATERAL (SELECT t.record_id FROM ratchet.progress AS t \
             WHERE t.state = 'waiting' AND t.after_id = e.id ORDER BY t.record_id LIMIT $5) AS p \
         WHERE coalesce(q.state, e.ended_as) NOT IN ('waiting', 'pending', 'running') \
             AND (q.state IS DISTINCT FROM 'uncertain' OR q.uncertainty = 'cancelled' OR q.reconcile_at IS NULL) \
         LIMIT $5"
    );
    let rows = sqlx::query(OF_ENDED)
        .bind(column(ended, |id| id.namespace.as_str()))
        .bind(column(ended, |id| id.operation.as_str()))
        .bind(column(ended, |id| id.key.as_str()))
        .bind(column(ended, |id| i64::from(id.generation.get())))
        .bind(IN_A_ROUND)
        .fetch_all(connection)
        .await
        .while_trying(DOING)?;
    rows.iter().map(read).collect()
}

fn read(row: &PgRow) -> Result<Waiting, Fault> {
    let row = Columns(row);
    let state = row.text_if_any("state")?.and_then(State::from_name);
    let (uncertainty, reconcile_at) = (row.name_if_any("uncertainty")?, row.time_if_any("reconcile_at")?);
    let ended = state.and_then(|state| Ending::of(state, uncertainty, reconcile_at));
    Ok((row.number("record_id")?, ended))
}
