//! Effects in a database of the handler's own.

mod commit;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::{Duration, Instant};

use ratchet_core::effect_guard::EffectGuard;
use ratchet_core::{Cause, CauseKind, Context, Failure, OnceError, OnceErrorKind, StepName};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::{Acquire as _, PgConnection, PgPool, Postgres, Transaction};

use crate::effects;
use crate::error::Fault;

/// How often a transaction is begun anew because its snapshot was too old to see the effect of another one.
const MOST_TRIES: usize = 10;

/// Has an effect in a database of yours once, however many attempts ask for it, and returns what it left.
///
/// The closure runs inside a transaction of its own, with the isolation that the session has by default. A row of the
/// table `ratchet.effects`, written in the same transaction, keeps that it happened, and what the closure returned, as
/// JSON of at most [`LARGEST_RESULT`](ratchet_core::Payload::LARGEST_RESULT) bytes. Whoever asks again, at the same time
/// or later, waits and gets the stored result; an attempt whose token is lower than one that was seen is refused. Where
/// this database also holds the ledger, its record is checked too: an attempt that lost its lease cannot commit.
///
/// The row is made for the identity of `ctx` (namespace, operation, key, generation, and the step if it is the context
/// of one) and `name`, which tells several effects of one handler apart. Any ledger will do. Declare
/// `destination = Contract::DATABASE` for an operation, or a step, all of whose effects are made so: an attempt that dies
/// is then tried again, and reads the row. The table is made by opening the ledger, or by
/// [`migrate_effects`](crate::migrate_effects) in a database without one; the role needs [these rights](crate#roles). Its
/// rows are never removed by themselves: remove those that are older (by `done_at`) than the last retry and replay of
/// their operation, if you want to, and say so with [`remembers_for`](ratchet_core::Contract::remembers_for).
///
/// # No destination is asked inside
///
/// An open transaction keeps a connection and its locks, duplicates wait for it, and a rollback does not call a request
/// back. So the closure does database work alone, and quickly. Requests and steps of a [`Context`] are refused inside it,
/// and so is another `once`; other clients cannot be told, and what they did is *not* undone when this reports that it
/// was rolled back. Let the closure enqueue another operation, with [`enqueue_in`](crate::enqueue_in), for what is to
/// follow on the effect.
///
/// ```
/// use ratchet_core::{Context, Failure};
/// use ratchet_postgres::sqlx::{self, PgPool};
/// use ratchet_postgres::once;
///
/// /// Declared with `destination = Contract::DATABASE`.
/// async fn book(ctx: Context, pool: &PgPool, seat: i64, guest: &str) -> Result<i64, Failure> {
///     let booking = once(pool, &ctx, "book", async |tx| {
///         let taken = sqlx::query("UPDATE seats SET guest = $1 WHERE id = $2 AND guest IS NULL")
///             .bind(guest)
///             .bind(seat)
///             .execute(&mut *tx)
///             .await?;
///         if taken.rows_affected() == 0 {
///             return Err(Failure::rejected("the seat is taken"));
///         }
///         let insert = sqlx::query_scalar("INSERT INTO bookings (seat) VALUES ($1) RETURNING id").bind(seat);
///         Ok(insert.fetch_one(&mut *tx).await?)
///     });
///     Ok(booking.await?)
/// }
/// ```
///
/// # Snapshots
///
/// In `REPEATABLE READ` and `SERIALIZABLE` a transaction that waited for a duplicate cannot see what that left, so it is
/// begun anew before the closure has run. Afterwards that cannot be done: a conflict is [`OnceErrorKind::OldSnapshot`] or
/// the closure's own error, both not applied. A heartbeat of the attempt is such a conflict where the ledger is in the
/// same database, so a closure under these isolations must be much shorter than the lease.
///
/// # Errors
/// An [`OnceError`], which `?` turns into a [`Failure`] with what is known about the effect. Until COMMIT is asked for
/// nothing can have happened, so every error before it, also a foreign one in the closure, is *not applied*; a closure
/// that says `Failure::rejected` is rejected. A COMMIT without an answer is resolved by reading the row; only where that
/// fails too is the effect unknown, and the next attempt reads the row.
pub async fn once<T, F>(
    pool: &PgPool,
    ctx: &Context,
    name: impl TryInto<StepName, Error: fmt::Display>,
    effect: F,
) -> Result<T, OnceError>
where
    T: Serialize + DeserializeOwned,
    F: AsyncFnOnce(&mut PgConnection) -> Result<T, Failure>,
{
    let guard = EffectGuard::of(ctx, name)?;
    looking_back_for(commit::PATIENCE, pool, &guard, effect).await
}

/// [`once()`], with the time that is spent on a lost COMMIT as a parameter.
async fn looking_back_for<T, F>(
    patience: Duration,
    pool: &PgPool,
    guard: &EffectGuard<'_>,
    effect: F,
) -> Result<T, OnceError>
where
    T: Serialize + DeserializeOwned,
    F: AsyncFnOnce(&mut PgConnection) -> Result<T, Failure>,
{
    let asked = Instant::now();
    let failed = |error| failed(guard, &Fault::of("begin a transaction", error), asked);
    let mut connection = pool.acquire().await.map_err(failed)?;
    let mut transaction = connection.begin().await.map_err(failed)?;
    let mut answer = ask(&mut transaction, guard).await;
    for _ in 0..MOST_TRIES {
        if !matches!(&answer, Err(error) if error.kind() == OnceErrorKind::OldSnapshot) {
            break;
        }
        transaction.rollback().await.map_err(failed)?;
        transaction = connection.begin().await.map_err(failed)?;
        answer = ask(&mut transaction, guard).await;
    }
    let ended = match answer {
        Ok(answer) => answer.or_have(&mut transaction, guard, effect).await,
        Err(error) => Err(error),
    };
    match ended.and_then(|value| Ok((value, guard.begin_commit()?))) {
        Ok((value, sending)) => match transaction.commit().await {
            Ok(()) => {
                sending.acted();
                Ok(value)
            }
            Err(error) => commit::after_failure(patience, pool, guard, connection, sending, error).await,
        },
        Err(error) => {
            // Where this fails, closing the connection does it.
            if transaction.rollback().await.is_err() {
                let _ = connection.close().await;
            }
            Err(error)
        }
    }
}

/// [`once()`] inside a transaction of yours, which you commit: the effect happened if, and only if, it commits.
///
/// A transaction in `REPEATABLE READ` or `SERIALIZABLE` cannot see what others committed since it began; if that is the
/// effect, it gets [`OnceErrorKind::OldSnapshot`], and so will every further call: begin a new one then.
///
/// After an error the transaction holds nothing of the closure, and you may go on with it, or drop it. Pass an error of
/// your COMMIT on with `?`: the outcome is unknown then, and the next attempt reads the row. Do not turn it into
/// `not_applied`, since a COMMIT whose answer is lost may have taken effect. And do not swallow an error of a statement
/// of your own: PostgreSQL answers the COMMIT of such a transaction by rolling it back, which is no error to sqlx.
///
/// What [`once()`] says about asking destinations holds for the whole transaction, and cannot be checked outside of the
/// closure. Duplicates wait until it ends, and so do heartbeats of the attempt where this database holds the ledger.
///
/// ```
/// use ratchet_core::{Context, Failure};
/// use ratchet_postgres::sqlx::{self, PgPool};
/// use ratchet_postgres::once_in;
///
/// async fn book(ctx: Context, pool: &PgPool, seat: i64) -> Result<i64, Failure> {
///     let mut transaction = pool.begin().await?;
///     let booking = once_in(&mut transaction, &ctx, "book", async |tx| {
///         let insert = sqlx::query_scalar("INSERT INTO bookings (seat) VALUES ($1) RETURNING id").bind(seat);
///         Ok(insert.fetch_one(tx).await?)
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
    transaction: &mut Transaction<'_, Postgres>,
    ctx: &Context,
    name: impl TryInto<StepName, Error: fmt::Display>,
    effect: F,
) -> Result<T, OnceError>
where
    T: Serialize + DeserializeOwned,
    F: AsyncFnOnce(&mut PgConnection) -> Result<T, Failure>,
{
    let asked = Instant::now();
    let guard = EffectGuard::of(ctx, name)?;
    let failed = |error| failed(&guard, &Fault::of("set a savepoint", error), asked);
    let mut savepoint = transaction.begin().await.map_err(failed)?;
    let ended = match ask(&mut savepoint, &guard).await {
        Ok(answer) => answer.or_have(&mut savepoint, &guard, effect).await,
        Err(error) => Err(error),
    };
    match ended {
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

/// Whether the effect happened before.
enum Asked<T> {
    Stored(T),
    First { has_ledger: bool },
}

/// Makes the row of the effect, or reads what is in it. After an error the transaction is to be rolled back.
async fn ask<T: DeserializeOwned>(
    connection: &mut PgConnection,
    guard: &EffectGuard<'_>,
) -> Result<Asked<T>, OnceError> {
    let asked = Instant::now();
    let failed = |fault: Fault| failed(guard, &fault, asked);
    let made = effects::make(connection, guard).await.map_err(failed)?;
    if made.is_first {
        return Ok(Asked::First { has_ledger: made.has_ledger });
    }
    let seen = effects::raise_and_read(connection, guard).await.map_err(failed)?;
    let value = guard.read(seen.ok_or_else(|| guard.transaction_ended())?)?;
    if made.has_ledger
        && let Some((state, token)) = effects::lock_record(connection, guard).await.map_err(failed)?
    {
        guard.check_record(state, token)?;
    }
    Ok(Asked::Stored(value))
}

impl<T: Serialize> Asked<T> {
    /// Has the effect if it is the first. After an error the transaction is to be rolled back.
    async fn or_have<F>(
        self,
        connection: &mut PgConnection,
        guard: &EffectGuard<'_>,
        effect: F,
    ) -> Result<T, OnceError>
    where
        F: AsyncFnOnce(&mut PgConnection) -> Result<T, Failure>,
    {
        let has_ledger = match self {
            Self::Stored(value) => return Ok(value),
            Self::First { has_ledger } => has_ledger,
        };
        let (value, result) = guard.run(effect(connection)).await?;
        let asked = Instant::now();
        // Fails in a transaction that an error has ended. So a COMMIT that follows is never answered by a rollback, which
        // sqlx would not tell from success.
        let kept = effects::keep_result(connection, guard, &result, has_ledger).await;
        let kept = kept.map_err(|fault| failed(guard, &fault, asked))?;
        if let Some((state, token)) = kept.record {
            guard.check_record(state, token)?;
        }
        if kept.is_kept { Ok(value) } else { Err(guard.transaction_ended()) }
    }
}

fn failed(guard: &EffectGuard<'_>, fault: &Fault, asked: Instant) -> OnceError {
    let refused = |kind, why| guard.rolled_back(kind, Cause::new(CauseKind::Error, why));
    match fault {
        Fault::OldSnapshot => refused(
            OnceErrorKind::OldSnapshot,
            "another transaction came in between, which the snapshot of this one is too old to see: begin a new one",
        ),
        Fault::NoSchema => refused(
            OnceErrorKind::NoTable,
            "the database does not hold the table `ratchet.effects`: call `ratchet_postgres::migrate_effects` on it once",
        ),
        Fault::Aborted { .. } => guard.rolled_back(
            OnceErrorKind::Effect,
            Cause::new(
                CauseKind::Handler,
                "a statement failed in the transaction, and its error was not passed on: PostgreSQL does nothing more in it",
            ),
        ),
        Fault::Busy => guard.not_applied(OnceErrorKind::Busy, fault.told(asked.elapsed())),
        _ => guard.not_applied(OnceErrorKind::Store, fault.told(asked.elapsed())),
    }
}
