//! Submissions: one decision per key, whoever asks.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Instant;

use ratchet_core::decide::{Stored, SubmitDecision, decide_submission};
use ratchet_core::ledger::follow::{self, Predecessor};
use ratchet_core::{
    AuditEntry, Clock as _, Generation, LedgerError, Record, RecordId, Submission, Submitted, SystemClock,
    Timestamp,
};
use sqlx::SqliteConnection;

use crate::audit;
use crate::error::{Fault, While as _};
use crate::row::{
    IdentityRow, NewRow, ROWS_PER_STATEMENT, read_stored, record_columns, rows_as_json, tombstone_columns,
};
use crate::{overview, schema};

/// Submits in the caller's own transaction: the record exists if, and only if, the transaction commits.
///
/// The connection is one of [sqlx 0.9](crate::sqlx) to the database that holds the ledger's tables, from the caller's own pool. Take a
/// `BEGIN IMMEDIATE` transaction where you can, or submit before you read: a transaction that reads first fails at
/// its first write if another program wrote in between. After the commit, [`wake`] tells the workers of
/// this process; those of others find the record at their next poll.
///
/// What was decided holds once the transaction commits. Whether that survives a power cut depends on the `synchronous`
/// setting of the caller's connection, which is FULL unless somebody changed it.
///
/// [`wake`]: ratchet_core::Client::wake
///
/// # Errors
/// [`LedgerError::NoSchema`] where the tables are missing (see [`migrate`](crate::migrate)), [`LedgerError::Busy`]
/// where another writer holds the database or came in between; otherwise what the store says. After an error the
/// transaction holds nothing of the submission.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use ratchet_core::*;
/// # let directory = tempfile::tempdir()?;
/// # let options = sqlx::sqlite::SqliteConnectOptions::new()
/// #     .filename(directory.path().join("shop.db")).create_if_missing(true);
/// # let submission = Submission {
/// #     id: RecordId {
/// #         namespace: Namespace::DEFAULT,
/// #         operation: OperationName::from_static("collect_invoice"),
/// #         key: Key::parse("invoice:inv_2048:collect:v1")?,
/// #         generation: Generation::FIRST,
/// #     },
/// #     version: Version::from_static("1"),
/// #     input: Payload::encode("inv_2048", Payload::LARGEST_INPUT)?,
/// #     compared: None,
/// #     policy: Policy::DEFAULT, contract: Contract::NONE.terms(), not_before: None, queue: Queue::DEFAULT,
/// #     priority: Priority(0), group: None, after: None, renewal: None,
/// # };
/// let pool = sqlx::SqlitePool::connect_with(options).await?;
/// ratchet_sqlite::migrate(&mut *pool.acquire().await?).await?;
///
/// let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
/// sqlx::query("CREATE TABLE invoices (id TEXT PRIMARY KEY)").execute(&mut *transaction).await?;
/// sqlx::query("INSERT INTO invoices VALUES ('inv_2048')").execute(&mut *transaction).await?;
/// let told = ratchet_sqlite::submit_in(&mut transaction, &submission).await?;
/// assert!(matches!(told, Submitted::New { .. }));
/// transaction.commit().await?;
/// # Ok(()) }
/// ```
pub async fn submit_in(
    connection: &mut SqliteConnection,
    submission: &Submission,
) -> Result<Submitted, LedgerError> {
    submit_in_at(connection, submission, SystemClock::new().now()).await
}

/// [`submit_in`] at a moment of the caller's: for programs and tests that own their clock.
///
/// # Errors
/// As [`submit_in`].
pub async fn submit_in_at(
    connection: &mut SqliteConnection,
    submission: &Submission,
    now: Timestamp,
) -> Result<Submitted, LedgerError> {
    let since = Instant::now();
    submit_whole_or_not(connection, submission, now).await.map_err(|fault| fault.told(since.elapsed()))
}

/// A savepoint, so that a failure leaves nothing behind in a transaction that the caller goes on with.
async fn submit_whole_or_not(
    connection: &mut SqliteConnection,
    submission: &Submission,
    now: Timestamp,
) -> Result<Submitted, Fault> {
    run(connection, "SAVEPOINT ratchet_submit").await?;
    match submit_one(connection, submission, now).await {
        Ok(answer) => {
            run(connection, "RELEASE ratchet_submit").await?;
            Ok(answer)
        }
        Err(fault) => {
            // If even this fails the transaction is gone, and the submission with it.
            let undo = "ROLLBACK TO ratchet_submit; RELEASE ratchet_submit";
            let _ = run(connection, undo).await;
            Err(fault)
        }
    }
}

async fn run(connection: &mut SqliteConnection, statement: &'static str) -> Result<(), Fault> {
    sqlx::raw_sql(statement).execute(connection).await.while_trying("submit in the caller's transaction")?;
    Ok(())
}

async fn submit_one(
    connection: &mut SqliteConnection,
    submission: &Submission,
    now: Timestamp,
) -> Result<Submitted, Fault> {
    schema::require(connection).await?;
    let mut answers = submit(connection, &[submission], now).await?;
    answers.pop().ok_or(Fault::Damaged("a submission was left without an answer"))
}

/// Decides about submissions in their order and writes the new records, inside the transaction of `connection`.
pub(crate) async fn submit(
    connection: &mut SqliteConnection,
    submissions: &[&Submission],
    now: Timestamp,
) -> Result<Vec<Submitted>, Fault> {
    let mut answers = Vec::with_capacity(submissions.len());
    let runs = submissions.chunk_by(|one, next| follow::can_be_together(one, next));
    for chunk in runs.flat_map(|run| run.chunks(ROWS_PER_STATEMENT)) {
        let predecessor = predecessor(connection, chunk).await?;
        let mut newest = newest_under_keys(connection, chunk).await?;
        let mut inserted = Vec::new();
        for submission in chunk {
            let key = under_key(&submission.id);
            match predecessor.check(decide_submission(newest.get(&key), submission, now)) {
                SubmitDecision::Answer(answer) => answers.push(answer),
                SubmitDecision::Insert { record, audit } => {
                    answers.push(Submitted::New { id: record.id.clone() });
                    newest.insert(key.clone(), Stored::Record(record));
                    inserted.push((key, audit));
                }
            }
        }
        insert(connection, &newest, inserted, predecessor.row()).await?;
    }
    Ok(answers)
}

/// The record that the one of this chunk should come after, if it is one that should.
async fn predecessor(connection: &mut SqliteConnection, chunk: &[&Submission]) -> Result<Predecessor, Fault> {
    let [Submission { after: Some(after), .. }] = chunk else {
        return Ok(Predecessor::NotWanted);
    };
    let places = overview::places(connection, &[&after.id]).await?;
    Ok(Predecessor::of(places.into_iter().flatten().next()))
}

/// Stands for every generation of a key.
fn under_key(id: &RecordId) -> RecordId {
    RecordId { generation: Generation::FIRST, ..id.clone() }
}

async fn newest_under_keys(
    connection: &mut SqliteConnection,
    submissions: &[&Submission],
) -> Result<HashMap<RecordId, Stored>, Fault> {
    const NEWEST: &str = concat!(
        "WITH wanted AS MATERIALIZED (SELECT value AS w FROM json_each(?1)) SELECT ",
        record_columns!(),
        " FROM wanted CROSS JOIN ratchet_records AS r ON r.id = ( \
            SELECT n.id FROM ratchet_records AS n INDEXED BY ratchet_records_identity \
            WHERE n.namespace = w ->> 'namespace' AND n.operation = w ->> 'operation' AND n.key = w ->> 'key' \
            ORDER BY n.generation DESC LIMIT 1) \
        UNION ALL SELECT ",
        tombstone_columns!(),
        " FROM wanted CROSS JOIN ratchet_tombstones AS t \
            ON t.namespace = w ->> 'namespace' AND t.operation = w ->> 'operation' AND t.key = w ->> 'key'"
    );
    let keys: Vec<IdentityRow<'_>> = submissions.iter().map(|submission| (&submission.id).into()).collect();
    let rows = sqlx::query(NEWEST)
        .bind(rows_as_json(&keys)?)
        .fetch_all(connection)
        .await
        .while_trying("look a key up")?;
    let mut newest = HashMap::new();
    for row in &rows {
        keep_newest(&mut newest, read_stored(row)?);
    }
    Ok(newest)
}

fn keep_newest(newest: &mut HashMap<RecordId, Stored>, stored: Stored) {
    match newest.entry(under_key(stored.id())) {
        Entry::Vacant(place) => {
            place.insert(stored);
        }
        Entry::Occupied(mut place) if place.get().id().generation < stored.id().generation => {
            place.insert(stored);
        }
        Entry::Occupied(_) => {}
    }
}

async fn insert(
    connection: &mut SqliteConnection,
    newest: &HashMap<RecordId, Stored>,
    inserted: Vec<(RecordId, Option<AuditEntry>)>,
    after: Option<i64>,
) -> Result<(), Fault> {
    // In the order of the submissions, which becomes the order of a listing.
    let records: Vec<&Record> = inserted
        .iter()
        .filter_map(|(key, _)| match newest.get(key) {
            Some(Stored::Record(record)) => Some(&**record),
            _ => None,
        })
        .collect();
    insert_records(connection, &records, after).await?;
    for (record, (_, entry)) in records.iter().zip(&inserted) {
        if let Some(entry) = entry {
            audit::write_for(connection, &record.id, entry).await?;
        }
    }
    Ok(())
}

/// Makes records of the JSON rows in `?1`.
macro_rules! insert_records {
    () => {
        insert_records!("", "")
    };
    (linked) => {
        insert_records!(
            ", group_id, after_id, comes_after",
            ", n ->> 'group_id', n ->> 'after_id', n ->> 'comes_after'"
        )
    };
    ($columns:literal, $values:literal) => {
        concat!("WITH new AS MATERIALIZED (SELECT value AS n FROM json_each(?1)) \
        INSERT INTO ratchet_records (namespace, operation, key, generation, version, fingerprint, queue, \
            priority, created_at, policy, contract, input, state, ready_at, token, attempts, spent, may_be_applied, \
            cancel_requested, risk_accepted, lease_worker, lease_until, lease_started_at, first_started_at, pin, \
            result, cause, uncertainty, reconcile_at, settled_at, purge_at", $columns, ") \
        SELECT n ->> 'namespace', n ->> 'operation', n ->> 'key', n ->> 'generation', n ->> 'version', \
            unhex(n ->> 'fingerprint'), n ->> 'queue', n ->> 'priority', n ->> 'created_at', n ->> 'policy', n ->> 'contract', \
            n ->> 'input', n ->> 'state', n ->> 'ready_at', n ->> 'token', n ->> 'attempts', n ->> 'spent', \
            n ->> 'may_be_applied', n ->> 'cancel_requested', n ->> 'risk_accepted', n ->> 'lease_worker', \
            n ->> 'lease_until', n ->> 'lease_started_at', n ->> 'first_started_at', n ->> 'pin', n ->> 'result', \
            n ->> 'cause', n ->> 'uncertainty', n ->> 'reconcile_at', n ->> 'settled_at', n ->> 'purge_at'", $values, " \
        FROM new")
    };
}

pub(crate) async fn insert_records(
    connection: &mut SqliteConnection,
    records: &[&Record],
    after: Option<i64>,
) -> Result<(), Fault> {
    if records.is_empty() {
        return Ok(());
    }
    let linked = records.iter().any(|record| record.group.is_some() || record.after.is_some());
    let statement = if linked { insert_records!(linked) } else { insert_records!() };
    insert_with(connection, statement, records, after).await?;
    Ok(())
}

/// Submits with one statement, which is a transaction by itself, if the key is new; `None` if it is not.
///
/// For a caller who is alone, where every further statement would be waited for.
pub(crate) async fn submit_if_first(
    connection: &mut SqliteConnection,
    submission: &Submission,
    now: Timestamp,
) -> Result<Option<Submitted>, Fault> {
    if submission.group.is_some() || submission.after.is_some() {
        return Ok(None);
    }
    const INSERT_IF_FIRST: &str = concat!(
        insert_records!(),
        " WHERE NOT EXISTS (SELECT 1 FROM ratchet_records AS r WHERE r.namespace = n ->> 'namespace' \
                AND r.operation = n ->> 'operation' AND r.key = n ->> 'key') \
            AND NOT EXISTS (SELECT 1 FROM ratchet_tombstones AS t WHERE t.namespace = n ->> 'namespace' \
                AND t.operation = n ->> 'operation' AND t.key = n ->> 'key')"
    );
    let SubmitDecision::Insert { record, audit: None } = decide_submission(None, submission, now) else {
        return Ok(None);
    };
    let inserted = insert_with(connection, INSERT_IF_FIRST, &[&record], None).await?;
    Ok((inserted == 1).then_some(Submitted::New { id: record.id }))
}

async fn insert_with(
    connection: &mut SqliteConnection,
    statement: &'static str,
    records: &[&Record],
    after: Option<i64>,
) -> Result<u64, Fault> {
    let rows: Vec<NewRow<'_>> = records.iter().map(|record| NewRow::new(record, after)).collect();
    let done = sqlx::query(statement)
        .bind(rows_as_json(&rows)?)
        .execute(connection)
        .await
        .while_trying("insert records")?;
    Ok(done.rows_affected())
}
