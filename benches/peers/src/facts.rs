//! What a reader of the figures has to know about the run.

use std::io::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use sqlx::{Connection as _, PgConnection};

use crate::options::Options;
use crate::server::Server;
use crate::subject::Result;

const LOCK_FILE: &str = include_str!("../Cargo.lock");

pub(crate) struct Facts {
    pub(crate) date: String,
    pub(crate) machine: String,
    pub(crate) database: String,
    pub(crate) sizes: String,
}

impl Facts {
    pub(crate) async fn find(options: &Options, server: Option<&Server>) -> Result<Self> {
        let database = match server {
            None => format!("SQLite, libsqlite3-sys {}, synchronous FULL", version("libsqlite3-sys")),
            Some(server) => {
                let mut connection = PgConnection::connect(&server.url("postgres")).await?;
                let version: String =
                    sqlx::query_scalar("SHOW server_version").fetch_one(&mut connection).await?;
                connection.close().await?;
                format!("PostgreSQL {version} on the same machine, fsync and synchronous_commit on")
            }
        };
        let sizes = format!(
            "{} round(s), {} single enqueues, {} s of pick-up, broken off after {} s",
            options.rounds(),
            options.jobs(),
            options.seconds(),
            options.limit().as_secs()
        );
        Ok(Self { date: date(), machine: machine()?, database, sizes })
    }
}

fn date() -> String {
    let date = Command::new("date").args(["-u", "+%F"]).output();
    date.map_or_else(|_| "unknown".to_owned(), |date| String::from_utf8_lossy(&date.stdout).trim().to_owned())
}

fn machine() -> Result<String> {
    let cores = std::thread::available_parallelism()?;
    let line = |file: &str, name: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map_or("unknown", |(_, value)| value.trim()).to_owned()
    };
    Ok(format!(
        "{cores} cores ({}), {} of memory, Linux {}, {} syncs/s",
        line("/proc/cpuinfo", "model name"),
        line("/proc/meminfo", "MemTotal"),
        std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        syncs_per_second()?
    ))
}

/// How often the disk of the temporary folder can be told to keep 8 KiB, from one thread.
fn syncs_per_second() -> Result<u32> {
    let mut file = tempfile::tempfile()?;
    let (started, mut syncs) = (Instant::now(), 0);
    while started.elapsed() < Duration::from_millis(500) {
        file.write_all(&[7; 8192])?;
        file.sync_data()?;
        syncs += 2;
    }
    Ok(syncs)
}

/// The version of a package in the lock file; the newest where there are several.
pub(crate) fn version(package: &str) -> String {
    let header = format!("name = \"{package}\"\nversion = \"");
    let newest = LOCK_FILE.split(&header).skip(1).filter_map(|rest| rest.split_once('"')).last();
    newest.map_or_else(|| "unknown".to_owned(), |(version, _)| version.to_owned())
}
