//! Submitting in the caller's own transaction.

use ratchet_core::operation::{OutputOf, answered};
use ratchet_core::{
    EnqueueError, Enqueued, LedgerError, Namespace, Operation, Request, Submission, Submitted, Timestamp,
};
use sqlx::{Connection as _, PgConnection};
use tokio::time::Instant;

use crate::error::{Fault, While as _, code};
use crate::submit::{Terms, submit_within};

/// Enqueues in the caller's own transaction, in the namespace `default` unless the request names another: the operation
/// is on record if, and only if, the transaction commits. The commit wakes a worker.
///
/// The connection is one of [sqlx 0.9](crate::sqlx) to the database that holds the ledger's tables, from a pool of your
/// own. [`submit_in`] says more about the transaction.
///
/// ```
/// use ratchet_core::{Operation, Request};
/// use ratchet_postgres::sqlx::{self, PgPool};
/// use ratchet_postgres::enqueue_in;
///
/// /// `request` is what `collect_invoice::request(input)` makes.
/// async fn place_order<O: Operation>(pool: &PgPool, request: Request<O>) -> Result<(), Box<dyn std::error::Error>> {
///     let mut transaction = pool.begin().await?;
///     sqlx::query("INSERT INTO invoices (id) VALUES ('inv_2048')").execute(&mut *transaction).await?;
///     // A conflict is an error here, so the invoice is rolled back with it.
///     enqueue_in(&mut transaction, request).await?.accepted()?;
///     transaction.commit().await?;
///     Ok(())
/// }
/// ```
///
/// # Errors
/// If the key or the input is refused, or the store fails; the transaction then holds nothing of it.
pub async fn enqueue_in<O: Operation>(
    connection: &mut PgConnection,
    request: Request<O>,
) -> Result<Enqueued<OutputOf<O>>, EnqueueError> {
    let submission = request.into_submission(&Namespace::DEFAULT)?;
    let answer = submit_in(connection, &submission).await?;
    answered::<O>(&submission.id, answer)
}

/// Submits in the caller's own transaction: the record exists if, and only if, the transaction commits, and the commit
/// wakes a worker.
///
/// Until then the transaction holds the key: whoever submits the same action meanwhile waits for its end, so keep it
/// short. A transaction of a higher isolation than `READ COMMITTED` is told [`LedgerError::Busy`] if the key was taken
/// after it began; run it again from the start. Two transactions that each enqueue several actions wait for each other in
/// a circle if they do so in different orders; PostgreSQL then ends one of them.
///
/// What was decided holds once the transaction commits. Whether that survives a power cut depends on
/// `synchronous_commit`, which is on unless somebody changed it.
///
/// # Errors
/// [`LedgerError::NoSchema`] where the tables are missing (see [`migrate`](crate::migrate)), [`LedgerError::Busy`] after
/// the caller's `lock_timeout` or where another transaction came in between; otherwise what the store says. After an error
/// the transaction holds nothing of the submission, and goes on.
///
/// ```no_run
/// # async fn example(submission: ratchet_core::Submission) -> Result<(), Box<dyn std::error::Error>> {
/// use ratchet_core::Submitted;
/// use ratchet_postgres::sqlx::{self, PgPool};
///
/// let pool = PgPool::connect("postgres://app@localhost/shop").await?;
/// let mut transaction = pool.begin().await?;
/// sqlx::query("INSERT INTO invoices VALUES ('inv_2048')").execute(&mut *transaction).await?;
/// let told = ratchet_postgres::submit_in(&mut transaction, &submission).await?;
/// assert!(matches!(told, Submitted::New { .. }));
/// transaction.commit().await?;
/// # Ok(()) }
/// ```
pub async fn submit_in(
    connection: &mut PgConnection,
    submission: &Submission,
) -> Result<Submitted, LedgerError> {
    told(connection, submission, None).await
}

/// [`submit_in`] at a moment of the caller's, instead of the database's: for tests that own the time.
///
/// # Errors
/// As [`submit_in`].
pub async fn submit_in_at(
    connection: &mut PgConnection,
    submission: &Submission,
    now: Timestamp,
) -> Result<Submitted, LedgerError> {
    told(connection, submission, Some(now.as_millis())).await
}

async fn told(
    connection: &mut PgConnection,
    submission: &Submission,
    now: Option<i64>,
) -> Result<Submitted, LedgerError> {
    let since = Instant::now();
    // Whoever made it, all listeners are told.
    let terms = Terms { now, bell: None, look_first: false };
    submit_whole_or_not(connection, submission, terms).await.map_err(|fault| fault.told(since.elapsed()))
}

/// A savepoint, so that a failure leaves nothing behind in a transaction that the caller goes on with.
async fn submit_whole_or_not(
    connection: &mut PgConnection,
    submission: &Submission,
    terms: Terms<'_>,
) -> Result<Submitted, Fault> {
    let doing = "submit in the caller's transaction";
    match run(connection, "SAVEPOINT ratchet_submit").await {
        Ok(()) => {}
        Err(error) if has_no_transaction(&error) => {
            let mut transaction = connection.begin().await.while_trying(doing)?;
            let answer = submit_one(&mut transaction, submission, terms).await?;
            transaction.commit().await.while_trying(doing)?;
            return Ok(answer);
        }
        Err(error) => return Err(Fault::of(doing, error)),
    }
    match submit_one(connection, submission, terms).await {
        Ok(answer) => {
            run(connection, "RELEASE SAVEPOINT ratchet_submit").await.while_trying(doing)?;
            Ok(answer)
        }
        Err(fault) => {
            // If even this fails the transaction is gone, and the submission with it.
            let undo = "ROLLBACK TO SAVEPOINT ratchet_submit; RELEASE SAVEPOINT ratchet_submit";
            let _ = run(connection, undo).await;
            Err(fault)
        }
    }
}

async fn run(connection: &mut PgConnection, statement: &'static str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(statement).execute(connection).await?;
    Ok(())
}

/// Only the server knows: a transaction may have been begun by a plain statement.
fn has_no_transaction(error: &sqlx::Error) -> bool {
    code(error).as_deref() == Some("25P01")
}

async fn submit_one(
    connection: &mut PgConnection,
    submission: &Submission,
    terms: Terms<'_>,
) -> Result<Submitted, Fault> {
    let mut answers = submit_within(connection, &[submission], terms).await?;
    answers.pop().ok_or(Fault::Damaged("a submission was left without an answer"))
}
