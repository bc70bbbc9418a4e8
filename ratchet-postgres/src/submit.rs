//! Submissions: one decision per key, whoever asks.
//!
//! Nearly all are the first of their key, so all of a batch are inserted at once, and the unique index says which were not.
//! Those are looked up and decided about afterwards. A record that was asked for is never deleted (a purged one becomes a
//! tombstone in its own row), so what the index refused is found.

use std::collections::{HashMap, HashSet};

use ratchet_core::decide::{Stored, SubmitDecision, decide_submission};
use ratchet_core::{AuditEntry, Generation, Record, RecordId, Submission, Submitted, Timestamp};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection};

use crate::audit;
use crate::bell::CHANNEL;
use crate::columns::Columns;
use crate::error::{Fault, While as _};
use crate::row::{Snapshots, Texts, now, read_stored, record_columns, steps_column};
use crate::write::column;

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
    if submissions.iter().any(|submission| submission.renewal.is_some()) {
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
    for chunk in submissions.chunks(ROWS_PER_STATEMENT) {
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
    let firsts = firsts_of_their_keys(submissions);
    let mut records = Vec::with_capacity(firsts.len());
    for place in &firsts {
        if let SubmitDecision::Insert { record, .. } = decide_submission(None, submissions[*place], NOW) {
            records.push(*record);
        }
    }
    let made = insert(connection, &records.iter().collect::<Vec<_>>(), terms).await?;
    let mut answers: Vec<Option<Told>> = vec![None; submissions.len()];
    for (place, record) in firsts.into_iter().zip(records) {
        if made.includes(&record.id) {
            answers[place] = Some(Ok(Submitted::New { id: record.id }));
        }
    }
    answer_the_rest(connection, submissions, &mut answers, terms).await?;
    answers.into_iter().map(|answer| answer.ok_or(Fault::Damaged("a submission has no answer"))).collect()
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

/// What an insert made.
struct Made {
    /// The number of the first row, and when it was made.
    first: Option<(i64, Timestamp)>,
    /// The identities, unless it made all.
    names: HashSet<RecordId>,
    all: bool,
}

impl Made {
    fn includes(&self, id: &RecordId) -> bool {
        self.all || self.names.contains(id)
    }
}

/// Inserts those of the records whose identity is free.
///
/// In the order of their identities, so that two batches with the same keys do not wait for each other in a circle; the
/// numbers of the rows are in the order of the submissions.
async fn insert(connection: &mut PgConnection, records: &[&Record], terms: Terms<'_>) -> Result<Made, Fault> {
    const INSERT: &str = concat!(
        "WITH wanted AS MATERIALIZED (SELECT nextval('ratchet.records_id') AS id, w.* \
            FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bytea[], $8::smallint[], \
                $9::bigint[], $10::integer[], $11::integer[], $12::text[], $15::text[]) \
            AS w(namespace, operation, key, generation, version, fingerprint, priority, not_before, policy, \
                contract, input, queue)), \
        moment AS MATERIALIZED (SELECT ",
        now!("$1"),
        " AS now), \
        made AS (INSERT INTO ratchet.records (id, namespace, operation, key, generation, version, fingerprint, \
                priority, created_at, not_before, policy, contract, input, queue) \
            SELECT w.id, w.namespace, w.operation, w.key, w.generation, w.version, w.fingerprint, w.priority, \
                m.now, greatest(w.not_before, m.now), ($16::text[])[w.policy], ($17::text[])[w.contract], w.input, \
                w.queue \
            FROM wanted AS w CROSS JOIN moment AS m \
            ORDER BY w.namespace, w.operation, w.key, w.generation \
            ON CONFLICT (namespace, operation, key, generation) DO NOTHING \
            RETURNING id, namespace, operation, key, generation, version, priority, created_at, not_before, queue), \
        begun AS (INSERT INTO ratchet.progress (record_id, ready_at, priority, namespace, operation, version, queue) \
            SELECT id, not_before, priority, namespace, operation, version, queue FROM made), \
        total AS MATERIALIZED (SELECT count(*) AS records, min(id) AS id, max(created_at) AS created_at FROM made) \
        SELECT records, id, created_at, NULL AS namespace, NULL AS operation, NULL AS key, NULL::bigint AS generation, \
            CASE WHEN records > 0 AND $13::text IS NOT NULL THEN pg_notify($14, $13)::text END AS notified FROM total \
        UNION ALL SELECT NULL, NULL, NULL, namespace, operation, key, generation, NULL FROM made \
            WHERE (SELECT records FROM total) < cardinality($2::text[])"
    );
    if records.is_empty() {
        return Ok(Made { first: None, names: HashSet::new(), all: true });
    }
    let (mut policies, mut contracts) = (Texts::default(), Texts::default());
    for record in records {
        policies.add(&record.policy)?;
        contracts.add(&record.effect.contract)?;
    }
    let rows = sqlx::query(INSERT)
        .bind(terms.now)
        .bind(column(records, |record| record.id.namespace.as_str()))
        .bind(column(records, |record| record.id.operation.as_str()))
        .bind(column(records, |record| record.id.key.as_str()))
        .bind(column(records, |record| i64::from(record.id.generation.get())))
        .bind(column(records, |record| record.version.as_str()))
        .bind(column(records, |record| record.fingerprint.as_bytes().as_slice()))
        .bind(column(records, |record| record.priority.0))
        .bind(column(records, |record| record.ready_at.as_millis()))
        .bind(policies.places())
        .bind(contracts.places())
        .bind(column(records, |record| record.input.as_str()))
        .bind(terms.tone)
        .bind(CHANNEL)
        .bind(column(records, |record| record.queue.as_str()))
        .bind(policies.distinct())
        .bind(contracts.distinct())
        .fetch_all(connection)
        .await
        .while_trying("insert records")?;
    let Some((total, identities)) = rows.split_first() else {
        return Err(Fault::Damaged("an insert has no answer"));
    };
    let all = Columns(total).small::<usize>("records")? == records.len();
    let names = identities.iter().map(|row| Columns(row).identity()).collect::<Result<_, _>>()?;
    let first = match Columns(total).number_if_any("id")? {
        Some(row) => Some((row, Columns(total).time("created_at")?)),
        None => None,
    };
    Ok(Made { first, names, all })
}

/// Decides about those without an answer, in their order, each of which sees what those before it did.
async fn answer_the_rest(
    connection: &mut PgConnection,
    submissions: &[&Submission],
    answers: &mut [Option<Told>],
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
        answers[place] = Some(answer(connection, submissions[place], &mut newest, terms).await?);
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
    terms: Terms<'_>,
) -> Result<Told, Fault> {
    let key = under_key(&submission.id);
    for _ in 0..MOST_TRIES {
        let stored = match newest.get(&key) {
            Some(Err(damaged)) => return Ok(Err(damaged.clone())),
            stored => stored.and_then(|stored| stored.as_ref().ok()),
        };
        match decide_submission(stored, submission, NOW) {
            SubmitDecision::Answer(answer) => return Ok(Ok(answer)),
            SubmitDecision::Insert { record, audit } => {
                let made = insert(connection, &[&record], terms).await?;
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
        ORDER BY r.namespace, r.operation, r.key, r.generation FOR UPDATE OF p";
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
