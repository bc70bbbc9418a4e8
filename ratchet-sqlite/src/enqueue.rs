//! Enqueuing in the caller's own transaction.

use ratchet_core::operation::OutputOf;
use ratchet_core::{EnqueueError, Enqueued, Namespace, Operation, Request};
use sqlx::SqliteConnection;

use crate::submit::submit_in;

/// Enqueues in the caller's own transaction, in the namespace `default` unless the request names another: the operation
/// is on record if, and only if, the transaction commits.
///
/// [`submit_in`] says what to know about the transaction.
///
/// ```ignore
/// let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
/// sqlx::query("INSERT INTO invoices …").execute(&mut *transaction).await?;
/// let answer = ratchet::sqlite::enqueue_in(&mut transaction, collect_invoice::request(input)).await?;
/// transaction.commit().await?;
/// ```
///
/// # Errors
/// If the key or the input is refused, or the store fails; the transaction then holds nothing of it.
pub async fn enqueue_in<O: Operation>(
    connection: &mut SqliteConnection,
    request: Request<O>,
) -> Result<Enqueued<OutputOf<O>>, EnqueueError> {
    let submission = request.into_submission(&Namespace::DEFAULT)?;
    Enqueued::from_answer(submit_in(connection, &submission).await?)
}
