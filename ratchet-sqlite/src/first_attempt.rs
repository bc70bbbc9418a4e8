//! The first attempt of a record, as long as it is in the row of the record and has none of its own.
//!
//! It is there after the usual first lease, and after the usual success. Before anything else is written of such a record,
//! or of its attempts, it moves out.

use ratchet_core::Token;
use ratchet_core::ledger::desk::{Desk, Sheet};
use sqlx::SqliteConnection;

use crate::error::{Fault, While as _};
use crate::row::rows_as_json;
use crate::usual::Usual;

/// The columns of `ratchet_attempts` for the attempts that are in `ratchet_records AS r`; further conditions may follow.
macro_rules! first_attempt {
    ($source:literal) => {
        concat!(
            "SELECT r.id AS record_id, 1 AS token, r.first_worker AS worker, r.version, r.first_leased_at AS leased_at, \
             r.first_started_at AS started_at, r.settled_at AS ended_at, iif(r.settled_at IS NULL, NULL, 'done') AS outcome, \
             NULL AS cause, iif(r.settled_at IS NULL, NULL, 0) AS late FROM ",
            $source,
            " AND r.first_worker IS NOT NULL"
        )
    };
}
pub(crate) use first_attempt;

/// Makes rows of the attempts that the usual writes left in the records, if something unusual is to be written of these.
pub(crate) async fn make_room(
    connection: &mut SqliteConnection,
    desk: &Desk,
    usual: &Usual<'_>,
) -> Result<(), Fault> {
    let first = Token::NONE.next();
    let notes = &desk.attempts;
    let concerned = |sheet: &&Sheet| {
        let at = (sheet.row, first);
        sheet.changed || notes.started.contains_key(&at) || notes.ended.contains_key(&at)
    };
    let begun = desk.sheets.iter().filter(|sheet| sheet.was.1 >= first);
    let unusual = begun.filter(|sheet| !usual.covers(sheet.row, sheet.was.1)).filter(concerned);
    let rows: Vec<i64> = unusual.map(|sheet| sheet.row).collect();
    move_out(connection, &rows).await
}

/// A row that was changed by hand, and has that attempt twice or in part, holds up nobody else's.
pub(crate) async fn move_out(connection: &mut SqliteConnection, rows: &[i64]) -> Result<(), Fault> {
    const MOVE: &str = concat!(
        "INSERT OR IGNORE INTO ratchet_attempts \
             (record_id, token, worker, version, leased_at, started_at, ended_at, outcome, cause, late) ",
        first_attempt!("json_each(?1) AS w CROSS JOIN ratchet_records AS r ON r.id = w.value WHERE TRUE")
    );
    const CLEAR: &str = "UPDATE ratchet_records SET first_worker = NULL, first_leased_at = NULL \
        WHERE id IN (SELECT value FROM json_each(?1)) AND first_worker IS NOT NULL";
    if rows.is_empty() {
        return Ok(());
    }
    let (rows, doing) = (rows_as_json(rows)?, "give attempts rows of their own");
    for statement in [MOVE, CLEAR] {
        sqlx::query(statement).bind(&rows).execute(&mut *connection).await.while_trying(doing)?;
    }
    Ok(())
}
