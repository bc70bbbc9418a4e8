//! Records that wait until others have ended.

use std::collections::HashMap;

use ratchet_core::ledger::follow::Followed;
use ratchet_core::{Ending, RecordId, State};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection};

use crate::columns::Columns;
use crate::desk;
use crate::error::{Fault, While as _};
use crate::options::Sources;
use crate::row::{now, record_columns};
use crate::write::column;

/// Whose followers are to be decided about.
pub(crate) enum Whose {
    /// Of these records, which have ended.
    Ended(Vec<RecordId>),
    /// Of all: the next `limit` that wait, from behind this row on.
    Any { behind: i64, limit: usize },
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    pub(crate) decided: usize,
    /// Whether something is due now.
    pub(crate) due: bool,
    /// The last of those that wait, if there may be more behind it.
    pub(crate) last: Option<i64>,
    /// Whether there was any.
    pub(crate) waiting: bool,
}

const DOING: &str = "decide about records that wait";

/// How many followers one round decides about, and how many rounds there are: the rest is found later.
const BATCH: i64 = 256;
const MOST_ROUNDS: usize = 64;

pub(crate) async fn follow(
    connection: &mut PgConnection,
    whose: &Whose,
    sources: &Sources,
) -> Result<Looked, Fault> {
    let mut looked = Looked::default();
    let mut ended = match whose {
        Whose::Ended(ids) => ids.clone(),
        Whose::Any { behind, limit } => {
            let found = waiting(connection, *behind, *limit).await?;
            looked.waiting = !found.is_empty() || *behind > 0;
            looked.last = found.last().filter(|_| found.len() == *limit).map(|(row, _)| *row);
            looked.decide(connection, found, sources).await?
        }
    };
    for _ in 0..MOST_ROUNDS {
        if ended.is_empty() {
            break;
        }
        let (found, before) = (of_ended(connection, &ended).await?, looked.decided);
        ended.extend(looked.decide(connection, found, sources).await?);
        if looked.decided == before {
            break;
        }
    }
    Ok(looked)
}

/// The row of a record that waits, and how the one before it has ended, if it has.
type Waiting = (i64, Option<Ending>);

impl Looked {
    /// Decides in a transaction of its own, and answers which are skipped. Those that somebody else holds are left for later.
    async fn decide(
        &mut self,
        connection: &mut PgConnection,
        found: Vec<Waiting>,
        sources: &Sources,
    ) -> Result<Vec<RecordId>, Fault> {
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
        let endings: HashMap<i64, Ending> =
            found.into_iter().filter_map(|(row, ended)| Some((row, ended?))).collect();
        if endings.is_empty() {
            return Ok(Vec::new());
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
        let Followed { due, skipped } = loaded.desk.follow(&endings, || sources.moment(now));
        desk::write(&mut transaction, &loaded).await?;
        transaction.commit().await.while_trying(DOING)?;
        self.decided += due + skipped.len();
        self.due |= due > 0;
        Ok(skipped)
    }
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
         FROM (SELECT w.record_id FROM ratchet.progress AS w WHERE w.state = 'waiting' AND w.record_id > $1 \
                 ORDER BY w.record_id LIMIT $2) AS p \
         CROSS JOIN LATERAL (SELECT r.after_id FROM ratchet.records AS r WHERE r.id = p.record_id LIMIT 1) AS f \
         CROSS JOIN LATERAL (SELECT r.id, r.ended_as FROM ratchet.records AS r WHERE r.id = f.after_id LIMIT 1) AS e ",
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

async fn of_ended(connection: &mut PgConnection, ended: &[RecordId]) -> Result<Vec<Waiting>, Fault> {
    const OF_ENDED: &str = concat!(
        "SELECT p.record_id, coalesce(q.state, e.ended_as) AS state, q.uncertainty, q.reconcile_at \
         FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS w(namespace, operation, key, generation) \
         CROSS JOIN LATERAL (SELECT r.id, r.ended_as FROM ratchet.records AS r \
             WHERE r.namespace = w.namespace AND r.operation = w.operation AND r.key = w.key \
                 AND r.generation = w.generation LIMIT 1) AS e \
         CROSS JOIN LATERAL (SELECT r.id FROM ratchet.records AS r WHERE r.after_id = e.id OFFSET 0) AS f \
         CROSS JOIN LATERAL (SELECT t.record_id FROM ratchet.progress AS t \
             WHERE t.record_id = f.id AND t.state = 'waiting' LIMIT 1) AS p ",
        standing!(),
        " LIMIT $5"
    );
    let rows = sqlx::query(OF_ENDED)
        .bind(column(ended, |id| id.namespace.as_str()))
        .bind(column(ended, |id| id.operation.as_str()))
        .bind(column(ended, |id| id.key.as_str()))
        .bind(column(ended, |id| i64::from(id.generation.get())))
        .bind(BATCH)
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
