//! Connections of the ledger's own, and what they must be set to.

use std::time::Duration;

use sqlx::postgres::PgPoolOptions;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, PgPool};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::error::{Fault, While as _};
use crate::hosts::{Hosts, is_standby};

/// How long a new connection may take at the most.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// How long the server that was the primary may take before all are asked.
const HEAD_START: Duration = Duration::from_secs(1);

/// A connection that rested for longer is asked for a sign of life before it is trusted with a call.
pub(crate) const TRUSTED_FOR: Duration = Duration::from_secs(5);

/// How connections of the ledger are made.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    pub(crate) options: Hosts,
    /// How long they wait for somebody else's lock.
    pub(crate) lock_timeout: Duration,
    /// How long the database may say nothing, beyond that.
    pub(crate) answer_timeout: Duration,
}

impl Connector {
    /// A database that has not answered a call after so long is taken for gone.
    pub(crate) fn within(&self) -> Duration {
        self.answer_timeout + self.lock_timeout
    }

    pub(crate) async fn connect(&self) -> Result<PgConnection, Fault> {
        let doing = "connect to the database";
        timeout(CONNECT_WITHIN.min(self.answer_timeout), self.connect_to_primary())
            .await
            .map_err(|_| Fault::no_answer(doing))?
            .while_trying(doing)
    }

    async fn connect_to_primary(&self) -> Result<PgConnection, sqlx::Error> {
        let known = self.options.primary();
        if self.options.len() == 1 {
            return self.connect_to(known).await;
        }
        match timeout(HEAD_START, self.connect_to(known)).await {
            Ok(Ok(connection)) => Ok(connection),
            _ => self.connect_to_first().await,
        }
    }

    /// Asks all at once, since one that is gone or frozen would keep the others waiting.
    async fn connect_to_first(&self) -> Result<PgConnection, sqlx::Error> {
        let mut tries = JoinSet::new();
        for place in 0..self.options.len() {
            let connector = self.clone();
            tries.spawn(async move { (place, connector.connect_to(place).await) });
        }
        let mut told = is_standby();
        while let Some(Ok((place, tried))) = tries.join_next().await {
            match tried {
                Ok(connection) => {
                    self.options.found_primary(place);
                    return Ok(connection);
                }
                // A server that answers knows more than a network.
                Err(error) if error.as_database_error().is_some() => told = error,
                Err(_) => {}
            }
        }
        Err(told)
    }

    async fn connect_to(&self, place: usize) -> Result<PgConnection, sqlx::Error> {
        let mut connection = self.options.at(place).connect().await?;
        let follows = set_up(&mut connection, self).await?;
        if follows && self.options.only_primary { Err(is_standby()) } else { Ok(connection) }
    }

    /// The one connection that listens. It goes where the others have found the primary.
    pub(crate) fn listener(&self) -> PgPool {
        PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(CONNECT_WITHIN)
            .connect_lazy_with(self.options.at(self.options.primary()).clone())
    }
}

/// What a role or a database may have set otherwise.
///
/// Every statement of the ledger finds its rows by an index; a plan that reads whole tables, made from statistics of
/// yesterday, would be slower by orders of magnitude. So plans are made once, and from indexes and nested loops alone.
///
/// What the ledger has given up waiting for, the server gives up too: a transaction whose program was cut off would keep
/// its locks until the network notices, and nobody else could claim those records. No connection is ended for resting.
///
/// Gives whether the server only follows another one.
async fn set_up(connection: &mut PgConnection, connector: &Connector) -> Result<bool, sqlx::Error> {
    const SETTINGS: &str = "SELECT pg_is_in_recovery(), set_config('lock_timeout', $1, false), \
        set_config('statement_timeout', $2, false), \
        set_config('idle_in_transaction_session_timeout', $2, false), \
        set_config('idle_session_timeout', '0', false), \
        set_config('default_transaction_isolation', 'read committed', false), \
        set_config('plan_cache_mode', 'force_generic_plan', false), set_config('jit', 'off', false), \
        set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false), \
        set_config('enable_hashjoin', 'off', false), set_config('enable_mergejoin', 'off', false), \
        set_config('enable_memoize', 'off', false), \
        CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END";
    let milliseconds = |span: Duration| span.as_millis().max(1).to_string();
    sqlx::query_scalar(SETTINGS)
        .persistent(false)
        .bind(milliseconds(connector.lock_timeout))
        .bind(milliseconds(connector.within()))
        .fetch_one(connection)
        .await
}

/// Asks for a sign of life.
pub(crate) async fn is_alive(connection: &mut PgConnection, connector: &Connector) -> bool {
    let within = TRUSTED_FOR.min(connector.answer_timeout);
    matches!(timeout(within, connection.ping()).await, Ok(Ok(())))
}

/// The one connection of a task, made again after a failure.
#[derive(Debug)]
pub(crate) struct Session {
    connector: Connector,
    open: Option<PgConnection>,
    used_at: Instant,
}

impl Session {
    pub(crate) fn new(connector: Connector) -> Self {
        Self { connector, open: None, used_at: Instant::now() }
    }

    pub(crate) fn within(&self) -> Duration {
        self.connector.within()
    }

    /// A connection that works, as far as anybody can know.
    pub(crate) async fn connection(&mut self) -> Result<&mut PgConnection, Fault> {
        if self.used_at.elapsed() > TRUSTED_FOR
            && let Some(connection) = &mut self.open
            && !is_alive(connection, &self.connector).await
        {
            self.open = None;
        }
        self.used_at = Instant::now();
        match &mut self.open {
            Some(connection) => Ok(connection),
            empty => Ok(empty.insert(self.connector.connect().await?)),
        }
    }

    /// A connection that failed is not trusted again; what it had not committed is rolled back.
    pub(crate) fn forget(&mut self) {
        self.open = None;
    }

    pub(crate) async fn close(mut self) {
        if let Some(connection) = self.open.take() {
            let _ = timeout(TRUSTED_FOR, connection.close()).await;
        }
    }
}
