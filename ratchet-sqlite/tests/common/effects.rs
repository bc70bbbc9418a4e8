//! What the tests of `once` share: a shop's database, and attempts at one booking.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ratchet_core::decide::Command;
use ratchet_core::ledger::Order;
use ratchet_core::{
    Cause, CauseKind, Context, Contract, Failure, MemoryLedger, OnceError, Outcome, Policy, Record,
    RetryPolicy, SharedLedger, Submission,
};
use ratchet_sqlite::{migrate_effects, once};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{SqliteConnection, SqlitePool};

use super::{claim_of, submission};

const AT_ONCE: RetryPolicy = RetryPolicy::doubling(10, Duration::ZERO, Duration::ZERO);

/// A database with bookings, and a ledger, which may be in it or not.
pub(crate) struct Shop {
    pub(crate) pool: SqlitePool,
    pub(crate) ledger: SharedLedger,
    /// How often a booking was tried.
    pub(crate) runs: AtomicU32,
}

impl Shop {
    /// Its ledger is somewhere else.
    pub(crate) async fn open(directory: &Path) -> Self {
        let pool = pool(directory).await;
        migrate_effects(&mut pool.acquire().await.unwrap()).await.unwrap();
        Self { pool, ledger: MemoryLedger::new(), runs: AtomicU32::new(0) }
    }

    pub(crate) async fn with_ledger_inside(directory: &Path) -> Self {
        let ledger = super::open(directory).await;
        Self { pool: pool(directory).await, ledger, runs: AtomicU32::new(0) }
    }

    pub(crate) async fn submit(&self, invoice: &str) {
        let submission = Submission {
            policy: Policy { retry: AT_ONCE, ..Policy::DEFAULT },
            contract: Contract::DATABASE.terms(),
            ..submission(invoice)
        };
        self.ledger.submit(vec![submission]).await.unwrap();
    }

    /// Leases and starts what is due.
    pub(crate) async fn attempt(&self) -> (Context, Record) {
        let record = self.ledger.claim(claim_of(1)).await.unwrap().pop().expect("a due record");
        (Context::of_leased(&record, Contract::DATABASE, self.ledger.clone()).unwrap(), record)
    }

    pub(crate) async fn first_attempt(&self) -> (Context, Record) {
        self.submit("inv_1").await;
        self.attempt().await
    }

    /// An attempt that falls silent.
    pub(crate) async fn dies(&self, record: &Record) {
        let cause = Cause::new(CauseKind::LeaseLost, "killed");
        let command = Command::Settle { token: record.token, outcome: Outcome::unknown(cause) };
        let answers = self.ledger.apply(vec![Order { id: record.id.clone(), command }]).await.unwrap();
        answers[0].as_ref().unwrap();
    }

    /// Books, and returns the number of the booking and of the run.
    pub(crate) async fn book(&self, ctx: &Context) -> Result<(i64, u32), OnceError> {
        once(&self.pool, ctx, "book", async |tx| self.insert(tx).await).await
    }

    pub(crate) async fn insert(&self, connection: &mut SqliteConnection) -> Result<(i64, u32), Failure> {
        let run = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        let done = sqlx::query("INSERT INTO bookings DEFAULT VALUES").execute(connection).await?;
        Ok((done.last_insert_rowid(), run))
    }

    pub(crate) async fn bookings(&self) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM bookings").fetch_one(&self.pool).await.unwrap()
    }

    /// Step and token of every effect on record.
    pub(crate) async fn effects(&self) -> Vec<(String, i64)> {
        let effects = sqlx::query_as("SELECT step, token FROM ratchet_effects ORDER BY step");
        effects.fetch_all(&self.pool).await.unwrap()
    }

    pub(crate) fn runs(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }
}

pub(crate) async fn pool(directory: &Path) -> SqlitePool {
    let options = SqliteConnectOptions::new()
        .filename(directory.join("ledger.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .busy_timeout(Duration::from_secs(10));
    let pool = SqlitePool::connect_with(options).await.unwrap();
    let table = "CREATE TABLE IF NOT EXISTS bookings (id INTEGER PRIMARY KEY AUTOINCREMENT)";
    sqlx::raw_sql(table).execute(&pool).await.unwrap();
    pool
}
