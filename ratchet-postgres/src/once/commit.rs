//! The search for a COMMIT whose answer was lost.

use std::time::Duration;

use ratchet_core::effect_guard::{EffectGuard, Seen};
use ratchet_core::{OnceError, Sending};
use serde::de::DeserializeOwned;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgDatabaseError, PgSeverity};
use sqlx::{AssertSqlSafe, PgPool, Postgres};
use tokio::time::timeout;

use crate::effects;
use crate::error::{Fault, While as _};

/// How long the server may take to end a transaction whose connection was lost.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Finds out whether a transaction whose COMMIT failed was committed.
pub(super) async fn after_failure<T: DeserializeOwned>(
    patience: Duration,
    pool: &PgPool,
    guard: &EffectGuard<'_>,
    connection: PoolConnection<Postgres>,
    sending: Sending,
    error: sqlx::Error,
) -> Result<T, OnceError> {
    if is_refusal(&error) {
        return Err(guard.not_committed(sending, error));
    }
    tracing::warn!(%error, "a COMMIT failed; reading whether it took effect");
    // Gives its place in the pool back, and tells the server where that can still be told.
    let _ = timeout(patience, connection.close()).await;
    match look_back(patience, pool, guard).await {
        Ok(Some(seen)) => {
            sending.acted();
            guard.read(seen)
        }
        Ok(None) => Err(guard.not_committed(sending, error)),
        Err(fault) => {
            tracing::warn!(?fault, "the row of the effect could not be read");
            Err(guard.commit_unknown(sending, error))
        }
    }
}

/// Whether the server said that it rolled back, as for a deferred constraint. What is worse than an error ends the
/// connection, and may come after the commit.
fn is_refusal(error: &sqlx::Error) -> bool {
    let answer = error.as_database_error().and_then(|error| error.try_downcast_ref::<PgDatabaseError>());
    answer.is_some_and(|answer| answer.severity() == PgSeverity::Error)
}

/// What the row says, once the transaction that made it is certainly over.
async fn look_back(
    patience: Duration,
    pool: &PgPool,
    guard: &EffectGuard<'_>,
) -> Result<Option<Seen>, Fault> {
    let looks = async {
        // Once more for every connection of the pool that turns out to be gone.
        for _ in 0..pool.size() {
            match look(patience, pool, guard).await {
                Err(Fault::Disconnected { .. }) => {}
                answer => return answer,
            }
        }
        look(patience, pool, guard).await
    };
    timeout(patience * 2, looks).await.unwrap_or_else(|_| Err(Fault::no_answer("read an effect back")))
}

/// Makes the row again, which waits for whoever made it: the server may still hold that transaction open, and may still
/// commit it, though its client is gone. Where the row can be made, the other one was rolled back.
async fn look(patience: Duration, pool: &PgPool, guard: &EffectGuard<'_>) -> Result<Option<Seen>, Fault> {
    let doing = "read an effect back";
    let milliseconds = patience.as_millis();
    let begin = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {milliseconds}; SET LOCAL statement_timeout = 0"
    );
    let mut transaction = pool.begin_with(AssertSqlSafe(begin)).await.while_trying(doing)?;
    let made = effects::make(&mut transaction, guard).await?;
    let seen = if made.is_first { None } else { effects::read(&mut transaction, guard).await? };
    transaction.rollback().await.while_trying(doing)?;
    Ok(seen)
}
