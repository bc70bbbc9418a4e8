//! Enqueuing in the caller's own transaction.

use ratchet_core::operation::{OutputOf, answered};
use ratchet_core::{EnqueueError, Enqueued, Namespace, Operation, Request};
use sqlx::SqliteConnection;

use crate::submit::submit_in;

/// Enqueues in the caller's own transaction, in the namespace `default` unless the request names another: the operation
/// is on record if, and only if, the transaction commits.
///
/// The connection is one of sqlx 0.9 to the database that holds the ledger's tables, from a pool of your own; that sqlx
/// is [re-exported](crate::sqlx). Take a `BEGIN IMMEDIATE` transaction where you can, or enqueue before you read.
///
/// Nobody can see the record before the commit, so nothing wakes the workers of this process: call
/// [`wake`] after it. Without that, and in other processes, they find the record at their next poll.
///
/// [`submit_in`] says more about the transaction.
///
/// [`wake`]: ratchet_core::Client::wake
///
/// ```
/// use ratchet_core::{Client, Operation, Request};
/// use ratchet_sqlite::sqlx::{self, SqlitePool};
/// use ratchet_sqlite::enqueue_in;
///
/// /// `request` is what `collect_invoice::request(input)` makes.
/// async fn place_order<O: Operation>(
///     pool: &SqlitePool,
///     client: &Client,
///     request: Request<O>,
/// ) -> Result<(), Box<dyn std::error::Error>> {
///     let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
///     sqlx::query("INSERT INTO invoices (id) VALUES ('inv_2048')").execute(&mut *transaction).await?;
///     // A conflict is an error here, so the invoice is rolled back with it.
///     enqueue_in(&mut transaction, request).await?.accepted()?;
///     transaction.commit().await?;
///     client.wake();
///     Ok(())
/// }
/// ```
///
/// # Errors
/// If the key or the input is refused, or the store fails; the transaction then holds nothing of it.
pub async fn enqueue_in<O: Operation>(
    connection: &mut SqliteConnection,
    request: Request<O>,
) -> Result<Enqueued<OutputOf<O>>, EnqueueError> {
    let submission = request.into_submission(&Namespace::DEFAULT)?;
    let answer = submit_in(connection, &submission).await?;
    answered::<O>(&submission.id, answer)
}
