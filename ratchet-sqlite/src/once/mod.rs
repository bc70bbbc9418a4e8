//! Effects in a database of the handler's own.

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Instant;

use ratchet_core::effect_guard::{EffectGuard, Seen};
use ratchet_core::{Cause, CauseKind, Context, Failure, OnceError, OnceErrorKind, Sending, StepName};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::pool::PoolConnection;
use sqlx::{Acquire as _, Connection as _, Sqlite, SqliteConnection, SqlitePool, Transaction};

use crate::effects;
use crate::error::{Fault, While as _};

/// Has an effect in a database of yours once, however many attempts ask for it, and returns what it left.
///
/// The closure runs inside a `BEGIN IMMEDIATE … COMMIT` of its own. A row of the table `ratchet_effects`, written in
/// the same transaction, keeps that it happened, and what the closure returned, as JSON of at most
/// [`LARGEST_RESULT`](ratchet_core::Payload::LARGEST_RESULT) bytes. Whoever asks again, at the same time or later, waits
/// and gets the stored result; an attempt whose token is lower than one that was seen is refused. Where this database
/// also holds the ledger, its record is checked too: an attempt that lost its lease cannot commit.
///
/// The row is made for the identity of `ctx` (namespace, operation, key, generation, and the step if it is the context
/// of one) and `name`, which tells several effects of one handler apart. Any ledger will do. Declare
/// `destination = Contract::DATABASE` for an operation, or a step, all of whose effects are made so: an attempt that dies
/// is then tried again, and reads the row. The table is made by opening the ledger, or by
/// [`migrate_effects`](crate::migrate_effects) in a database without one. Its rows are never removed by themselves:
/// remove those that are older (by `done_at`) than the last retry and replay of their operation, if you want to, and say
/// so with [`remembers_for`](ratchet_core::Contract::remembers_for).
///
/// # No destination is asked inside
///
/// Everybody else who writes to the database waits for this transaction, and a rollback does not call a request back. So
/// the closure does database work alone, and quickly. Requests and steps of a [`Context`] are refused inside it, and so
/// is another `once`; other clients cannot be told, and what they did is *not* undone when this reports that it was
/// rolled back. Let the closure enqueue another operation, with [`enqueue_in`](crate::enqueue_in), for what is to follow
/// on the effect.
///
/// ```
/// use ratchet_core::{Context, Failure};
/// use ratchet_sqlite::sqlx::{self, SqlitePool};
/// use ratchet_sqlite::once;
///
/// /// Declared with `destination = Contract::DATABASE`.
/// async fn book(ctx: Context, pool: &SqlitePool, seat: i64, guest: &str) -> Result<i64, Failure> {
///     let booking = once(pool, &ctx, "book", async |tx| {
///         let taken = sqlx::query("UPDATE seats SET guest = ?1 WHERE id = ?2 AND guest IS NULL")
///             .bind(guest)
///             .bind(seat)
///             .execute(&mut *tx)
///             .await?;
///         if taken.rows_affected() == 0 {
///             return Err(Failure::rejected("the seat is taken"));
///         }
///         let insert = sqlx::query("INSERT INTO bookings (seat) VALUES (?1)").bind(seat);
///         Ok(insert.execute(&mut *tx).await?.last_insert_rowid())
///     });
///     Ok(booking.await?)
/// }
/// ```
///
/// # Errors
/// An [`OnceError`], which `?` turns into a [`Failure`] with what is known about the effect. Until COMMIT is asked for
/// nothing can have happened, so every error before it, also a foreign one in the closure, is *not applied*; a closure
/// that says `Failure::rejected` is rejected. A COMMIT without an answer is resolved by reading the row; only where that
/// fails too is the effect unknown, and the next attempt reads the row.
pub async fn once<T, F>(
    pool: &SqlitePool,
    ctx: &Context,
    name: impl TryInto<StepName, Error: fmt::Display>,
    effect: F,
) -> Result<T, OnceError>
where
    T: Serialize + DeserializeOwned,
    F: AsyncFnOnce(&mut SqliteConnection) -> Result<T, Failure>,
{
    let guard = EffectGuard::of(ctx, name)?;
    committing_by(pool, &guard, effect, async |transaction| transaction.commit().await).await
}

/// [`once()`], with the COMMIT as a parameter, so that a test can lose its answer.
async fn committing_by<T, F, C>(
    pool: &SqlitePool,
    guard: &EffectGuard<'_>,
    effect: F,
    commit: C,
) -> Result<T, OnceError>
where
    T: Serialize + DeserializeOwned,
    F: AsyncFnOnce(&mut SqliteConnection) -> Result<T, Failure>,
    C: AsyncFnOnce(Transaction<'_, Sqlite>) -> Result<(), sqlx::Error>,
{
    let asked = Instant::now();
    let failed = |error| failed(guard, &Fault::of("begin a transaction", error), asked);
    let mut connection = pool.acquire().await.map_err(failed)?;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
    let ended = match within(&mut transaction, guard, effect).await {
        Ok(value) => guard.begin_commit().map(|sending| (value, sending)),
        Err(error) => Err(error),
    };
    let (value, sending) = match ended {
        Ok(ended) => ended,
        Err(error) => {
            // Where this fails, closing the connection does it.
            if transaction.rollback().await.is_err() {
                let _ = connection.close().await;
            }
            return Err(error);
        }
    };
    match commit(transaction).await {
        Ok(()) => {
            sending.acted();
            Ok(value)
        }
        Err(error) => after_failed_commit(pool, guard, connection, sending, error).await,
    }
}

/// [`once()`] inside a transaction of yours, which you commit: the effect happened if, and only if, it commits.
///
/// Take a `BEGIN IMMEDIATE` transaction. One that was begun otherwise and has read cannot write any more if another
/// program wrote meanwhile, and gets [`OnceErrorKind::OldSnapshot`]; begin it anew then.
///
/// After an error the transaction holds nothing of the closure, and you may go on with it, or drop it. Pass an error of
/// your COMMIT on with `?`: the outcome is unknown then, and the next attempt reads the row. Do not turn it into
/// `not_applied`, since a COMMIT whose answer is lost may have taken effect.
///
/// What [`once()`] says about asking destinations holds for the whole transaction, and cannot be checked outside of the
/// closure.
///
/// ```
/// use ratchet_core::{Context, Failure};
/// use ratchet_sqlite::sqlx::{self, SqlitePool};
/// use ratchet_sqlite::once_in;
///
/// async fn book(ctx: Context, pool: &SqlitePool, seat: i64) -> Result<i64, Failure> {
///     let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
///     let booking = once_in(&mut transaction, &ctx, "book", async |tx| {
///         let insert = sqlx::query("INSERT INTO bookings (seat) VALUES (?1)").bind(seat);
///         Ok(insert.execute(tx).await?.last_insert_rowid())
///     });
///     let booking = booking.await?;
///     transaction.commit().await?;
///     Ok(booking)
/// }
/// ```
///
/// # Errors
/// As [`once()`], but for those of COMMIT.
pub async fn once_in<T, F>(
    transaction: &mut Transaction<'_, Sqlite>,
    ctx: &Context,
    name: impl TryInto<StepName, Error: fmt::Display>,
    effect: F,
) -> Result<T, OnceError>
where
    T: Serialize + DeserializeOwned,
    F: AsyncFnOnce(&mut SqliteConnection) -> Result<T, Failure>,
{
    let asked = Instant::now();
    let guard = EffectGuard::of(ctx, name)?;
    let failed = |error| failed(&guard, &Fault::of("set a savepoint", error), asked);
    let mut savepoint = transaction.begin().await.map_err(failed)?;
    match within(&mut savepoint, &guard, effect).await {
        Ok(value) => {
            savepoint.commit().await.map_err(failed)?;
            // It is for the caller to commit it; a certain word about something else does not hide it.
            ctx.begin_send().acted();
            Ok(value)
        }
        Err(error) => {
            // If even this fails the transaction is gone, and the effect with it.
            let _ = savepoint.rollback().await;
            Err(error)
        }
    }
}

/// The effect, or what it left, inside a transaction. After an error the transaction is to be rolled back.
async fn within<T, F>(
    connection: &mut SqliteConnection,
    guard: &EffectGuard<'_>,
    effect: F,
) -> Result<T, OnceError>
where
    T: Serialize + DeserializeOwned,
    F: AsyncFnOnce(&mut SqliteConnection) -> Result<T, Failure>,
{
    let asked = Instant::now();
    let failed = |fault: Fault| failed(guard, &fault, asked);
    let is_first = effects::make(connection, guard).await.map_err(failed)?;
    if let Some((state, token)) = effects::record(connection, guard).await.map_err(failed)? {
        guard.check_record(state, token)?;
    }
    if !is_first {
        let seen = effects::read(connection, guard).await.map_err(failed)?;
        let value = guard.read(seen.ok_or_else(|| guard.transaction_ended())?)?;
        effects::raise_token(connection, guard).await.map_err(failed)?;
        return Ok(value);
    }
    let (value, result) = guard.run(effect(connection)).await?;
    if effects::keep_result(connection, guard, &result).await.map_err(failed)? {
        Ok(value)
    } else {
        Err(guard.transaction_ended())
    }
}

/// Finds out whether a transaction whose COMMIT failed was committed.
async fn after_failed_commit<T: DeserializeOwned>(
    pool: &SqlitePool,
    guard: &EffectGuard<'_>,
    connection: PoolConnection<Sqlite>,
    sending: Sending,
    error: sqlx::Error,
) -> Result<T, OnceError> {
    tracing::warn!(%error, "a COMMIT failed; reading whether it took effect");
    // Ends the transaction if it is still open. Nothing else is asked of a connection that failed.
    let _ = connection.close().await;
    match look_back(pool, guard).await {
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

/// Reads the row under the write lock: then no other transaction is under way, and what is absent stays absent.
async fn look_back(pool: &SqlitePool, guard: &EffectGuard<'_>) -> Result<Option<Seen>, Fault> {
    let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await.while_trying("read an effect back")?;
    let seen = effects::read(&mut transaction, guard).await?;
    transaction.rollback().await.while_trying("read an effect back")?;
    Ok(seen)
}

fn failed(guard: &EffectGuard<'_>, fault: &Fault, asked: Instant) -> OnceError {
    let refused = |kind, why| guard.rolled_back(kind, Cause::new(CauseKind::Error, why));
    match fault {
        Fault::ReadBeforeWrite => refused(
            OnceErrorKind::OldSnapshot,
            "the transaction read before another program wrote, so it cannot write any more: begin it with `BEGIN IMMEDIATE`",
        ),
        Fault::NoSchema => refused(
            OnceErrorKind::NoTable,
            "the database does not hold the table `ratchet_effects`: call `ratchet_sqlite::migrate_effects` on it once",
        ),
        Fault::Busy => guard.not_applied(OnceErrorKind::Busy, fault.told(asked.elapsed())),
        _ => guard.not_applied(OnceErrorKind::Store, fault.told(asked.elapsed())),
    }
}
