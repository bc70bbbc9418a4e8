//! Submissions: one decision per key, whoever asks.
//!
//! Nearly all are the first of their key, so all of a batch are inserted at once, and the unique index says which were not.
//! Those are looked up and decided about afterwards. A record that was asked for is never deleted (a purged one becomes a
//! tombstone in its own row), so what the index refused is found; and what is found needs no insert, so while most are
//! repetitions they are looked up first.

use std::collections::{HashMap, HashSet};

use ratchet_core::decide::{Newest, SubmitDecision, decide_beside};
use ratchet_core::ledger::follow::{self, Predecessor};
use ratchet_core::{AuditEntry, Payload, RecordId, Submission, Submitted, Timestamp, Version};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection};

use crate::bell::Bell;
use crate::columns::{InOrder, by_name};
use crate::error::{Fault, While as _};
use crate::insert::insert;
use crate::row::Known;
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
    /// Says what the sleepers of other processes are told; without one, all sleepers are.
    pub(crate) bell: Option<&'a Bell>,
    /// Most are expected to be on record already.
    pub(crate) look_first: bool,
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
    let mut answers: Vec<Option<Told>> = vec![None; submissions.len()];
    if terms.look_first {
        answer_repetitions(connection, submissions, &mut answers).await?;
    }
    let mut firsts = firsts_of_their_keys(submissions);
    firsts.retain(|place| answers[*place].is_none());
    let mut records = Vec::with_capacity(firsts.len());
    firsts.retain(|place| match predecessor.check(decide_beside(None, submissions[*place], NOW)) {
        SubmitDecision::Insert { record, .. } => {
            records.push(*record);
            true
        }
        SubmitDecision::Answer(_) => false,
    });
    let made = insert(connection, &records.iter().collect::<Vec<_>>(), predecessor, terms).await?;
    for ((place, record), id) in firsts.into_iter().zip(records).zip(&made.numbers) {
        if made.rows.contains(id) {
            answers[place] = Some(Ok(Submitted::New { id: record.id }));
        }
    }
    answer_the_rest(connection, submissions, &mut answers, predecessor, terms).await?;
    answers.into_iter().map(|answer| answer.ok_or(Fault::Damaged("a submission has no answer"))).collect()
}

/// Answers those whose key is on record and that ask for nothing but that. One behind a renewal of its key has to see what
/// became of it.
async fn answer_repetitions(
    connection: &mut PgConnection,
    submissions: &[&Submission],
    answers: &mut [Option<Told>],
) -> Result<(), Fault> {
    let found = newest_under_keys(connection, submissions).await?;
    let mut renewed = HashSet::new();
    for (submission, answer) in submissions.iter().zip(answers) {
        let name = Name::of(&submission.id);
        if submission.renewal.is_some() {
            renewed.insert(name);
        }
        if renewed.contains(&name) {
            continue;
        }
        *answer = match found.get(&name) {
            Some(Err(damaged)) => Some(Err(damaged.clone())),
            Some(Ok(newest)) => match decide_beside(Some(newest), submission, NOW) {
                SubmitDecision::Answer(answer) => Some(Ok(answer)),
                SubmitDecision::Insert { .. } => None,
            },
            _ => None,
        };
    }
    Ok(())
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
    let mut found = newest_under_keys(connection, &asked).await?;
    for place in rest {
        answers[place] = Some(answer(connection, submissions[place], &mut found, predecessor, terms).await?);
    }
    Ok(())
}

/// What is on record under the keys that were looked up, or that it cannot be read.
type Found<'a> = HashMap<Name<'a>, Result<Newest, Fault>>;

async fn answer<'a>(
    connection: &mut PgConnection,
    submission: &'a Submission,
    found: &mut Found<'a>,
    predecessor: Predecessor,
    terms: Terms<'_>,
) -> Result<Told, Fault> {
    let name = Name::of(&submission.id);
    for _ in 0..MOST_TRIES {
        let newest = match found.get(&name) {
            Some(Err(damaged)) => return Ok(Err(damaged.clone())),
            Some(Ok(newest)) => Some(newest),
            None => None,
        };
        match predecessor.check(decide_beside(newest, submission, NOW)) {
            SubmitDecision::Answer(answer) => return Ok(Ok(answer)),
            SubmitDecision::Insert { record, audit } => {
                let made = insert(connection, &[&record], predecessor, terms).await?;
                if let (Some(row), Some(at)) = (made.rows.into_iter().next(), made.at) {
                    note(connection, (row, at), audit).await?;
                    found.insert(name, Ok(Newest::from(&*record)));
                    return Ok(Ok(Submitted::New { id: record.id }));
                }
            }
        }
        // Somebody else was faster.
        hold(connection, &[submission]).await?;
        found.extend(newest_under_keys(connection, &[submission]).await?);
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
        ORDER BY r.namespace, r.operation, r.key, r.generation FOR UPDATE OF p";
    if !submissions.is_empty() {
        fetch(connection, HOLD, submissions).await?;
    }
    Ok(())
}

/// Reads what a submission is compared with, and no more.
/// A store that is closed says nothing of what it held: what is not found is inserted, and the guards refuse that.
async fn newest_under_keys<'a>(
    connection: &mut PgConnection,
    submissions: &[&'a Submission],
) -> Result<Found<'a>, Fault> {
    const NEWEST: &str = "SELECT w.place, r.generation, r.version, r.fingerprint, coalesce(p.state, r.ended_as), \
            p.result, CASE WHEN p.record_id IS NULL THEN r.ended_at END \
        FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS w(namespace, operation, key, place) \
        CROSS JOIN LATERAL ( \
            SELECT n.* FROM ratchet.records AS n \
            WHERE n.namespace = w.namespace AND n.operation = w.operation AND n.key = w.key \
            ORDER BY n.generation DESC LIMIT 1) AS r \
        LEFT JOIN ratchet.progress AS p ON p.record_id = r.id \
        WHERE EXISTS (SELECT FROM ratchet.standing WHERE stands = 'open')";
    let rows = fetch(connection, NEWEST, submissions).await?;
    let mut versions = Known::default();
    let mut found = Found::with_capacity(rows.len());
    for row in &rows {
        let mut row = InOrder::new(row);
        let place: usize = row.small()?;
        let submission =
            submissions.get(place - 1).ok_or(Fault::Damaged("a look-up has too many answers"))?;
        let newest = read_newest(row, &submission.id, &mut versions);
        if let Err(fault) = &newest
            && !matches!(fault, Fault::Damaged(_))
        {
            return Err(fault.clone());
        }
        found.insert(Name::of(&submission.id), newest);
    }
    Ok(found)
}

fn read_newest<'a>(
    mut row: InOrder<'a>,
    id: &RecordId,
    versions: &mut Known<'a, Version>,
) -> Result<Newest, Fault> {
    Ok(Newest {
        id: RecordId { generation: row.generation()?, ..id.clone() },
        version: versions.value(row.next()?, by_name)?,
        fingerprint: row.fingerprint()?,
        state: row.state()?,
        result: row.next::<Option<&str>>()?.map(Payload::from_stored),
        purged: row.time_if_any()?,
    })
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
