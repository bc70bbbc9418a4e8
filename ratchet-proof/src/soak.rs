//! A long life under steady load and faults: what grows in it would grow for ever.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use ratchet::postgres::sqlx::{self, PgConnection};
use ratchet_test_postgres::{Database, Server};
use tokio::runtime::Runtime;

use crate::processes::{Bench, Broken, Process, Sample};
use crate::suite::{Effort, Report, Suite, progress};

/// How long a short run lives: only a test that it works.
const SHORT: Duration = Duration::from_secs(30);

/// Between two faults.
const BETWEEN_FAULTS: Duration = Duration::from_secs(2);

/// How often the server itself stops in a run, since nobody is answered meanwhile.
const RESTARTS: u32 = 3;

/// A sample for every minute, and enough samples in a short run too.
const LONGEST_PERIOD: u64 = 60;
const SAMPLES: u64 = 12;

/// One process on `PostgreSQL` that is never killed, beside others that are.
#[derive(Debug, Clone)]
pub struct SoakSuite {
    /// This program, which is started again with `child` and `steady`.
    program: PathBuf,
}

/// What was measured in one period.
#[derive(Debug, Clone, Copy)]
struct Measured {
    p99: u64,
    memory: u64,
    dead_rows: u64,
}

impl SoakSuite {
    /// A suite whose processes are this program, the one of this crate.
    #[must_use]
    pub const fn new(program: PathBuf) -> Self {
        Self { program }
    }
}

impl Suite for SoakSuite {
    fn name(&self) -> &'static str {
        "soak"
    }

    fn what(&self) -> &'static str {
        "faults in a long life of one process, whose memory, latency and dead rows must not grow"
    }

    fn is_usual(&self) -> bool {
        false
    }

    fn run(&self, effort: Effort) -> Report {
        let mut report = Report::new(self.name());
        let span = match effort {
            Effort::Short => SHORT,
            Effort::For(span) => span,
        };
        if let Err(error) = self.soak(span, &mut report) {
            report.violations.push(error.to_string());
        }
        report
    }
}

impl SoakSuite {
    fn soak(&self, span: Duration, report: &mut Report) -> Result<(), Broken> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let server = Server::start_with("autovacuum_naptime = 10s");
        let database = runtime.block_on(server.database());
        let bench = Bench::new(&self.program, None)?.on(database.url());
        let period = (span.as_secs() / SAMPLES).clamp(1, LONGEST_PERIOD);
        let mut steady = Process::start(bench.steady(span.as_secs(), period))?;
        let measured =
            Faults::new(&bench, &server, &database, &runtime, span).until_end(&mut steady, report)?;
        for (nth, Measured { p99, memory, dead_rows }) in measured.iter().enumerate() {
            let from = nth as u64 * period;
            report
                .notes
                .push(format!("from second {from}: p99 {p99} us, {memory} kB, {dead_rows} dead rows"));
        }
        report.violations.extend(grown(&measured));
        let findings = bench.finish()?;
        report.notes.push(format!("{} operations", bench.acknowledged().len()));
        report.lost = findings.lost;
        report.doubled = findings.doubled;
        report.violations.extend(findings.said);
        Ok(())
    }
}

/// What happens while the steady process lives.
struct Faults<'a> {
    bench: &'a Bench<'a>,
    server: &'a Server,
    database: &'a Database<'a>,
    runtime: &'a Runtime,
    chance: fastrand::Rng,
    span: Duration,
    restarts: u32,
}

impl<'a> Faults<'a> {
    fn new(
        bench: &'a Bench<'a>,
        server: &'a Server,
        database: &'a Database<'a>,
        runtime: &'a Runtime,
        span: Duration,
    ) -> Self {
        Self { bench, server, database, runtime, chance: fastrand::Rng::new(), span, restarts: 0 }
    }

    fn until_end(mut self, steady: &mut Process, report: &mut Report) -> Result<Vec<Measured>, Broken> {
        let (started, mut measured) = (Instant::now(), Vec::new());
        let mut last_fault = Instant::now();
        while steady.is_alive() {
            thread::sleep(Duration::from_millis(100));
            if last_fault.elapsed() > BETWEEN_FAULTS {
                self.one(report.cases, started.elapsed())?;
                report.cases += 1;
                last_fault = Instant::now();
            }
            let samples = self.bench.samples();
            if let Some(Sample { p99, memory }) = samples.get(measured.len()).copied() {
                let dead_rows = self.runtime.block_on(dead_rows(self.database)).unwrap_or_default();
                measured.push(Measured { p99, memory, dead_rows });
                progress(
                    "soak",
                    &format!("{} faults, p99 {p99} us, {memory} kB, {dead_rows} dead", report.cases),
                );
            }
        }
        Ok(measured)
    }

    fn one(&mut self, nth: u64, elapsed: Duration) -> Result<(), Broken> {
        if elapsed > self.span / (RESTARTS + 1) * (self.restarts + 1) && self.restarts < RESTARTS {
            self.restarts += 1;
            self.server.kill();
            self.server.resume();
            return Ok(());
        }
        if nth % 5 == 4 {
            let _is_told = self.runtime.block_on(cut(self.database));
            return Ok(());
        }
        let die_at = self.chance.u64(..59).to_string();
        let more = ["--die-at", &die_at, "--patience", "1"];
        self.bench.start(1 + 3 * nth, 3, &more)?.wait();
        Ok(())
    }
}

async fn connect(database: &Database<'_>) -> Result<PgConnection, sqlx::Error> {
    use sqlx::Connection as _;
    PgConnection::connect(&database.url()).await
}

async fn cut(database: &Database<'_>) -> Result<(), sqlx::Error> {
    const CUT: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE datname = current_database() AND application_name = 'ratchet'";
    sqlx::raw_sql(CUT).execute(&mut connect(database).await?).await.map(drop)
}

async fn dead_rows(database: &Database<'_>) -> Result<u64, sqlx::Error> {
    const DEAD: &str = "SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables";
    let dead: i64 = sqlx::query_scalar(DEAD).fetch_one(&mut connect(database).await?).await?;
    Ok(u64::try_from(dead).unwrap_or(0))
}

/// Compares the medians of the first and the last third. The very first sample is of a process that has just started.
fn grown(measured: &[Measured]) -> Vec<String> {
    let measured = measured.get(1..).unwrap_or_default();
    let third = measured.len() / 3;
    if third == 0 {
        return vec!["it was too short to tell whether anything grows".to_owned()];
    }
    let (first, last) = (&measured[..third], &measured[measured.len() - third..]);
    // Half as much again and a little more, for what a shared machine does to each.
    let compared = |what: &str, unit: &str, more: u64, of: fn(&Measured) -> u64| {
        let (before, after) = (median(first, of), median(last, of));
        let is_grown = after > before + before / 2 + more;
        is_grown.then(|| format!("{what} grew from {before} to {after} {unit}"))
    };
    [
        compared("memory", "kB", 4_096, |measured| measured.memory),
        compared("p99", "us", 20_000, |measured| measured.p99),
        compared("the number of dead rows", "", 2_000, |measured| measured.dead_rows),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn median(measured: &[Measured], of: fn(&Measured) -> u64) -> u64 {
    let mut values: Vec<u64> = measured.iter().map(of).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(memory: impl Fn(u64) -> u64) -> Vec<Measured> {
        (0..13).map(|nth| Measured { p99: 900, memory: memory(nth), dead_rows: 100 + nth }).collect()
    }

    #[test]
    fn what_grows_is_seen_and_what_wavers_is_not() {
        assert_eq!(grown(&measured(|nth| 20_000 + nth % 3 * 500)), Vec::<String>::new());
        let leaks = grown(&measured(|nth| 20_000 + nth * 3_000));
        assert_eq!(leaks, ["memory grew from 29000 to 53000 kB"]);
        assert_eq!(grown(&[]), ["it was too short to tell whether anything grows"]);
    }
}
