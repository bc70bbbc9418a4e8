//! Connections for reads and rare writes, each lent for one call.
//!
//! A connection comes back only from a call that was answered: one that failed, or that nobody waited for to the end, is
//! closed with whatever it had left to say.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::PgConnection;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout};

use crate::error::Fault;
use crate::session::{Connector, TRUSTED_FOR, is_alive};

/// How many connections read at once.
const READERS: usize = 4;

/// The connections that nobody uses at the moment, and who makes more.
pub(crate) struct Readers {
    connector: Connector,
    /// Of the ledger. A connection that is made in another one goes deaf when that one ends.
    runtime: Handle,
    turns: Semaphore,
    idle: Mutex<Vec<(PgConnection, Instant)>>,
}

/// A connection for one call.
pub(crate) struct Lent<'a> {
    connection: PgConnection,
    readers: &'a Readers,
    _turn: SemaphorePermit<'a>,
}

impl Readers {
    /// Must be called inside the runtime of the ledger.
    pub(crate) fn new(connector: Connector) -> Self {
        Self { connector, runtime: Handle::current(), turns: Semaphore::new(READERS), idle: Mutex::default() }
    }

    /// Does something that is harmless to do twice, once more if its connection was gone.
    pub(crate) async fn read<'a, T, F>(
        &'a self,
        doing: &'static str,
        reads: impl Fn(Lent<'a>) -> F,
    ) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let first = self.call(doing, TRUSTED_FOR, &reads).await;
        if !matches!(first, Err(Fault::Disconnected { .. })) {
            return first;
        }
        // One that is gone is seldom alone.
        self.idle().clear();
        self.call(doing, TRUSTED_FOR, &reads).await
    }

    /// Writes on a connection that has just shown that it works.
    pub(crate) async fn write<'a, T, F>(
        &'a self,
        doing: &'static str,
        writes: impl Fn(Lent<'a>) -> F,
    ) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        self.call(doing, Duration::ZERO, writes).await
    }

    async fn call<'a, T, F>(
        &'a self,
        doing: &'static str,
        trusted_for: Duration,
        call: impl Fn(Lent<'a>) -> F,
    ) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let within = self.connector.within();
        let turn = timeout(within, self.turns.acquire()).await;
        let Ok(Ok(turn)) = turn else { return Err(Fault::no_answer(doing)) };
        let connection = self.connection(trusted_for).await?;
        let called = call(Lent { connection, readers: self, _turn: turn });
        timeout(within, called).await.unwrap_or_else(|_| Err(Fault::no_answer(doing)))
    }

    async fn connection(&self, trusted_for: Duration) -> Result<PgConnection, Fault> {
        loop {
            // A statement of its own: the guard must not be held while a connection is asked.
            let idle = self.idle().pop();
            let Some((mut connection, since)) = idle else {
                return self.connect().await;
            };
            if since.elapsed() < trusted_for || is_alive(&mut connection, &self.connector).await {
                return Ok(connection);
            }
        }
    }

    async fn connect(&self) -> Result<PgConnection, Fault> {
        let connector = self.connector.clone();
        let made = self.runtime.spawn(async move { connector.connect().await }).await;
        made.unwrap_or_else(|_| Err(Fault::no_answer("connect to the database")))
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(PgConnection, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lent<'_> {
    /// Gives the connection back if it answered.
    pub(crate) fn keep<T>(self, answer: Result<T, Fault>) -> Result<T, Fault> {
        if answer.is_ok() {
            self.readers.idle().push((self.connection, Instant::now()));
        }
        answer
    }
}

/// A call on a connection that is given back if it answered. It is moved into the call: what borrowed it could not be sent to
/// another thread for every lifetime.
macro_rules! lent {
    (|$connection:ident| $call:expr) => {
        |mut lent| async move {
            let $connection = &mut *lent;
            let answer = $call.await;
            lent.keep(answer)
        }
    };
}
pub(crate) use lent;

impl Deref for Lent<'_> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}
