//! How the ledger's database is opened.

use std::path::Path;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use ratchet_core::decide::Moment;
use ratchet_core::ledger::desk::Logged;
use ratchet_core::random::{SharedRandom, SystemRandom};
use ratchet_core::time::{SharedClock, SystemClock};
use ratchet_core::{LedgerError, Timestamp};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, SqlitePool};

use crate::SqliteLedger;
use crate::error::{Fault, While as _};
use crate::place::Place;
use crate::schema;

/// How to open a [`SqliteLedger`]; [`SqliteLedger::open`] takes the defaults.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let url = format!("sqlite://{}/shop.db", directory.path().display());
/// use std::time::Duration;
/// use ratchet_sqlite::SqliteOptions;
///
/// let ledger = SqliteOptions::new().busy_timeout(Duration::from_secs(30)).open(&url).await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[must_use = "options do nothing until `open` is called"]
pub struct SqliteOptions {
    busy_timeout: Duration,
    sources: Sources,
    max_page_count: Option<u32>,
    synchronous: SqliteSynchronous,
}

/// Where the ledger's time and randomness come from, and what it has said already.
#[derive(Debug, Clone)]
pub(crate) struct Sources {
    clock: SharedClock,
    random: SharedRandom,
    pub(crate) logged: Logged,
}

impl Sources {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn moment(&self) -> Moment {
        self.moment_at(self.now())
    }

    /// For all that is decided together.
    pub(crate) fn moment_at(&self, now: Timestamp) -> Moment {
        Moment { now, jitter: self.random.jitter() }
    }
}

/// Everything that an opened ledger is made of.
pub(crate) struct Opened {
    /// The one connection that writes.
    pub(crate) writer: SqliteConnection,
    /// How to open it again.
    pub(crate) reopen: SqliteConnectOptions,
    pub(crate) place: Place,
    /// Connections that only read, and so never wait for the writer.
    pub(crate) readers: SqlitePool,
    pub(crate) busy_timeout: Duration,
    pub(crate) sources: Sources,
}

/// Between two attempts to switch a new database to WAL, for which SQLite itself does not wait.
const RETRY_OPEN_AFTER: Duration = Duration::from_millis(10);

/// Pages kept in memory: 32 MiB for the writer, 8 MiB for a reader; SQLite's own default is 2 MB.
const WRITER_CACHE: &str = "-32768";
const READER_CACHE: &str = "-8192";

const READERS: u32 = 4;

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            busy_timeout: Duration::from_secs(5),
            sources: Sources {
                clock: SystemClock::shared(),
                random: SystemRandom::shared(),
                logged: Logged::default(),
            },
            max_page_count: None,
            synchronous: SqliteSynchronous::Full,
        }
    }
}

impl SqliteOptions {
    /// Five seconds of waiting for locks, and the clocks and randomness of the operating system.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long to wait for another program that is writing, before a call ends in [`LedgerError::Busy`].
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Where the time comes from. Every program that uses the database should have the same idea of it.
    pub fn clock(mut self, clock: SharedClock) -> Self {
        self.sources.clock = clock;
        self
    }

    /// Where the spread of retries comes from.
    pub fn random(mut self, random: SharedRandom) -> Self {
        self.sources.random = random;
        self
    }

    /// Lets a test fill the database instead of a disk.
    #[doc(hidden)]
    pub fn max_page_count(mut self, pages: u32) -> Self {
        self.max_page_count = Some(pages);
        self
    }

    /// Lets a test see what is lost with the power where commits are not synced.
    #[doc(hidden)]
    pub fn without_sync(mut self) -> Self {
        self.synchronous = SqliteSynchronous::Normal;
        self
    }

    /// Opens the ledger at `url`, as in `sqlite:ratchet.db` or `sqlite:///var/lib/shop/shop.db`.
    ///
    /// The file is made if it does not exist (unless the URL says `?mode=ro` or `?mode=rw`), and so are the ledger's
    /// tables, whose names start with `ratchet_`: it may be your own database. The database is switched to
    /// write-ahead logging, which stays so. Must be called inside a Tokio runtime, in which the ledger then lives.
    ///
    /// # Errors
    /// [`LedgerError::Address`] if the URL or the place is wrong, [`LedgerError::Damaged`] if the file is no database,
    /// [`LedgerError::NewerSchema`] if a newer release made the tables; otherwise what the store says.
    pub async fn open(self, url: &str) -> Result<Arc<SqliteLedger>, LedgerError> {
        let options = self.connect_options(url)?;
        let opened = self.connect(options).await;
        let opened = opened.map_err(|fault| fault.told(self.busy_timeout))?;
        Ok(SqliteLedger::start(opened))
    }

    fn connect_options(&self, url: &str) -> Result<SqliteConnectOptions, LedgerError> {
        let wrong = |why: String| LedgerError::Address { url: url.to_owned(), why };
        let place = url
            .strip_prefix("sqlite:")
            .ok_or_else(|| wrong("it does not start with `sqlite:`".to_owned()))?;
        let (file, parameters) = place.split_once('?').unwrap_or((place, ""));
        let mode = parameters.split('&').find_map(|one| one.strip_prefix("mode="));
        if file.ends_with(":memory:") || mode == Some("memory") {
            let why = "a database in memory forgets every record: use `MemoryLedger` for tests";
            return Err(wrong(why.to_owned()));
        }
        let options = SqliteConnectOptions::from_str(url).map_err(|_| {
            wrong("only the parameters `mode`, `cache`, `immutable` and `vfs` are known".to_owned())
        })?;
        let creates = matches!(mode, None | Some("rwc"));
        check_place(options.get_filename(), creates).map_err(wrong)?;
        let options = options
            .create_if_missing(creates)
            .shared_cache(false)
            .synchronous(self.synchronous)
            .busy_timeout(self.busy_timeout)
            .row_buffer_size(256)
            .disable_statement_logging();
        Ok(options)
    }

    async fn connect(&self, options: SqliteConnectOptions) -> Result<Opened, Fault> {
        let mut writing = writing(options);
        if let Some(pages) = self.max_page_count {
            writing = writing.pragma("max_page_count", pages.to_string());
        }
        let mut writer = connect_patiently(&writing, self.busy_timeout).await?;
        if let Err(fault) = schema::bring_up_to_date(&mut writer).await {
            let _ = writer.close().await;
            return Err(fault);
        }
        // A database that vanished must not come back empty.
        let reopen = writing.create_if_missing(false);
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .test_before_acquire(false)
            .connect_lazy_with(reading(reopen.clone()));
        let place = Place::of_opened(reopen.get_filename());
        let (busy_timeout, sources) = (self.busy_timeout, self.sources.clone());
        Ok(Opened { writer, reopen, place, readers, busy_timeout, sources })
    }
}

fn writing(options: SqliteConnectOptions) -> SqliteConnectOptions {
    options.journal_mode(SqliteJournalMode::Wal).pragma("cache_size", WRITER_CACHE)
}

fn reading(options: SqliteConnectOptions) -> SqliteConnectOptions {
    options.pragma("cache_size", READER_CACHE).pragma("query_only", "ON")
}

/// What is wrong with the place of the database, in better words than "unable to open database file".
fn check_place(file: &Path, creates: bool) -> Result<(), String> {
    if file.as_os_str().is_empty() {
        return Err("it names no file".to_owned());
    }
    if file.is_dir() {
        return Err("it is a directory: name a file in it".to_owned());
    }
    let directory = file.parent().filter(|directory| !directory.as_os_str().is_empty());
    if directory.is_some_and(|directory| !directory.is_dir()) {
        return Err("its directory does not exist: make it first".to_owned());
    }
    if !creates && !file.exists() {
        return Err("the file does not exist, and `mode` says not to make it".to_owned());
    }
    Ok(())
}

/// Several programs may open a new database at once; all but one find it locked while it is switched to WAL.
async fn connect_patiently(
    options: &SqliteConnectOptions,
    patience: Duration,
) -> Result<SqliteConnection, Fault> {
    let mut waited = Duration::ZERO;
    loop {
        match options.connect().await.while_trying("open the database") {
            Err(Fault::Busy) if waited < patience => {
                tokio::time::sleep(RETRY_OPEN_AFTER).await;
                waited += RETRY_OPEN_AFTER;
            }
            connected => return connected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every connection of a ledger is made by one of these two.
    #[tokio::test]
    async fn every_connection_syncs_every_commit() {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/ledger.db", directory.path().display());
        let options = SqliteOptions::new().connect_options(&url).unwrap();
        for (options, query_only) in [(writing(options.clone()), 0), (reading(options), 1)] {
            let mut connection = options.connect().await.unwrap();
            assert_eq!(pragma(&mut connection, "PRAGMA synchronous").await, 2);
            assert_eq!(pragma(&mut connection, "PRAGMA query_only").await, query_only);
            let mode: String =
                sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut connection).await.unwrap();
            assert_eq!(mode, "wal");
            connection.close().await.unwrap();
        }
    }

    async fn pragma(connection: &mut SqliteConnection, statement: &'static str) -> i64 {
        sqlx::query_scalar(statement).fetch_one(connection).await.unwrap()
    }
}
