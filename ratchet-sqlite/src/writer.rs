//! The one writer: a task that owns the connection that writes, and commits for many callers at once.
//!
//! A commit costs a sync of the disk, whatever it holds. So the writer takes everything that was asked while the last
//! commit was under way, does it in one transaction, and answers each caller after the commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ratchet_core::admission::{GateAnswer, GateOrder};
use ratchet_core::decide::{Answer, Refusal};
use ratchet_core::ledger::follow::{Looked, Whose};
use ratchet_core::ledger::moving::{Import, StandingChange, StandingRefused, StoreStanding};
use ratchet_core::ledger::{
    AwaitedEnds, Claim, Declaration, DocumentWrite, DocumentWritten, MarkChange, Order, StoreMark,
};
use ratchet_core::{LedgerError, Record, State, Submission, Submitted};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tokio::sync::{mpsc, watch};

use crate::batch::{Applied, Asked, Batch, dealt};
use crate::error::{Fault, While as _};
use crate::held::Held;
use crate::insert::Inserted;
use crate::options::Sources;
use crate::place::Place;
use crate::{
    apply, claim, declare, document, follow, gates, import, insert, maintenance, mark, standing, submit,
};

/// How many calls share one commit at the most; bounds how long the first of them waits for the last.
const MOST_CALLS: usize = 1_024;

/// What a caller asks of the writer.
pub(crate) enum Job {
    Declare(Asked<Vec<Declaration>, ()>),
    Submit(Asked<Vec<Submission>, Vec<Submitted>>),
    Apply(Asked<Vec<Order>, Applied>),
    Admit(Asked<Vec<GateOrder>, Vec<GateAnswer>>),
    Expire(Asked<usize, usize>),
    Claim(Asked<Claim, Vec<Record>>),
    Purge(Asked<usize, usize>),
    Mark(Asked<MarkChange, StoreMark>),
    Document(Asked<DocumentWrite, DocumentWritten>),
    Follow(Asked<Whose, Looked>),
    Standing(Asked<StandingChange, Result<StoreStanding, StandingRefused>>),
    Import(Asked<Import, Result<(), StandingRefused>>),
}

/// The answers to a batch, in the order of its questions.
#[derive(Default)]
pub(crate) struct Answers {
    pub(crate) declare: Vec<Result<(), LedgerError>>,
    pub(crate) submit: Vec<Vec<Submitted>>,
    pub(crate) apply: Vec<Applied>,
    pub(crate) admit: Vec<Vec<GateAnswer>>,
    pub(crate) expire: Vec<usize>,
    pub(crate) claim: Vec<Vec<Record>>,
    pub(crate) purge: Vec<usize>,
    pub(crate) mark: Vec<StoreMark>,
    pub(crate) document: Vec<DocumentWritten>,
    pub(crate) follow: Vec<Looked>,
    pub(crate) standing: Vec<Result<StoreStanding, StandingRefused>>,
    pub(crate) import: Vec<Result<(), StandingRefused>>,
}

pub(crate) struct Writer {
    /// `None` after a failure: a connection that failed is not trusted again.
    pub(crate) connection: Option<(SqliteConnection, Held)>,
    pub(crate) reopen: SqliteConnectOptions,
    pub(crate) place: Place,
    pub(crate) busy_timeout: Duration,
    pub(crate) sources: Sources,
    pub(crate) wakeups: Arc<watch::Sender<u64>>,
    pub(crate) ends: AwaitedEnds,
    pub(crate) commits: Arc<AtomicU64>,
    /// Whether the last submissions were on record already, so that the next ones are looked up before they are inserted.
    pub(crate) expects_repetitions: bool,
}

impl Writer {
    /// Works until the ledger is dropped.
    pub(crate) async fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        let mut asked = Vec::with_capacity(MOST_CALLS);
        while jobs.recv_many(&mut asked, MOST_CALLS).await > 0 {
            self.serve(asked.drain(..).collect()).await;
        }
        self.disconnect().await;
    }

    async fn serve(&mut self, batch: Batch) {
        let mut waiting = vec![batch];
        while let Some(batch) = waiting.pop() {
            match self.commit(&batch).await {
                Ok(answers) => {
                    if answers.may_have_made_something_due(&self.ends) {
                        self.wakeups.send_modify(|count| *count += 1);
                    }
                    let nobody_took = batch.answer(answers);
                    waiting.extend(give_back(nobody_took));
                }
                // One damaged record must not stop the work on all others.
                Err(fault) if fault.concerns_one_record() && batch.calls() > 1 => {
                    waiting.extend(batch.into_single_calls());
                }
                Err(fault) => {
                    tracing::warn!(calls = batch.calls(), ?fault, "nothing of a batch was written");
                    batch.refuse(|| fault.told(self.busy_timeout));
                }
            }
        }
    }

    /// Does the whole batch in one transaction, or nothing of it.
    async fn commit(&mut self, batch: &Batch) -> Result<Answers, Fault> {
        self.place.require()?;
        let (connection, held) = match &mut self.connection {
            Some(connection) => connection,
            empty => {
                let connection = self.reopen.connect().await.while_trying("open the database")?;
                empty.insert((connection, Held::new()))
            }
        };
        let told = submit_alone(connection, batch, &mut self.expects_repetitions, &self.sources).await;
        let answers = match told {
            Ok(Some(told)) => Ok(Answers { submit: batch.dealt_to_submitters(told), ..Answers::default() }),
            Ok(None) => in_transaction(connection, held, batch, &self.sources).await,
            Err(fault) => Err(fault),
        };
        match &answers {
            Ok(_) => drop(self.commits.fetch_add(1, Ordering::Relaxed)),
            Err(_) => self.disconnect().await,
        }
        answers
    }

    async fn disconnect(&mut self) {
        if let Some((connection, _)) = self.connection.take() {
            // What was committed is durable; what was not is rolled back.
            let _ = connection.close().await;
        }
    }
}

/// Answers submissions with one statement for all of them, if nothing else is asked and they are all new or all on record.
async fn submit_alone(
    connection: &mut SqliteConnection,
    batch: &Batch,
    expects_repetitions: &mut bool,
    sources: &Sources,
) -> Result<Option<Vec<Submitted>>, Fault> {
    let Some(submissions) = batch.only_submissions() else { return Ok(None) };
    let now = sources.now();
    let looked = *expects_repetitions;
    if looked {
        let told = submit::answer_repetitions(connection, &submissions, now).await?;
        if told.is_some() {
            return Ok(told);
        }
    }
    *expects_repetitions = false;
    match insert::submit_if_first(connection, &submissions, now).await? {
        Inserted::All(new) => Ok(Some(new)),
        Inserted::NoneOfThem if !looked => {
            let told = submit::answer_repetitions(connection, &submissions, now).await?;
            *expects_repetitions = told.is_some();
            Ok(told)
        }
        Inserted::NoneOfThem | Inserted::NotTried => Ok(None),
    }
}

async fn in_transaction(
    connection: &mut SqliteConnection,
    held: &mut Held,
    batch: &Batch,
    sources: &Sources,
) -> Result<Answers, Fault> {
    let mut transaction =
        connection.begin_with("BEGIN IMMEDIATE").await.while_trying("begin a transaction")?;
    let answers = work(&mut transaction, held, batch, sources).await?;
    transaction.commit().await.while_trying("commit")?;
    Ok(answers)
}

/// Callers who ask at the same time have no order among them, so calls of one kind are done together.
async fn work(
    connection: &mut SqliteConnection,
    held: &mut Held,
    batch: &Batch,
    sources: &Sources,
) -> Result<Answers, Fault> {
    let mut answers = Answers::default();
    for asked in &batch.declare {
        answers.declare.push(declare::declare(connection, &asked.question).await?);
    }
    if !batch.submit.is_empty() {
        let told = submit::submit(connection, &batch.submissions(), sources.now()).await?;
        answers.submit = batch.dealt_to_submitters(told);
    }
    if !batch.apply.is_empty() {
        let all: Vec<&Order> = batch.apply.iter().flat_map(|asked| &asked.question).collect();
        let told = apply::apply(connection, &all, held, sources).await?;
        answers.apply = dealt(told, batch.apply.iter().map(|asked| asked.question.len()));
    }
    if !batch.admit.is_empty() {
        let all: Vec<&GateOrder> = batch.admit.iter().flat_map(|asked| &asked.question).collect();
        let told = gates::admit(connection, &all, sources.now()).await?;
        answers.admit = dealt(told, batch.admit.iter().map(|asked| asked.question.len()));
    }
    for asked in &batch.expire {
        answers.expire.push(maintenance::expire(connection, asked.question, held, sources).await?);
    }
    for asked in &batch.follow {
        answers.follow.push(follow::follow(connection, &asked.question, sources).await?);
    }
    for asked in &batch.claim {
        answers.claim.push(claim::claim(connection, &asked.question, held, sources).await?);
    }
    for asked in &batch.purge {
        answers.purge.push(maintenance::purge(connection, asked.question, sources.now()).await?);
    }
    for asked in &batch.mark {
        answers.mark.push(mark::change(connection, &asked.question, sources.now()).await?);
    }
    for asked in &batch.document {
        answers.document.push(document::write(connection, &asked.question).await?);
    }
    for asked in &batch.import {
        answers.import.push(import::import(connection, &asked.question).await?);
    }
    // Last, so that what came with it is not refused by the guards that it puts up.
    for asked in &batch.standing {
        answers.standing.push(standing::change(connection, &asked.question, sources.now()).await?);
    }
    Ok(answers)
}

impl Answers {
    fn may_have_made_something_due(&self, ends: &AwaitedEnds) -> bool {
        let made_due = |answer: &Result<Answer, Refusal>| {
            matches!(
                answer,
                Ok(Answer::Released | Answer::Settled(State::Pending) | Answer::Now(State::Pending))
            )
        };
        let new = |submitted: &Submitted| matches!(submitted, Submitted::New { .. });
        self.submit.iter().flatten().any(new)
            || self.apply.iter().flatten().any(made_due)
            || self.expire.iter().any(|decided| *decided > 0)
            || self.follow.iter().any(|looked| looked.due)
            || self.apply.iter().any(|answers| ends.came_with(answers))
    }
}

/// Leases whose claimer went away meanwhile are given back at once, rather than after their time.
fn give_back(records: Vec<Record>) -> Option<Batch> {
    if records.is_empty() {
        return None;
    }
    let (asked, _) = Asked::new(records.into_iter().map(Order::giving_back).collect());
    Some(std::iter::once(Job::Apply(asked)).collect())
}
