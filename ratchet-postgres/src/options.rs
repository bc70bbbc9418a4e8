//! How the ledger's database is opened.

use std::sync::Arc;
use std::time::Duration;

use ratchet_core::decide::Moment;
use ratchet_core::ledger::desk::Logged;
use ratchet_core::ledger::moving::without_credentials;
use ratchet_core::random::{SharedRandom, SystemRandom};
use ratchet_core::time::SharedClock;
use ratchet_core::{LedgerError, Timestamp};
use sqlx::{Connection as _, PgConnection};
use tokio::time::timeout;

use crate::PostgresLedger;
use crate::error::{Fault, While as _};
use crate::hosts::Hosts;
use crate::schema;
use crate::session::{Connector, TRUSTED_FOR};

/// How many statements an update of the tables has that may each take as long as any call. The server ends each of them.
const STATEMENTS: u32 = 20;

/// How to open a [`PostgresLedger`]; [`PostgresLedger::open`] takes the defaults.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use ratchet_postgres::PostgresOptions;
///
/// let options = PostgresOptions::new().busy_timeout(Duration::from_secs(30));
/// let ledger = options.open("postgres://app@localhost/shop").await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[must_use = "options do nothing until `open` is called"]
pub struct PostgresOptions {
    busy_timeout: Duration,
    answer_timeout: Duration,
    sources: Sources,
}

/// Where the ledger's time and randomness come from, and what it has said already.
#[derive(Debug, Clone)]
pub(crate) struct Sources {
    /// `None` for the database's own clock.
    clock: Option<SharedClock>,
    pub(crate) random: SharedRandom,
    pub(crate) logged: Logged,
}

impl Sources {
    /// The moment that statements are to take instead of the database's clock.
    pub(crate) fn now(&self) -> Option<i64> {
        self.clock.as_ref().map(|clock| clock.now().as_millis())
    }

    /// A decision at the moment in which the rows for it were read.
    pub(crate) fn moment(&self, read_at: Timestamp) -> Moment {
        Moment { now: read_at, jitter: self.random.jitter() }
    }
}

/// Everything that an opened ledger is made of.
pub(crate) struct Opened {
    pub(crate) connector: Connector,
    pub(crate) sources: Sources,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            busy_timeout: Duration::from_secs(5),
            answer_timeout: Duration::from_secs(30),
            sources: Sources { clock: None, random: SystemRandom::shared(), logged: Logged::default() },
        }
    }
}

impl PostgresOptions {
    /// Five seconds of waiting for locks, thirty for answers, the database's clock and the operating system's randomness.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long to wait for another transaction that holds the same record, before a call ends in
    /// [`LedgerError::Busy`]. A transaction of yours that has enqueued an action holds it until it ends.
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// How long the database may take to answer, beyond what a lock may take, before its connection is given up and a call
    /// ends in [`LedgerError::Store`]; 30 seconds unless said otherwise. The server ends statements and transactions of the
    /// ledger's own after the same time, whatever `statement_timeout` a role has.
    pub fn answer_timeout(mut self, timeout: Duration) -> Self {
        self.answer_timeout = timeout;
        self
    }

    /// Takes the time from here, and no longer from the database, which is the one clock that all programs share.
    /// For tests that own the time.
    pub fn clock(mut self, clock: SharedClock) -> Self {
        self.sources.clock = Some(clock);
        self
    }

    /// Where the spread of retries comes from.
    pub fn random(mut self, random: SharedRandom) -> Self {
        self.sources.random = random;
        self
    }

    /// Opens the ledger at `url`, as in `postgres://app@localhost/shop`, and makes or updates its tables where they are
    /// missing or old. Must be called inside a Tokio runtime, in which the ledger then lives.
    ///
    /// The address may name several servers, as in `postgres://app@one:5432,two:5432/shop`, one of which is the primary
    /// and the others follow it. Only the primary is used, to read too, and the ledger finds the next one after a failover.
    /// `target_session_attrs=read-write` asks the same of an address with one host.
    ///
    /// # Errors
    /// [`LedgerError::Address`] if the URL is wrong, [`LedgerError::NewerSchema`] if a newer release made the tables,
    /// [`LedgerError::NoSchema`] if they are missing or old and this role may not make them; otherwise what the store
    /// says.
    pub async fn open(self, url: &str) -> Result<Arc<PostgresLedger>, LedgerError> {
        let connector = Connector {
            options: hosts(url)?,
            lock_timeout: self.busy_timeout,
            answer_timeout: self.answer_timeout,
        };
        let mut first = connector.connect().await.map_err(|fault| fault.told(self.busy_timeout))?;
        bring_up_to_date(&mut first, &connector, url).await?;
        let _ = timeout(TRUSTED_FOR, first.close()).await;
        Ok(PostgresLedger::start(Opened { connector, sources: self.sources }))
    }
}

fn hosts(url: &str) -> Result<Hosts, LedgerError> {
    let wrong = |why: &str| LedgerError::Address { url: without_credentials(url), why: why.to_owned() };
    if !(url.starts_with("postgres://") || url.starts_with("postgresql://")) {
        return Err(wrong("it does not start with `postgres://`"));
    }
    url.parse().map_err(wrong)
}

/// A database that stops answering is noticed here too: nobody else watches this connection.
async fn bring_up_to_date(
    connection: &mut PgConnection,
    connector: &Connector,
    url: &str,
) -> Result<(), LedgerError> {
    let told = |fault: Fault| fault.told(connector.lock_timeout);
    let looks = async {
        require_unicode(connection, url).await?;
        schema::is_up_to_date(connection).await.map_err(told)
    };
    let silent = |doing| told(Fault::no_answer(doing));
    let looked = timeout(connector.within(), looks).await;
    if looked.unwrap_or_else(|_| Err(silent("read the version of its tables")))? {
        return Ok(());
    }
    let updated = timeout(STATEMENTS * connector.within(), schema::bring_up_to_date(connection)).await;
    updated.map_err(|_| silent("update its tables"))?.map_err(told)
}

async fn require_unicode(connection: &mut PgConnection, url: &str) -> Result<(), LedgerError> {
    let encoding: String = sqlx::query_scalar("SELECT current_setting('server_encoding')")
        .fetch_one(connection)
        .await
        .while_trying("connect to the database")
        .map_err(|fault: Fault| fault.told(Duration::ZERO))?;
    if encoding == "UTF8" {
        return Ok(());
    }
    let why = format!("the database's encoding is {encoding}, which lacks characters: it must be UTF8");
    Err(LedgerError::Address { url: without_credentials(url), why })
}
