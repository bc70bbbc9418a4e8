//! The row of one effect, and the record that it belongs to where the ledger is in the same database.

use ratchet_core::effect_guard::{EffectGuard, Seen};
use ratchet_core::{Payload, State, Token};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres};

use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::write::number;

/// The row of the effect that a query is [`about`].
macro_rules! this_effect {
    () => {
        "namespace = $1 AND operation = $2 AND key = $3 AND generation = $4 AND step = $5"
    };
}

/// State and token of its record, locked; no row if another ledger has it, also since this one has moved: what it still holds
/// says nothing any more. A tombstone is over, however it ended.
macro_rules! record {
    () => {
        "SELECT coalesce(p.state, 'cancelled') AS state, coalesce(p.token, 0) AS token FROM ratchet.records AS r \
            LEFT JOIN LATERAL (SELECT t.state, t.token FROM ratchet.progress AS t WHERE t.record_id = r.id \
                LIMIT 1 FOR SHARE) AS p ON true \
            WHERE r.namespace = $1 AND r.operation = $2 AND r.key = $3 AND r.generation = $4 \
                AND NOT EXISTS (SELECT FROM ratchet.standing AS s WHERE s.stands = 'moved')"
    };
}

/// Writes the result into a row that is as this transaction made it.
macro_rules! keep {
    () => {
        concat!(
            "UPDATE ratchet.effects SET result = $7 WHERE ",
            this_effect!(),
            " AND token = $6 AND result IS NULL RETURNING token"
        )
    };
}

/// A query whose first parameters are the identity of the effect.
fn about<'q>(statement: &'static str, guard: &'q EffectGuard<'_>) -> Query<'q, Postgres, PgArguments> {
    let id = guard.id();
    sqlx::query(statement)
        .bind(id.namespace.as_str())
        .bind(id.operation.as_str())
        .bind(id.key.as_str())
        .bind(i64::from(id.generation.get()))
        .bind(guard.step())
}

/// What came of making the row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Made {
    /// It was not there before.
    pub(crate) is_first: bool,
    /// The tables of a ledger are beside it.
    pub(crate) has_ledger: bool,
}

/// Makes the row. Whoever makes the same at the same time is waited for.
pub(crate) async fn make(connection: &mut PgConnection, guard: &EffectGuard<'_>) -> Result<Made, Fault> {
    const MAKE: &str = "WITH made AS (INSERT INTO ratchet.effects \
            (namespace, operation, key, generation, step, token, done_at) VALUES ($1, $2, $3, $4, $5, $6, $7) \
            ON CONFLICT DO NOTHING RETURNING token) \
        SELECT EXISTS (SELECT FROM made) AS is_first, to_regclass('ratchet.progress') IS NOT NULL AS has_ledger";
    let made = about(MAKE, guard).bind(number(guard.token())).bind(guard.now().as_millis());
    let row = made.fetch_one(connection).await.while_trying("make the row of an effect")?;
    Ok(Made { is_first: Columns(&row).flag("is_first")?, has_ledger: Columns(&row).flag("has_ledger")? })
}

/// What the row says.
pub(crate) async fn read(
    connection: &mut PgConnection,
    guard: &EffectGuard<'_>,
) -> Result<Option<Seen>, Fault> {
    const READ: &str = concat!("SELECT token, result FROM ratchet.effects WHERE ", this_effect!());
    let row = about(READ, guard).fetch_optional(connection).await;
    row.while_trying("read the row of an effect")?.as_ref().map(seen).transpose()
}

/// The same, after the asking token is kept if it is the highest.
pub(crate) async fn raise_and_read(
    connection: &mut PgConnection,
    guard: &EffectGuard<'_>,
) -> Result<Option<Seen>, Fault> {
    const RAISE: &str = concat!(
        "UPDATE ratchet.effects SET token = $6 WHERE ",
        this_effect!(),
        " AND token < $6 RETURNING token, result"
    );
    let row = about(RAISE, guard).bind(number(guard.token())).fetch_optional(&mut *connection).await;
    match row.while_trying("raise the token of an effect")? {
        Some(row) => seen(&row).map(Some),
        None => read(connection, guard).await,
    }
}

fn seen(row: &PgRow) -> Result<Seen, Fault> {
    let result = Columns(row).text_if_any("result")?.map(Payload::from_stored);
    Ok(Seen { token: Columns(row).token("token")?, result })
}

/// What came of keeping a result.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The row was as this transaction made it.
    pub(crate) is_kept: bool,
    /// State and token of the record, if it is in this database.
    pub(crate) record: Option<(State, Token)>,
}

/// Writes what the effect left, and locks the record.
///
/// The lock keeps the record from anybody else until the transaction ends, and so do its heartbeats wait: it is taken
/// last, as late as can be.
pub(crate) async fn keep_result(
    connection: &mut PgConnection,
    guard: &EffectGuard<'_>,
    result: &Payload,
    has_ledger: bool,
) -> Result<Kept, Fault> {
    const KEEP: &str =
        concat!("WITH kept AS (", keep!(), ") SELECT EXISTS (SELECT FROM kept) AS is_kept, NULL AS state");
    const KEEP_AND_LOCK: &str = concat!(
        "WITH kept AS (",
        keep!(),
        "), record AS MATERIALIZED (",
        record!(),
        ") SELECT EXISTS (SELECT FROM kept) AS is_kept, record.state, record.token \
            FROM (SELECT) AS one LEFT JOIN record ON true"
    );
    let statement = if has_ledger { KEEP_AND_LOCK } else { KEEP };
    let keep = about(statement, guard).bind(number(guard.token())).bind(result.as_str());
    let row = keep.fetch_one(connection).await.while_trying("keep what an effect left")?;
    let is_in_another_ledger = Columns(&row).text_if_any("state")?.is_none();
    let record = if is_in_another_ledger { None } else { Some(state_and_token(&row)?) };
    Ok(Kept { is_kept: Columns(&row).flag("is_kept")?, record })
}

/// State and token of the record, locked, if this database holds it.
pub(crate) async fn lock_record(
    connection: &mut PgConnection,
    guard: &EffectGuard<'_>,
) -> Result<Option<(State, Token)>, Fault> {
    let id = guard.id();
    let row = sqlx::query(record!())
        .bind(id.namespace.as_str())
        .bind(id.operation.as_str())
        .bind(id.key.as_str())
        .bind(i64::from(id.generation.get()))
        .fetch_optional(connection)
        .await
        .while_trying("look for the record of an effect")?;
    row.as_ref().map(state_and_token).transpose()
}

fn state_and_token(row: &PgRow) -> Result<(State, Token), Fault> {
    Ok((Columns(row).state("state")?, Columns(row).token("token")?))
}
