//! Takes the measurements in turns, each in a process and a database of its own.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Stdio;

use clap::ValueEnum;
use sqlx::{Connection as _, PgConnection};
use tempfile::TempDir;
use tokio::process::Command;

use crate::facts::Facts;
use crate::options::Options;
use crate::server::Server;
use crate::subject::{self, Entry, Result};
use crate::table;
use crate::work::{Measure, Work};

/// By position of the subject in the list. What failed has a reason instead of a measure.
pub(crate) type Outcomes = BTreeMap<(usize, usize), Vec<Result<Measure, String>>>;

pub(crate) async fn run(options: &Options, server: Option<&Server>) -> Result<()> {
    let works = options.works();
    let offers_any = |entry: &Entry| works.iter().any(|work| (entry.offers)(*work));
    let subjects: Vec<Entry> = subject::all()
        .into_iter()
        .filter(|entry| entry.store == options.store && options.wants(entry.name) && offers_any(entry))
        .collect();
    let facts = Facts::find(options, server).await?;
    let mut outcomes = Outcomes::new();
    for round in 1..=options.rounds() {
        for (row, work) in works.iter().enumerate() {
            for (column, subject) in subjects.iter().enumerate() {
                if !(subject.offers)(*work) {
                    continue;
                }
                let outcome =
                    measure(options, server, subject, *work).await.map_err(|error| error.to_string());
                report(round, subject, *work, &outcome);
                outcomes.entry((row, column)).or_default().push(outcome);
            }
        }
    }
    print!("{}", table::render(&facts, &works, &subjects, &outcomes));
    Ok(())
}

/// Progress, for somebody who waits.
fn report(round: usize, subject: &Entry, work: Work, outcome: &Result<Measure, String>) {
    let figures = match outcome {
        Err(reason) => reason.clone(),
        Ok(measure) => format!(
            "{:.0}/s{}, CPU {:.0} + {:.0} µs {}",
            measure.per_second(),
            measure
                .p50
                .zip(measure.p99)
                .map_or_else(String::new, |(p50, p99)| format!(", {p50:.2} / {p99:.2} ms")),
            measure.program,
            measure.server,
            measure.note.as_deref().unwrap_or_default()
        ),
    };
    let _ = writeln!(std::io::stderr(), "round {round}, {work}, {}: {figures}", subject.name);
}

/// A database that is there for one measurement.
enum Database<'a> {
    Postgres(&'a Server),
    Sqlite(TempDir),
}

const NAME: &str = "measured";

impl<'a> Database<'a> {
    async fn create(server: Option<&'a Server>) -> Result<Self> {
        let Some(server) = server else {
            return Ok(Self::Sqlite(tempfile::tempdir()?));
        };
        administer(server, &[&format!("CREATE DATABASE {NAME}"), "CHECKPOINT"]).await?;
        Ok(Self::Postgres(server))
    }

    fn url(&self) -> String {
        match self {
            Self::Postgres(server) => server.url(NAME),
            Self::Sqlite(folder) => format!("sqlite:{}", folder.path().join("jobs.db").display()),
        }
    }

    async fn remove(self) -> Result<()> {
        match self {
            Self::Postgres(server) => {
                administer(server, &[&format!("DROP DATABASE {NAME} WITH (FORCE)")]).await
            }
            Self::Sqlite(folder) => Ok(folder.close()?),
        }
    }
}

async fn administer(server: &Server, statements: &[&str]) -> Result<()> {
    let mut connection = PgConnection::connect(&server.url("postgres")).await?;
    for statement in statements {
        sqlx::raw_sql(sqlx::AssertSqlSafe(*statement)).execute(&mut connection).await?;
    }
    Ok(connection.close().await?)
}

async fn measure(options: &Options, server: Option<&Server>, subject: &Entry, work: Work) -> Result<Measure> {
    let database = Database::create(server).await?;
    let outcome = measure_in(options, server, subject, work, &database.url()).await;
    database.remove().await?;
    outcome
}

async fn measure_in(
    options: &Options,
    server: Option<&Server>,
    subject: &Entry,
    work: Work,
    url: &str,
) -> Result<Measure> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["--subject", subject.name, "--url", url])
        .args(["--work", &name(&work), "--store", &name(&options.store)])
        .args(["--jobs", &options.jobs().to_string(), "--seconds", &options.seconds().to_string()])
        .args(["--limit", &options.limit().as_secs().to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    if let Some(server) = server {
        command.args(["--server", &server.pid().to_string()]);
    }
    // A peer may hang; what it prepares before the measurement takes time too.
    let output = tokio::time::timeout(options.limit() * 8, command.output()).await??;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(said.lines().last().unwrap_or("no reason given").to_owned().into());
    }
    let measure: Measure = serde_json::from_slice(&output.stdout)?;
    if measure.operations == 0 {
        return Err(measure.note.unwrap_or_else(|| "nothing was done in time".to_owned()).into());
    }
    Ok(measure)
}

/// As the command line has it.
fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}
