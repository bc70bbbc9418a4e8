//! The whole life of an operation over connections that end: opening the store, submitting, executing.

use std::time::Duration;

use ratchet::postgres::PostgresOptions;
use ratchet::{EnqueueError, Ratchet};
use ratchet_core::LedgerError;
use ratchet_test_postgres::{Database, Direction, Proxy, shared};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use super::bytes::{Ending, Length};
use super::disturb::runtime;
use crate::planted::Mutation;
use crate::processes::{Bench, Broken, Findings, all_ended, enqueue, enqueue_early, work_undisturbed};

/// How many connections end on one database.
const ENDINGS: u64 = 12;

/// How long a ledger waits for an answer that does not come.
const ANSWER: Duration = Duration::from_secs(1);

/// In this time a life is at its end, whatever byte it was.
const SOON: Duration = Duration::from_mins(1);

/// What came of the lives on one database.
pub(super) struct Lives {
    pub(super) findings: Findings,
    pub(super) length: Length,
    /// What happened: a life may be over before its byte comes.
    pub(super) endings: Vec<Ending>,
}

/// Lives one life after the other, each of which loses a connection, and counts all again.
pub(super) fn lives(bench: Bench<'_>, number: u64) -> Result<Lives, Broken> {
    let runtime = runtime()?;
    let database = runtime.block_on(shared().database());
    let bench = bench.on(database.url());
    let mut lives = runtime.block_on(live(&bench, &database, number))?;
    lives.findings.add(bench.finish()?);
    Ok(lives)
}

async fn live(bench: &Bench<'_>, database: &Database<'_>, number: u64) -> Result<Lives, Broken> {
    // The tables take longer to make than these ledgers wait for an answer.
    drop(Ratchet::open(&database.url()).await?);
    let proxy = shared().proxy().await;
    let mut findings = Findings::default();
    life(bench, &proxy, database, 1, &mut findings).await?;
    let length = Length {
        to_server: proxy.passed(Direction::ToServer),
        to_program: proxy.passed(Direction::ToProgram),
    };
    let mut endings = Vec::new();
    for nth in 0..ENDINGS {
        let ending = Ending::nth(number * ENDINGS + nth, length);
        proxy.end_after(ending.after, ending.direction, ending.end);
        life(bench, &proxy, database, 2 + nth, &mut findings).await.map_err(|error| after(ending, &error))?;
        if !proxy.calls_off_end() {
            endings.push(ending);
        }
        proxy.heal();
    }
    Ok(Lives { findings, length, endings })
}

fn after(ending: Ending, error: &Broken) -> Broken {
    Broken::Tool(format!("{ending:?}: {error}"))
}

/// Opens the store, submits, executes, and waits for the end. Everything is asked again until it is answered.
async fn life(
    bench: &Bench<'_>,
    proxy: &Proxy,
    database: &Database<'_>,
    id: u64,
    findings: &mut Findings,
) -> Result<(), Broken> {
    let started = Instant::now();
    let options = PostgresOptions::new().answer_timeout(ANSWER).busy_timeout(ANSWER / 3);
    let ledger = loop {
        match options.clone().open(&proxy.url(database)).await {
            Ok(ledger) => break ledger,
            Err(error) => again(&error, started, findings).await?,
        }
    };
    let ratchet = Ratchet::with_ledger(ledger);
    let (stop, stopped) = oneshot::channel::<()>();
    let folder = bench.folder().to_owned();
    let working = tokio::spawn(work_undisturbed(ratchet.clone(), folder, bench.broken(), stopped));
    submit(bench, &ratchet, id, findings).await?;
    if !all_ended(&ratchet, SOON).await? {
        return Err(Broken::Nothing("an operation did not come to its end"));
    }
    let _still_there = stop.send(());
    working.await.map_err(|_| Broken::Nothing("the worker panicked"))
}

/// Submits until it is acknowledged: a number of the kind that a repetition reaches once.
async fn submit(
    bench: &Bench<'_>,
    ratchet: &Ratchet,
    id: u64,
    findings: &mut Findings,
) -> Result<(), Broken> {
    let started = Instant::now();
    if bench.broken() == Some(Mutation::EarlyAcknowledgement) {
        let _nobody_asks = enqueue_early(ratchet, 5 * id, bench.folder()).await;
        return Ok(());
    }
    loop {
        match enqueue(ratchet, 5 * id, bench.folder()).await {
            Ok(()) => return Ok(()),
            Err(EnqueueError::Ledger(error)) => again(&error, started, findings).await?,
            Err(error) => return Err(Broken::Tool(error.to_string())),
        }
    }
}

/// Whoever meets a connection that ended is told to ask again.
async fn again(error: &LedgerError, started: Instant, findings: &mut Findings) -> Result<(), Broken> {
    if !error.is_transient() {
        findings.said.push(format!("a connection that ended was told as: {error}"));
    }
    if started.elapsed() > SOON {
        return Err(Broken::Nothing("the connections work, and the call still fails"));
    }
    sleep(Duration::from_millis(5)).await;
    Ok(())
}
