//! Loads records on the desk under locks, inside a transaction, and writes what was decided about them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ratchet_core::ledger::desk::{Damaged, Desk, Sheet};
use ratchet_core::{RecordId, Timestamp};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use crate::columns::{Columns, InOrder};
use crate::error::{Fault, While as _};
use crate::notes;
use crate::row::{Snapshots, now, read, record_columns, steps_column};
use crate::seen::Seen;
use crate::write::{self, Mark};

/// What was loaded, and the ledger's clock at that moment.
pub(crate) struct Loaded {
    pub(crate) desk: Desk,
    pub(crate) now: Timestamp,
    /// By the numbers of the rows.
    pub(crate) marks: HashMap<i64, Mark>,
}

/// Loads the records of these identities; those that do not exist are left out.
///
/// All who wait for several locks take them in the order of the identities, so that nobody waits in a circle. What is
/// looked up stands behind `LIMIT 1`: a plan from the days when the table was small would read all of it otherwise.
pub(crate) async fn load_identities(
    connection: &mut PgConnection,
    ids: &BTreeSet<&RecordId>,
    now: Option<i64>,
) -> Result<Loaded, Fault> {
    const BY_IDENTITY: &str = concat!(
        "SELECT ",
        record_columns!(),
        ", p.seen, p.place, ",
        now!("$1"),
        " AS now FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) \
              AS w(namespace, operation, key, generation) \
          CROSS JOIN LATERAL (SELECT * FROM ratchet.records AS r \
              WHERE r.namespace = w.namespace AND r.operation = w.operation AND r.key = w.key \
                  AND r.generation = w.generation LIMIT 1) AS r \
          CROSS JOIN LATERAL (SELECT p.xmin AS seen, p.ctid AS place, p.* FROM ratchet.progress AS p \
              WHERE p.record_id = r.id LIMIT 1 FOR UPDATE) AS p"
    );
    let rows = sqlx::query(BY_IDENTITY)
        .bind(now)
        .bind(ids.iter().map(|id| id.namespace.as_str()).collect::<Vec<_>>())
        .bind(ids.iter().map(|id| id.operation.as_str()).collect::<Vec<_>>())
        .bind(ids.iter().map(|id| id.key.as_str()).collect::<Vec<_>>())
        .bind(ids.iter().map(|id| i64::from(id.generation.get())).collect::<Vec<_>>())
        .fetch_all(&mut *connection)
        .await
        .while_trying("load records")?;
    lay_out(connection, &rows).await
}

/// Lays rows that are locked on the desk.
pub(crate) async fn lay_out(connection: &mut PgConnection, rows: &[PgRow]) -> Result<Loaded, Fault> {
    // Each row may have waited for its lock, the last one the longest.
    let now = rows.last().map_or(Ok(Timestamp::EPOCH), |row| Columns(row).time("now"))?;
    let (mut desk, mut marks) = (Desk::default(), HashMap::with_capacity(rows.len()));
    desk.sheets.reserve(rows.len());
    let (mut snapshots, mut with_steps) = (Snapshots::default(), HashMap::new());
    for row in rows {
        let mut cells = InOrder::new(row);
        let (number, record) = match read(&mut cells, &mut snapshots) {
            Ok(sound) => sound,
            Err(Fault::Damaged(what)) => {
                desk.damaged.push(damaged(row, what)?);
                continue;
            }
            Err(fault) => return Err(fault),
        };
        let has_steps = cells.next()?;
        // What only a tombstone needs.
        cells.skip(3);
        let seen = cells.seen()?;
        if has_steps {
            with_steps.insert(number, seen);
        } else {
            marks.insert(number, Mark::new(seen, &record));
        }
        desk.sheets.push(Sheet::new(number, record));
    }
    let mut loaded = Loaded { desk, now, marks };
    if !with_steps.is_empty() {
        add_steps(connection, &mut loaded, &with_steps).await?;
    }
    Ok(loaded)
}

/// The steps of those rows that have some. By a statement of its own: the one that waited for the locks sees other tables
/// as they were before it waited.
async fn add_steps(
    connection: &mut PgConnection,
    loaded: &mut Loaded,
    with_steps: &HashMap<i64, Seen>,
) -> Result<(), Fault> {
    const STEPS: &str = concat!(
        "SELECT p.record_id, ",
        steps_column!(),
        " FROM ratchet.progress AS p WHERE p.record_id = ANY($1)"
    );
    let numbers: Vec<i64> = with_steps.keys().copied().collect();
    let rows = sqlx::query(STEPS).bind(numbers).fetch_all(connection).await.while_trying("load steps")?;
    let steps = rows.iter().map(|row| Ok((Columns(row).number("record_id")?, Columns(row).steps())));
    let mut steps = steps.collect::<Result<HashMap<_, _>, Fault>>()?;
    for mut sheet in std::mem::take(&mut loaded.desk.sheets) {
        if let Some(seen) = with_steps.get(&sheet.row) {
            match steps.remove(&sheet.row).unwrap_or_else(|| Ok(BTreeMap::new())) {
                Ok(steps) => sheet.record.steps = steps,
                Err(Fault::Damaged(what)) => {
                    let (row, id) = (sheet.row, Some(sheet.record.id));
                    loaded.desk.damaged.push(Damaged { row, id, what });
                    continue;
                }
                Err(fault) => return Err(fault),
            }
            loaded.marks.insert(sheet.row, Mark::new(*seen, &sheet.record));
        }
        loaded.desk.sheets.push(sheet);
    }
    Ok(())
}

fn damaged(row: &PgRow, what: &'static str) -> Result<Damaged, Fault> {
    let columns = Columns(row);
    Ok(Damaged { row: columns.number("id")?, id: columns.identity().ok(), what })
}

/// Writes everything that was decided about rows that are locked.
pub(crate) async fn write(
    connection: &mut PgConnection,
    loaded: &Loaded,
) -> Result<HashMap<i64, Seen>, Fault> {
    let desk = &loaded.desk;
    let written = write::records(connection, loaded).await?;
    if written.len() != desk.sheets.iter().filter(|sheet| sheet.changed).count() {
        // Only a trigger or a fault can do it.
        return Err(Fault::Damaged("a record changed under its lock"));
    }
    notes::steps(connection, &desk.sheets).await?;
    notes::terms(connection, &desk.sheets).await?;
    notes::attempts(connection, desk).await?;
    crate::audit::write(connection, &desk.audit).await?;
    Ok(written)
}
