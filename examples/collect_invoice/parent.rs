//! The parent process: starts the others, enqueues, kills, counts.

mod child;
mod engine;

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use ratchet::{Enqueued, Filter, Ratchet, RecordState, Request};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Row};

use crate::Result;
use crate::invoices;
use crate::operations::{CollectInvoice, collect_invoice, collect_invoice_without_key};
use crate::report::Report;
use child::Child;
use engine::Engine;

/// When the worker is killed: after so many of which events since it started, and what that means.
const KILLS: [(Moment, usize, &str); 8] = [
    (Moment::Charged, 20, "charged, and the answer had not arrived"),
    (Moment::Answered, 15, "the answer had arrived, and was not written down"),
    (Moment::Sending, 10, "about to send"),
    (Moment::Charged, 25, "charged, and the answer had not arrived"),
    (Moment::Answered, 25, "the answer had arrived, and was not written down"),
    (Moment::Charged, 15, "charged, and the answer had not arrived"),
    (Moment::Sending, 20, "about to send"),
    (Moment::Answered, 20, "the answer had arrived, and was not written down"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Sending,
    Charged,
    Answered,
}

impl Moment {
    fn is(self, line: &str) -> bool {
        let word = match self {
            Self::Sending => "sending ",
            Self::Charged => "charged ",
            Self::Answered => "answered ",
        };
        line.starts_with(word)
    }
}

pub(crate) async fn run(store: Option<String>, without_key: bool, json: bool) -> Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let charges = folder.path().join("payments.db");
    let store = store.unwrap_or_else(|| format!("sqlite:{}", folder.path().join("ratchet.db").display()));
    let mut destination = Child::spawn(&["destination".as_ref(), charges.as_os_str()])?;
    let url = destination.line("listening ").await?;

    let ratchet = Ratchet::open(&store).await?;
    let engine = Engine::start(&store, &ratchet).await?;
    let mut report = enqueue(&ratchet, without_key).await?;
    println!(
        "{} invoices are on record. A worker collects them, and is killed (SIGKILL) with the work half done:",
        report.enqueued
    );
    let start = || Child::spawn_worker(&store, &url, engine.address, without_key);
    execute(&ratchet, start, &mut destination, &mut report).await?;
    count(&ratchet, &charges, &mut report).await?;

    report.print(without_key);
    if json {
        println!("{}", serde_json::to_string(&report)?);
    }
    Ok(if report.holds(without_key) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn enqueue(ratchet: &Ratchet, without_key: bool) -> Result<Report> {
    let invoices = invoices::load()?;
    let distinct: HashSet<&str> = invoices.iter().map(|invoice| invoice.invoice_id.as_str()).collect();
    let mut report = Report { invoices: distinct.len(), ..Report::default() };
    for answer in submit(ratchet, invoices, without_key).await? {
        match answer {
            Enqueued::New { .. } => report.enqueued += 1,
            Enqueued::Existing { .. } => report.duplicates += 1,
            Enqueued::Conflict(_) => report.conflicts += 1,
            other => return Err(format!("an invoice ended before it was executed: {other:?}").into()),
        }
    }
    Ok(report)
}

async fn submit(
    ratchet: &Ratchet,
    invoices: Vec<CollectInvoice>,
    without_key: bool,
) -> Result<Vec<Enqueued<crate::operations::Receipt>>> {
    let answers = if without_key {
        let requests: Vec<Request<collect_invoice_without_key>> =
            invoices.into_iter().map(collect_invoice_without_key::request).collect();
        ratchet.submit_all(requests).await?
    } else {
        let requests: Vec<Request<collect_invoice>> =
            invoices.into_iter().map(collect_invoice::request).collect();
        ratchet.submit_all(requests).await?
    };
    Ok(answers.into_iter().collect::<std::result::Result<_, _>>()?)
}

/// Lets workers work, and kills them, until every record is settled.
async fn execute(
    ratchet: &Ratchet,
    start_worker: impl Fn() -> Result<Child>,
    destination: &mut Child,
    report: &mut Report,
) -> Result<()> {
    let progress = progress_bar(report.invoices);
    let mut kills = KILLS.iter();
    loop {
        let mut worker = start_worker()?;
        let Some((moment, after, meaning)) = kills.next() else {
            finish(ratchet, worker, destination, &progress).await?;
            progress.finish_and_clear();
            return Ok(());
        };
        let reached = wait_for(*moment, *after, &mut worker, destination, &progress).await?;
        worker.kill().await?;
        if !reached {
            return Err("the worker had nothing left to do before it was killed as often as planned".into());
        }
        report.kills += 1;
        // Shown above the bar, and also where there is no terminal.
        progress.suspend(|| println!("  kill {}: {meaning}", report.kills));
    }
}

/// Waits until a moment came so often. `false` if it does not come for long.
async fn wait_for(
    moment: Moment,
    times: usize,
    worker: &mut Child,
    destination: &mut Child,
    progress: &ProgressBar,
) -> Result<bool> {
    let mut seen = 0;
    while seen < times {
        let line = tokio::select! {
            line = worker.next_line() => line?,
            line = destination.next_line() => line?,
            () = tokio::time::sleep(Duration::from_secs(20)) => return Ok(false),
        };
        progress.inc(u64::from(Moment::Charged.is(&line)));
        seen += usize::from(moment.is(&line));
    }
    Ok(true)
}

/// The last worker is left alone.
async fn finish(
    ratchet: &Ratchet,
    mut worker: Child,
    destination: &mut Child,
    progress: &ProgressBar,
) -> Result<()> {
    while is_unsettled(ratchet, RecordState::Pending).await?
        || is_unsettled(ratchet, RecordState::Running).await?
    {
        tokio::select! {
            line = worker.next_line() => drop(line?),
            line = destination.next_line() => progress.inc(u64::from(Moment::Charged.is(&line?))),
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
    }
    worker.stop().await
}

async fn is_unsettled(ratchet: &Ratchet, state: RecordState) -> Result<bool> {
    let page = ratchet.list(Filter { state: Some(state), limit: 1, ..Filter::default() }).await?;
    Ok(!page.records.is_empty())
}

/// Counts at the payment service itself, whatever the workers believe.
async fn count(ratchet: &Ratchet, charges: &Path, report: &mut Report) -> Result<()> {
    let mut after = None;
    loop {
        let page = ratchet.list(Filter { after, limit: 100, ..Filter::default() }).await?;
        report.attempts += page.records.iter().map(|record| u64::from(record.attempts)).sum::<u64>();
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let mut payments = SqliteConnectOptions::new().filename(charges).connect().await?;
    let row = sqlx::query(
        "SELECT (SELECT count(*) FROM requests), count(*), count(DISTINCT invoice_id),
                (SELECT count(*) FROM (SELECT 1 FROM charges GROUP BY invoice_id HAVING count(*) > 1))
         FROM charges",
    )
    .fetch_one(&mut payments)
    .await?;
    report.requests = row.get(0);
    report.charges = row.get(1);
    report.uncharged = i64::try_from(report.invoices)? - row.get::<i64, _>(2);
    report.double_charges = row.get(3);
    Ok(())
}

fn progress_bar(invoices: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("  {bar:40} {pos} charges for {len} invoices, {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(invoices as u64).with_style(style)
}
