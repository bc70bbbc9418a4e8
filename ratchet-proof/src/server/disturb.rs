//! Servers that die, are replaced, have no connection left, or are held up.

use std::thread;
use std::time::Duration;

use ratchet::Ratchet;
use ratchet::postgres::sqlx::{self, Connection as _, PgConnection};
use ratchet_test_postgres::{Database, Server};
use tokio::runtime::Runtime;

use crate::cases::Seen;
use crate::processes::{Bench, Broken, Process};

/// How many numbers each of two processes submits.
const NUMBERS: u64 = 120;

/// For how long a disturbance lasts.
const A_WHILE: Duration = Duration::from_millis(300);

/// Two processes, each of which submits every number until it is acknowledged.
fn processes(bench: &Bench<'_>) -> Result<[Process; 2], Broken> {
    let start = |from| bench.start(from, NUMBERS, &["--insists", "--patience", "1"]);
    Ok([start(1)?, start(1 + 10 * NUMBERS)?])
}

/// Waits until so many more numbers are acknowledged.
fn progress(bench: &Bench<'_>, more: usize) -> Result<(), Broken> {
    let before = bench.acknowledged().len();
    let all = usize::try_from(2 * NUMBERS).unwrap_or(usize::MAX);
    let goes_on = bench.sees(|bench| bench.acknowledged().len() >= (before + more).min(all));
    if goes_on { Ok(()) } else { Err(Broken::Nothing("the work does not go on after the fault")) }
}

fn ended(bench: &Bench<'_>, processes: [Process; 2], faults: &[&str]) -> Result<Seen, Broken> {
    for mut process in processes {
        process.wait();
    }
    Ok(Seen { findings: bench.finish()?, faults: faults.iter().map(|fault| (*fault).to_owned()).collect() })
}

pub(super) fn runtime() -> Result<Runtime, Broken> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?)
}

/// As a loss of power or the killer of large processes stops it.
pub(super) fn restarts(bench: Bench<'_>) -> Result<Seen, Broken> {
    let (runtime, server) = (runtime()?, Server::start());
    let database = runtime.block_on(server.database());
    let bench = bench.on(database.url());
    let processes = processes(&bench)?;
    for _ in 0..3 {
        progress(&bench, 20)?;
        server.kill();
        server.resume();
    }
    ended(&bench, processes, &["immediate stop and restart"; 3])
}

/// The standby is cut off for a while, then the primary is gone for ever.
pub(super) fn failover(bench: Bench<'_>, is_awaited: bool) -> Result<Seen, Broken> {
    let (runtime, primary) = (runtime()?, Server::start());
    let database = runtime.block_on(primary.database());
    drop(runtime.block_on(Ratchet::open(&database.url()))?);
    let standby = primary.start_standby();
    primary.await_standbys(is_awaited);
    let proxy = runtime.block_on(primary.proxy());
    let bench = bench.on(proxy.url(&database));
    let processes = processes(&bench)?;
    progress(&bench, 20)?;
    standby.kill();
    thread::sleep(A_WHILE);
    primary.kill();
    standby.resume();
    standby.promote();
    proxy.lead_to(&standby);
    progress(&bench, 20)?;
    ended(&bench, processes, &["failover to a promoted standby"])
}

/// One disturbance after the other, each of which ends while the processes live.
pub(super) fn limits(bench: Bench<'_>) -> Result<Seen, Broken> {
    let (runtime, server) = (runtime()?, Server::start_with("max_connections = 24"));
    let database = runtime.block_on(server.database());
    let bench = bench.on(database.url());
    let processes = processes(&bench)?;
    progress(&bench, 10)?;
    runtime.block_on(take_all_connections(&database));
    progress(&bench, 10)?;
    let mut admin = runtime.block_on(database.connect());
    for statement in [CANCEL, LIMIT, CUT, LOCK, UNLIMIT, CUT] {
        // Several times, to meet statements of every kind.
        for _ in 0..if statement == CANCEL { 50 } else { 1 } {
            runtime.block_on(execute(&mut admin, statement))?;
        }
        progress(&bench, 10)?;
    }
    let faults = [
        "no connection left",
        "statements cancelled",
        "time limits of a database",
        "connections terminated",
        "tables locked",
    ];
    ended(&bench, processes, &faults)
}

const CUT: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
    WHERE datname = current_database() AND application_name = 'ratchet'";

const CANCEL: &str = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity \
    WHERE datname = current_database() AND application_name = 'ratchet' AND state = 'active'";

/// As an administrator sets them for a web application.
const LIMIT: &str = "DO $$ BEGIN \
    EXECUTE format('ALTER DATABASE %I SET lock_timeout = ''1ms''', current_database()); \
    EXECUTE format('ALTER DATABASE %I SET statement_timeout = ''20ms''', current_database()); END $$";

const UNLIMIT: &str = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET ALL', current_database()); END $$";

const LOCK: &str = "BEGIN; LOCK TABLE ratchet.progress; SELECT pg_sleep(0.5); COMMIT";

async fn execute(connection: &mut PgConnection, statement: &'static str) -> Result<(), Broken> {
    let done = sqlx::raw_sql(statement).execute(connection).await;
    done.map(drop).map_err(|error| Broken::Tool(format!("an administrator's statement failed: {error}")))
}

/// Whatever becomes free is taken by others.
async fn take_all_connections(database: &Database<'_>) {
    let mut others = Vec::new();
    let mut admin = database.connect().await;
    for _ in 0..10 {
        let _is_told = sqlx::raw_sql(CUT).execute(&mut admin).await;
        while let Ok(other) = PgConnection::connect(&database.url()).await {
            others.push(other);
        }
    }
    tokio::time::sleep(A_WHILE).await;
    for other in others {
        let _is_closed = other.close().await;
    }
}
