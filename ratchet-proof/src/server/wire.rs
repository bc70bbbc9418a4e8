//! Connections that end after some byte of the whole life of an operation: opening the store, submitting, executing.

use std::path::Path;
use std::time::Duration;

use ratchet::postgres::PostgresOptions;
use ratchet::{EnqueueError, Ratchet};
use ratchet_core::LedgerError;
use ratchet_test_postgres::{Database, Direction, End, Proxy, shared};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use super::disturb::of_the_shared_server;
use crate::cases::Seen;
use crate::processes::{Bench, Broken, Findings, all_ended, enqueue, undisturbed_worker};

/// How many lives one database sees.
const LIVES: u64 = 12;

/// Prime, so that all bytes come in turn, and near ones far apart.
const STRIDE: u64 = 617;

/// How long a ledger waits for an answer that does not come.
const ANSWER: Duration = Duration::from_millis(250);

/// In this time a life is at its end, whatever byte it was.
const SOON: Duration = Duration::from_secs(30);

pub(super) fn ends(bench: Bench<'_>, number: u64) -> Result<Seen, Broken> {
    let (runtime, database) = of_the_shared_server()?;
    let bench = bench.on(database.url());
    let mut seen = runtime.block_on(lives(&bench, &database, number))?;
    seen.findings.add(bench.finish()?);
    Ok(seen)
}

async fn lives(bench: &Bench<'_>, database: &Database<'_>, number: u64) -> Result<Seen, Broken> {
    let proxy = shared().proxy().await;
    let (mut faults, mut findings) = (Vec::new(), Findings::default());
    // Makes the tables; the second one counts.
    life(bench.folder(), &proxy, database, 1, &mut findings).await?;
    let before = [Direction::ToServer, Direction::ToProgram].map(|direction| proxy.passed(direction));
    life(bench.folder(), &proxy, database, 2, &mut findings).await?;
    let bytes = |direction: Direction| {
        let place = usize::from(direction == Direction::ToProgram);
        (proxy.passed(direction) - before[place]).max(1)
    };
    let totals = [bytes(Direction::ToServer), bytes(Direction::ToProgram)];
    for nth in 0..LIVES {
        // Each byte in both directions and both ways of ending.
        let case = number * LIVES + nth;
        let (direction, total) = if case.is_multiple_of(2) {
            (Direction::ToServer, totals[0])
        } else {
            (Direction::ToProgram, totals[1])
        };
        let end = if case / 2 % 4 == 3 { End::Freeze } else { End::Cut };
        let at = usize::try_from(case / 2 * STRIDE).unwrap_or(0) % total;
        proxy.end_after(at, direction, end);
        life(bench.folder(), &proxy, database, 3 + nth, &mut findings).await?;
        if !proxy.calls_off_end() {
            faults.push(format!("{end:?} {direction:?}").to_lowercase());
        }
        proxy.heal();
    }
    faults.sort();
    Ok(Seen { findings, faults })
}

/// Opens the store, submits, executes, and waits for the end. Everything is asked again until it is answered.
async fn life(
    folder: &Path,
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
    let worker = undisturbed_worker(&ratchet, folder).ok_or(Broken::Nothing("there is no worker"))?;
    let (stop, stopped) = oneshot::channel::<()>();
    let working = tokio::spawn(worker.run(async {
        let _stopped = stopped.await;
    }));
    // Numbers of the kind that a repetition reaches once.
    loop {
        match enqueue(&ratchet, 5 * id, folder).await {
            Ok(()) => break,
            Err(EnqueueError::Ledger(error)) => again(&error, started, findings).await?,
            Err(error) => return Err(Broken::Tool(error.to_string())),
        }
    }
    if !all_ended(&ratchet, SOON).await? {
        return Err(Broken::Nothing("an operation did not come to its end"));
    }
    let _still_there = stop.send(());
    let _ended = working.await;
    Ok(())
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
