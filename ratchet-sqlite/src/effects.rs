//! The row of one effect, and the record that it belongs to where the ledger is in the same database.

use ratchet_core::effect_guard::{EffectGuard, Seen};
use ratchet_core::{Payload, State, Token};
use sqlx::SqliteConnection;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments};

use crate::columns::Columns;
use crate::error::{Fault, While as _};

/// A query whose first parameters are the identity of the effect.
fn about<'q>(statement: &'static str, guard: &'q EffectGuard<'_>) -> Query<'q, Sqlite, SqliteArguments> {
    let id = guard.id();
    sqlx::query(statement)
        .bind(id.namespace.as_str())
        .bind(id.operation.as_str())
        .bind(id.key.as_str())
        .bind(i64::from(id.generation.get()))
        .bind(guard.step())
}

/// Makes the row, which also takes the write lock, and says whether it was not there before.
pub(crate) async fn make(connection: &mut SqliteConnection, guard: &EffectGuard<'_>) -> Result<bool, Fault> {
    const MAKE: &str = "INSERT INTO ratchet_effects (namespace, operation, key, generation, step, token, done_at) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING";
    let made = about(MAKE, guard).bind(number(guard.token())?).bind(guard.now().as_millis());
    let made = made.execute(connection).await.while_trying("make the row of an effect")?;
    Ok(made.rows_affected() == 1)
}

/// What the row says.
pub(crate) async fn read(
    connection: &mut SqliteConnection,
    guard: &EffectGuard<'_>,
) -> Result<Option<Seen>, Fault> {
    const READ: &str = "SELECT token, result FROM ratchet_effects \
        WHERE namespace = ?1 AND operation = ?2 AND key = ?3 AND generation = ?4 AND step = ?5";
    let row = about(READ, guard).fetch_optional(connection).await;
    let Some(row) = row.while_trying("read the row of an effect")? else { return Ok(None) };
    let row = Columns(&row);
    let result = row.text_if_any("result")?.map(Payload::from_stored);
    Ok(Some(Seen { token: row.token("token")?, result }))
}

/// Keeps the asking token if it is the highest.
pub(crate) async fn raise_token(
    connection: &mut SqliteConnection,
    guard: &EffectGuard<'_>,
) -> Result<(), Fault> {
    const RAISE: &str = "UPDATE ratchet_effects SET token = ?6 \
        WHERE namespace = ?1 AND operation = ?2 AND key = ?3 AND generation = ?4 AND step = ?5 AND token < ?6";
    let raised = about(RAISE, guard).bind(number(guard.token())?).execute(connection).await;
    raised.map(drop).while_trying("raise the token of an effect")
}

/// Writes what the effect left, and says whether the row was as this transaction made it.
pub(crate) async fn keep_result(
    connection: &mut SqliteConnection,
    guard: &EffectGuard<'_>,
    result: &Payload,
) -> Result<bool, Fault> {
    const KEEP: &str = "UPDATE ratchet_effects SET result = ?7 \
        WHERE namespace = ?1 AND operation = ?2 AND key = ?3 AND generation = ?4 AND step = ?5 \
            AND token = ?6 AND result IS NULL";
    let kept =
        about(KEEP, guard).bind(number(guard.token())?).bind(result.as_str()).execute(connection).await;
    Ok(kept.while_trying("keep what an effect left")?.rows_affected() == 1)
}

/// State and token of the record, if this database holds it, or its tombstone. What is left of a ledger that has moved
/// says nothing any more: its records go on elsewhere.
pub(crate) async fn record(
    connection: &mut SqliteConnection,
    guard: &EffectGuard<'_>,
) -> Result<Option<(State, Token)>, Fault> {
    const RECORD: &str = "SELECT state, token FROM ratchet_records INDEXED BY ratchet_records_identity \
        WHERE namespace = ?1 AND operation = ?2 AND key = ?3 AND generation = ?4 \
            AND NOT EXISTS (SELECT 1 FROM ratchet_standing WHERE stands = 'moved') \
        UNION ALL SELECT state, 0 FROM ratchet_tombstones \
        WHERE namespace = ?1 AND operation = ?2 AND key = ?3 AND generation = ?4 \
            AND NOT EXISTS (SELECT 1 FROM ratchet_standing WHERE stands = 'moved') LIMIT 1";
    let id = guard.id();
    let row = sqlx::query(RECORD)
        .bind(id.namespace.as_str())
        .bind(id.operation.as_str())
        .bind(id.key.as_str())
        .bind(i64::from(id.generation.get()))
        .fetch_optional(connection)
        .await
        .while_trying("look for the record of an effect");
    match row {
        Ok(Some(row)) => Ok(Some((Columns(&row).state("state")?, Columns(&row).token("token")?))),
        // Its ledger is somewhere else.
        Ok(None) | Err(Fault::NoSchema) => Ok(None),
        Err(fault) => Err(fault),
    }
}

fn number(token: Token) -> Result<i64, Fault> {
    i64::try_from(token.get()).map_err(|_| Fault::Damaged("a token is out of its range"))
}
