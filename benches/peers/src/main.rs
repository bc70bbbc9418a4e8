//! The same work on the same server for Ratchet, its peers, and bare SQL, as a table with ratios. See `docs/performance.md`.

mod board;
mod driver;
mod facts;
mod job;
mod limits;
mod measure;
mod observer;
mod options;
mod ours;
mod peers;
mod server;
mod subject;
mod table;
mod usage;
mod work;

use std::process::ExitCode;

use clap::Parser as _;

use crate::measure::Task;
use crate::options::{One, Options};
use crate::server::Server;
use crate::subject::{Result, Store};

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match options.one.clone() {
        Some(one) => measure_one(&one, &options),
        None => measure_all(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The server is started and stopped by the main thread: it ends with the thread that started it.
fn measure_all(options: &Options) -> Result<()> {
    let server = match options.store {
        Store::Postgres => Some(Server::start(options.postgres_bin.as_deref())?),
        Store::Sqlite => None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            outcome = driver::run(options, server.as_ref()) => outcome,
            () = interrupted() => Err("interrupted".into()),
        }
    })
}

async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate()).expect("signals can be handled");
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

/// What the driver starts for each measurement: a process, so that each has its own CPU time and memory.
fn measure_one(one: &One, options: &Options) -> Result<()> {
    let subject = subject::all()
        .into_iter()
        .find(|entry| entry.name == one.subject && entry.store == options.store)
        .ok_or("there is no such subject")?;
    let task = Task {
        work: one.work,
        url: one.url.clone(),
        server: one.server,
        jobs: options.jobs(),
        seconds: options.seconds(),
        limit: options.limit(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let measure = runtime.block_on((subject.measure)(task))?;
    println!("{}", serde_json::to_string(&measure)?);
    // Workers that are still running are of no interest.
    std::process::exit(0);
}
