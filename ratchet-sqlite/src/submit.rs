//! Submissions: one decision per key, whoever asks.

use std::collections::HashMap;
use std::time::Instant;

use ratchet_core::decide::{Newest, SubmitDecision, decide_beside};
use ratchet_core::ledger::follow::{self, Predecessor};
use ratchet_core::{
    Clock as _, Generation, LedgerError, Payload, Record, RecordId, State, Submission, Submitted,
    SystemClock, Timestamp, Version,
};
use sqlx::SqliteConnection;

use crate::error::{Fault, While as _};
use crate::row::{ROWS_PER_STATEMENT, rows_as_json};
use crate::stored::{columns, fingerprint as read_fingerprint, lines_of};
use crate::{audit, insert, overview, schema, standing};

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
/// #     priority: Priority(0), group: None, after: None, renewal: None, trace: None,
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
        let (mut inserted, mut audit) = (Vec::new(), Vec::new());
        for submission in chunk {
            let name = Name::of(&submission.id);
            match predecessor.check(decide_beside(newest.get(&name), submission, now)) {
                SubmitDecision::Answer(answer) => answers.push(answer),
                SubmitDecision::Insert { record, audit: entry } => {
                    answers.push(Submitted::New { id: record.id.clone() });
                    newest.insert(name, Newest::from(&*record));
                    audit.extend(entry.map(|entry| (record.id.clone(), entry)));
                    inserted.push(record);
                }
            }
        }
        let inserted: Vec<&Record> = inserted.iter().map(|record| &**record).collect();
        insert::records(connection, &inserted, predecessor.row()).await?;
        for (id, entry) in &audit {
            audit::write_for(connection, id, entry).await?;
        }
    }
    Ok(answers)
}

/// Answers where nothing has to be written; `None` if something has. A read that comes before no write needs no lock.
pub(crate) async fn answer_repetitions(
    connection: &mut SqliteConnection,
    submissions: &[&Submission],
    now: Timestamp,
) -> Result<Option<Vec<Submitted>>, Fault> {
    let newest = newest_under_keys(connection, submissions).await?;
    let answer = |submission: &&Submission| {
        let newest = newest.get(&Name::of(&submission.id))?;
        match decide_beside(Some(newest), submission, now) {
            SubmitDecision::Answer(answer) => Some(answer),
            SubmitDecision::Insert { .. } => None,
        }
    };
    Ok(submissions.iter().map(answer).collect())
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Name<'a>(&'a str, &'a str, &'a str);

impl<'a> Name<'a> {
    fn of(id: &'a RecordId) -> Self {
        Self(id.namespace.as_str(), id.operation.as_str(), id.key.as_str())
    }
}

async fn newest_under_keys<'a>(
    connection: &mut SqliteConnection,
    submissions: &[&'a Submission],
) -> Result<HashMap<Name<'a>, Newest>, Fault> {
    const NEWEST: &str = "SELECT group_concat(row, char(10)), (SELECT facts FROM ratchet_standing) FROM ( \
        SELECT json_array(w.key, n.generation, n.version, hex(n.fingerprint), n.state, n.result, NULL) AS row \
        FROM json_each(?3) AS w CROSS JOIN ratchet_records AS n ON n.id = ( \
            SELECT r.id FROM ratchet_records AS r INDEXED BY ratchet_records_identity \
            WHERE r.namespace = ?1 AND r.operation = ?2 AND r.key = w.value ORDER BY r.generation DESC LIMIT 1) \
        UNION ALL \
        SELECT json_array(w.key, t.generation, t.version, hex(t.fingerprint), t.state, NULL, t.ended_at) \
        FROM json_each(?3) AS w CROSS JOIN ratchet_tombstones AS t \
            ON t.namespace = ?1 AND t.operation = ?2 AND t.key = w.value)";
    let mut newest = HashMap::new();
    let of_one = |one: &&Submission, next: &&Submission| {
        one.id.namespace == next.id.namespace && one.id.operation == next.id.operation
    };
    for chunk in submissions.chunk_by(of_one).flat_map(|run| run.chunks(ROWS_PER_STATEMENT)) {
        let Some(first) = chunk.first() else { continue };
        let keys: Vec<&str> = chunk.iter().map(|submission| submission.id.key.as_str()).collect();
        let (lines, facts): (Option<Vec<u8>>, Option<String>) = sqlx::query_as(NEWEST)
            .bind(first.id.namespace.as_str())
            .bind(first.id.operation.as_str())
            .bind(rows_as_json(&keys)?)
            .fetch_one(&mut *connection)
            .await
            .while_trying("look a key up")?;
        let Some(lines) = lines else { continue };
        standing::require_open(facts.as_deref())?;
        for line in lines_of(&lines) {
            let (place, found) = read_newest(line, chunk)?;
            keep_newest(&mut newest, Name::of(place), found);
        }
    }
    Ok(newest)
}

/// The identity that was asked for, and what was found under its key.
fn read_newest<'a>(line: &[u8], asked: &[&'a Submission]) -> Result<(&'a RecordId, Newest), Fault> {
    type Row<'r> = (usize, Generation, Version, &'r str, State, Option<String>, Option<Timestamp>);
    let (place, generation, version, fingerprint, state, result, purged): Row<'_> = columns(line)?;
    let id = &asked.get(place).ok_or(Fault::Damaged("a key was found that nobody asked for"))?.id;
    let newest = Newest {
        id: RecordId { generation, ..id.clone() },
        version,
        fingerprint: read_fingerprint(fingerprint)?,
        state,
        result: result.map(Payload::from_stored),
        purged,
    };
    Ok((id, newest))
}

fn keep_newest<'a>(newest: &mut HashMap<Name<'a>, Newest>, name: Name<'a>, found: Newest) {
    let is_older = |known: &Newest| known.id.generation < found.id.generation;
    if newest.get(&name).is_none_or(is_older) {
        newest.insert(name, found);
    }
}
