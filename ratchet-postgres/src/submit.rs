//! Submissions: one decision per key, whoever asks.
//!
//! Nearly all are the first of their key, so all of a batch are inserted at once, and the unique index says which were not.
//! Those are looked up and decided about afterwards. A record that was asked for is never deleted (a purged one becomes a
//! tombstone in its own row), so what the index refused is found.

use std::collections::{HashMap, HashSet};

use ratchet_core::decide::{Stored, SubmitDecision, decide_submission};
use ratchet_core::ledger::follow::{self, Predecessor};
use ratchet_core::{AuditEntry, Generation, RecordId, Submission, Submitted, Timestamp};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection};

use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::insert::insert;
use crate::row::{Snapshots, read_stored, record_columns, steps_column};
use crate::write::column;
use crate::{audit, overview};

/// How many rows one statement takes: bounds its memory, not the size of a batch.
const ROWS_PER_STATEMENT: usize = 2_000;

/// How often a submission is decided about anew because another one was faster.
const MOST_TRIES: usize = 10;

/// The database puts its own time in the place of this one, and never an earlier one than the producer asked for.
const NOW: Timestamp = Timestamp::from_millis(i64::MIN);

/// At what moment, and who is told that there is something to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// `None` for the database's own clock.
    pub(crate) now: Option<i64>,
    /// What the sleepers of other processes are told, if they are.
    pub(crate) tone: Option<&'a str>,
}

/// What a submission is told, or why it alone has no answer: the record under its key is damaged.
pub(crate) type Told = Result<Submitted, Fault>;

/// Decides about submissions that came alone: one statement writes, which is a transaction by itself.
pub(crate) async fn submit_each(
    connection: &mut PgConnection,
    submissions: &[&Submission],
    terms: Terms<'_>,
) -> Result<Vec<Told>, Fault> {
    if submissions.iter().any(|submission| submission.renewal.is_some() || submission.after.is_some()) {
        let answers = submit_all(connection, submissions, terms).await?;
        return Ok(answers.into_iter().map(Ok).collect());
    }
    submit_chunk(connection, submissions, terms).await
}

/// Decides about submissions in their order and writes the new records, all or none of them.
pub(crate) async fn submit_all(
    connection: &mut PgConnection,
    submissions: &[&Submission],
    terms: Terms<'_>,
) -> Result<Vec<Submitted>, Fault> {
    let doing = "submit";
    let mut transaction = connection.begin().await.while_trying(doing)?;
    let answers = submit_within(&mut transaction, submissions, terms).await?;
    transaction.commit().await.while_trying(doing)?;
    Ok(answers)
}

/// The same inside a transaction of the caller's.
pub(crate) async fn submit_within(
    connection: &mut PgConnection,
    submissions: &[&Submission],
    terms: Terms<'_>,
) -> Result<Vec<Submitted>, Fault> {
    let mut answers = Vec::with_capacity(submissions.len());
    let runs = submissions.chunk_by(|one, next| follow::can_be_together(one, next));
    for chunk in runs.flat_map(|run| run.chunks(ROWS_PER_STATEMENT)) {
        for answer in submit_chunk(connection, chunk, terms).await? {
            answers.push(answer?);
        }
    }
    Ok(answers)
}

async fn submit_chunk(
    connection: &mut PgConnection,
    submissions: &[&Submission],
    terms: Terms<'_>,
) -> Result<Vec<Told>, Fault> {
    let predecessor = predecessor(connection, submissions).await?;
    let mut firsts = firsts_of_their_keys(submissions);
    let mut records = Vec::with_capacity(firsts.len());
    firsts.retain(|place| match predecessor.check(decide_submission(None, submissions[*place], NOW)) {
        SubmitDecision::Insert { record, .. } => {
            records.push(*record);
            true
        }
        SubmitDecision::Answer(_) => false,
    });
    let made = insert(connection, &records.iter().collect::<Vec<_>>(), predecessor, terms).await?;
    let mut answers: Vec<Option<Told>> = vec![None; submissions.len()];
    for (place, record) in firsts.into_iter().zip(records) {
        if made.includes(&record.id) {
            answers[place] = Some(Ok(Submitted::New { id: record.id }));
        }
    }
    answer_the_rest(connection, submissions, &mut answers, predecessor, terms).await?;
    answers.into_iter().map(|answer| answer.ok_or(Fault::Damaged("a submission has no answer"))).collect()
}

/// The record that the one of this chunk should come after, if it is one that should.
async fn predecessor(
    connection: &mut PgConnection,
    submissions: &[&Submission],
) -> Result<Predecessor, Fault> {
    let [Submission { after: Some(after), .. }] = submissions else {
        return Ok(Predecessor::NotWanted);
    };
    let places = overview::places(connection, &[&after.id]).await?;
    Ok(Predecessor::of(places.into_iter().flatten().next()))
}

/// The places of those that a record can be made of without a look: the first of their key in the batch, and no renewals.
fn firsts_of_their_keys(submissions: &[&Submission]) -> Vec<usize> {
    let mut seen = HashSet::with_capacity(submissions.len());
    let mut firsts = Vec::with_capacity(submissions.len());
    for (place, submission) in submissions.iter().enumerate() {
        if seen.insert(Name::of(&submission.id)) && submission.renewal.is_none() {
            firsts.push(place);
        }
    }
    firsts
}

/// Stands for every generation of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Name<'a>(&'a str, &'a str, &'a str);

impl<'a> Name<'a> {
    fn of(id: &'a RecordId) -> Self {
        Self(id.namespace.as_str(), id.operation.as_str(), id.key.as_str())
    }
}

/// Decides about those without an answer, in their order, each of which sees what those before it did.
async fn answer_the_rest(
    connection: &mut PgConnection,
    submissions: &[&Submission],
    answers: &mut [Option<Told>],
    predecessor: Predecessor,
    terms: Terms<'_>,
) -> Result<(), Fault> {
    let rest: Vec<usize> = (0..answers.len()).filter(|place| answers[*place].is_none()).collect();
    if rest.is_empty() {
        return Ok(());
    }
    let asked: Vec<&Submission> = rest.iter().map(|place| submissions[*place]).collect();
    let renewed: Vec<&Submission> =
        asked.iter().copied().filter(|submission| submission.renewal.is_some()).collect();
    hold(connection, &renewed).await?;
    let mut newest = newest_under_keys(connection, &asked).await?;
    for place in rest {
        answers[place] = Some(answer(connection, submissions[place], &mut newest, predecessor, terms).await?);
    }
    Ok(())
}

type Newest = HashMap<RecordId, Result<Stored, Fault>>;

fn under_key(id: &RecordId) -> RecordId {
    RecordId { generation: Generation::FIRST, ..id.clone() }
}

async fn answer(
    connection: &mut PgConnection,
    submission: &Submission,
    newest: &mut Newest,
    predecessor: Predecessor,
    terms: Terms<'_>,
) -> Result<Told, Fault> {
    let key = under_key(&submission.id);
    for _ in 0..MOST_TRIES {
        let stored = match newest.get(&key) {
            Some(Err(damaged)) => return Ok(Err(damaged.clone())),
            stored => stored.and_then(|stored| stored.as_ref().ok()),
        };
        match predecessor.check(decide_submission(stored, submission, NOW)) {
            SubmitDecision::Answer(answer) => return Ok(Ok(answer)),
            SubmitDecision::Insert { record, audit } => {
                let made = insert(connection, &[&record], predecessor, terms).await?;
                if let Some(made) = made.first {
                    note(connection, made, audit).await?;
                    let id = record.id.clone();
                    newest.insert(key, Ok(Stored::Record(record)));
                    return Ok(Ok(Submitted::New { id }));
                }
            }
        }
        // Somebody else was faster.
        hold(connection, &[submission]).await?;
        newest.extend(newest_under_keys(connection, &[submission]).await?);
    }
    Err(Fault::Busy)
}

async fn note(
    connection: &mut PgConnection,
    (row, made_at): (i64, Timestamp),
    entry: Option<AuditEntry>,
) -> Result<(), Fault> {
    match entry {
        Some(entry) => audit::write(connection, &[(row, audit::now(entry, made_at))]).await,
        None => Ok(()),
    }
}

/// Keeps the records under these keys from being opened again while it is decided whether another generation may follow.
async fn hold(connection: &mut PgConnection, submissions: &[&Submission]) -> Result<(), Fault> {
    const HOLD: &str = "SELECT p.record_id FROM unnest($1::text[], $2::text[], $3::text[]) \
            AS w(namespace, operation, key) \
        JOIN ratchet.records AS r ON r.namespace = w.namespace AND r.operation = w.operation AND r.key = w.key \
        JOIN ratchet.progress AS p ON p.record_id = r.id \
        ORDER BY p.record_id FOR UPDATE OF p";
    if !submissions.is_empty() {
        fetch(connection, HOLD, submissions).await?;
    }
    Ok(())
}

async fn newest_under_keys(
    connection: &mut PgConnection,
    submissions: &[&Submission],
) -> Result<Newest, Fault> {
    const NEWEST: &str = concat!(
        "SELECT ",
        record_columns!(),
        ", ",
        steps_column!(),
        " FROM unnest($1::text[], $2::text[], $3::text[]) AS w(namespace, operation, key) CROSS JOIN LATERAL ( \
            SELECT n.* FROM ratchet.records AS n \
            WHERE n.namespace = w.namespace AND n.operation = w.operation AND n.key = w.key \
            ORDER BY n.generation DESC LIMIT 1) AS r \
          LEFT JOIN ratchet.progress AS p ON p.record_id = r.id"
    );
    let (mut newest, mut snapshots) = (Newest::new(), Snapshots::default());
    let rows = fetch(connection, NEWEST, submissions).await?;
    for row in &rows {
        let key = under_key(&Columns(row).identity()?);
        match read_stored(row, &mut snapshots) {
            Err(fault) if !matches!(fault, Fault::Damaged(_)) => return Err(fault),
            stored => drop(newest.insert(key, stored)),
        }
    }
    Ok(newest)
}

/// Runs a statement over the keys of submissions.
async fn fetch(
    connection: &mut PgConnection,
    statement: &'static str,
    submissions: &[&Submission],
) -> Result<Vec<PgRow>, Fault> {
    sqlx::query(statement)
        .bind(column(submissions, |submission| submission.id.namespace.as_str()))
        .bind(column(submissions, |submission| submission.id.operation.as_str()))
        .bind(column(submissions, |submission| submission.id.key.as_str()))
        .fetch_all(connection)
        .await
        .while_trying("look a key up")
}
