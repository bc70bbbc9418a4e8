//! Tells workers that something may be due: those of this process at once, those of others by a notification.
//!
//! A transaction that notifies commits under a lock that all such transactions of the database share, so notifications are
//! sparse: the first after a pause goes with the write itself, those that follow it closely are gathered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::postgres::PgListener;
use sqlx::{Executor as _, PgConnection};
use tokio::sync::{Notify, watch};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, timeout};

use crate::error::{Fault, While as _};
use crate::readers::{Readers, lent};
use crate::session::Connector;

/// The channel that notifications go through.
pub(crate) const CHANNEL: &str = "ratchet_due";

/// The shortest time between two notifications of one process.
const PAUSE: Duration = Duration::from_millis(10);

/// How long to wait for a database that cannot be reached.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// What a ledger rings.
#[derive(Debug)]
pub(crate) struct Bell {
    wakeups: watch::Sender<u64>,
    /// Tells this process's own notifications from others.
    own_tone: String,
    opened: Instant,
    /// In microseconds since the bell was made.
    quiet_until: AtomicU64,
    gathered: Notify,
}

impl Bell {
    pub(crate) fn new(random: u64) -> Arc<Self> {
        Arc::new(Self {
            wakeups: watch::Sender::new(0),
            own_tone: format!("{random:016x}"),
            opened: Instant::now(),
            quiet_until: AtomicU64::new(0),
            gathered: Notify::new(),
        })
    }

    pub(crate) fn sleepers(&self) -> watch::Receiver<u64> {
        self.wakeups.subscribe()
    }

    /// Wakes the workers of this process.
    pub(crate) fn wake(&self) {
        self.wakeups.send_modify(|count| *count += 1);
    }

    /// What a write that makes something due notifies others of, unless it is one of many: then they are told soon.
    pub(crate) fn tone(&self) -> Option<&str> {
        let now = self.opened.elapsed();
        let in_microseconds = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        let until = in_microseconds(now + PAUSE);
        let take = |quiet_until| (quiet_until <= in_microseconds(now)).then_some(until);
        if self.quiet_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
            return Some(&self.own_tone);
        }
        self.gathered.notify_one();
        None
    }

    /// Tells everybody, after a write whose notification did not go with it.
    pub(crate) fn ring(&self) {
        self.wake();
        self.gathered.notify_one();
    }

    /// Sends what was gathered, for as long as the ledger lives.
    pub(crate) async fn send_gathered(self: Arc<Self>, readers: Arc<Readers>) {
        let tone = &self.own_tone;
        loop {
            self.gathered.notified().await;
            sleep(PAUSE).await;
            // Told twice does no harm.
            let sent = readers.read("wake other processes", lent!(|connection| notify(connection, tone)));
            if let Err(fault) = sent.await {
                // They find the records at their next poll.
                tracing::debug!(?fault, "workers of other processes were not woken");
            }
        }
    }

    /// Wakes the workers of this process whenever another one rings, for as long as the ledger lives.
    pub(crate) async fn listen(self: Arc<Self>, connector: Connector) {
        loop {
            if let Err(error) = self.hear(&connector).await {
                tracing::debug!(%error, "nobody is woken by other processes until the database is reached again");
            }
            sleep(TRY_AGAIN_AFTER).await;
        }
    }

    async fn hear(&self, connector: &Connector) -> Result<(), sqlx::Error> {
        // A listener that hangs keeps its place in a pool, so none has the pool of another.
        let mut listener = PgListener::connect_with(&connector.listener()).await?;
        timeout(connector.answer_timeout, listener.listen(CHANNEL)).await.map_err(gone)??;
        // What was said before anybody listened is not said again.
        self.wake();
        loop {
            match timeout(connector.answer_timeout, listener.try_recv()).await {
                Ok(Ok(Some(notification))) if notification.payload() == self.own_tone => {}
                // Woken, or cut off and connected again.
                Ok(Ok(_)) => self.wake(),
                Ok(Err(error)) => return Err(error),
                Err(_) => require_life(&mut listener, connector.answer_timeout).await?,
            }
        }
    }
}

async fn notify(connection: &mut PgConnection, tone: &str) -> Result<(), Fault> {
    let sent = sqlx::query("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(tone).execute(connection).await;
    sent.map(drop).while_trying("wake other processes")
}

/// A silent database and a dead network look alike to whoever only listens.
async fn require_life(listener: &mut PgListener, within: Duration) -> Result<(), sqlx::Error> {
    timeout(within, listener.execute("SELECT")).await.map_err(gone)?.map(drop)
}

fn gone(_: Elapsed) -> sqlx::Error {
    sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())
}
