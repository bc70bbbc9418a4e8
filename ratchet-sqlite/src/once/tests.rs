//! A COMMIT whose answer is lost.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ratchet_core::ledger::{Claim, Offer, Served};
use ratchet_core::{
    Contract, Generation, Key, Ledger as _, MemoryLedger, Namespace, OperationName, OutcomeKind, Payload,
    Policy, Priority, Queue, RecordId, Submission, Version, WorkerId,
};
use sqlx::sqlite::SqliteConnectOptions;

use super::*;

const OPERATION: OperationName = OperationName::from_static("book");
const VERSION: Version = Version::from_static("1");

/// An attempt, and a database of its own to act in.
struct Stage {
    directory: tempfile::TempDir,
    pool: SqlitePool,
    ctx: Context,
    runs: AtomicU32,
}

impl Stage {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let pool = open(&directory).await;
        crate::migrate_effects(&mut pool.acquire().await.unwrap()).await.unwrap();
        sqlx::raw_sql("CREATE TABLE bookings (id INTEGER PRIMARY KEY)").execute(&pool).await.unwrap();
        Self { directory, pool, ctx: attempt().await, runs: AtomicU32::new(0) }
    }

    async fn book(
        &self,
        commit: impl AsyncFnOnce(Transaction<'_, Sqlite>) -> Result<(), sqlx::Error>,
    ) -> Result<i64, OnceError> {
        let guard = EffectGuard::of(&self.ctx, "book").unwrap();
        let effect = async |tx: &mut SqliteConnection| {
            self.runs.fetch_add(1, Ordering::SeqCst);
            let insert = sqlx::query("INSERT INTO bookings DEFAULT VALUES").execute(tx).await?;
            Ok(insert.last_insert_rowid())
        };
        committing_by(&self.pool, &guard, effect, commit).await
    }

    /// Bookings, effects and runs, read as somebody else would.
    async fn seen(&self) -> (i64, i64, u32) {
        let counts = "SELECT (SELECT count(*) FROM bookings), (SELECT count(*) FROM ratchet_effects)";
        let pool = open(&self.directory).await;
        let (bookings, effects) = sqlx::query_as(counts).fetch_one(&pool).await.unwrap();
        (bookings, effects, self.runs.load(Ordering::SeqCst))
    }
}

async fn open(directory: &tempfile::TempDir) -> SqlitePool {
    let options = SqliteConnectOptions::new()
        .filename(directory.path().join("shop.db"))
        .create_if_missing(true)
        .busy_timeout(Duration::from_millis(50));
    SqlitePool::connect_with(options).await.unwrap()
}

async fn attempt() -> Context {
    let ledger = MemoryLedger::new();
    let submission = Submission {
        id: RecordId {
            namespace: Namespace::DEFAULT,
            operation: OPERATION,
            key: Key::parse("seat:7:book:v1").unwrap(),
            generation: Generation::FIRST,
        },
        version: VERSION,
        input: Payload::from_stored("null"),
        compared: None,
        policy: Policy::DEFAULT,
        contract: Contract::DATABASE.terms(),
        not_before: None,
        queue: Queue::DEFAULT,
        priority: Priority(0),
        group: None,
        after: None,
        renewal: None,
        trace: None,
    };
    ledger.submit(vec![submission]).await.unwrap();
    let claim = Claim {
        namespace: Namespace::DEFAULT,
        offers: vec![Offer {
            served: Served { operation: OPERATION, version: VERSION },
            queue: Queue::DEFAULT,
            at_most: None,
        }],
        worker: WorkerId::from_static("worker-1"),
        limit: 1,
        lease: Duration::from_mins(1),
        start_if_safe: true,
    };
    let record = ledger.claim(claim).await.unwrap().pop().unwrap();
    Context::of_leased(&record, Contract::DATABASE, ledger).unwrap()
}

fn cut() -> sqlx::Error {
    sqlx::Error::Io(std::io::Error::other("the connection was cut"))
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_is_found_by_reading_the_row() {
    let stage = Stage::new().await;
    let booked = stage.book(async |transaction| {
        transaction.commit().await?;
        Err(cut())
    });
    assert_eq!(booked.await.unwrap(), 1);
    assert_eq!(stage.seen().await, (1, 1, 1));
}

#[tokio::test]
async fn a_commit_that_did_not_take_effect_is_not_applied() {
    let stage = Stage::new().await;
    let booked = stage.book(async |transaction| {
        drop(transaction);
        Err(cut())
    });
    let error = booked.await.unwrap_err();
    assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::Store, OutcomeKind::NotApplied));
    assert_eq!(stage.seen().await, (0, 0, 1));
    assert_eq!(stage.book(async |transaction| transaction.commit().await).await.unwrap(), 1);
}

#[tokio::test]
async fn where_the_row_cannot_be_read_either_the_effect_is_unknown_and_the_next_attempt_reads_it() {
    let stage = Stage::new().await;
    let booked = stage.book(async |transaction| {
        transaction.commit().await?;
        drop(stage.pool.close());
        Err(cut())
    });
    let error = booked.await.unwrap_err();
    assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::CommitUnknown, OutcomeKind::Unknown));
    let unsent = stage.ctx.not_sent(Cause::new(CauseKind::Connect, "refused"));
    assert_eq!(unsent.outcome().kind(), OutcomeKind::Unknown);
    assert_eq!(stage.seen().await, (1, 1, 1));
    let pool = open(&stage.directory).await;
    let again = once(&pool, &stage.ctx, "book", async |_| Ok(0)).await;
    assert_eq!(again.unwrap(), 1);
}

#[tokio::test]
async fn a_lock_that_hides_the_row_leaves_the_effect_unknown() {
    let stage = Stage::new().await;
    let other = open(&stage.directory).await;
    let booked = stage.book(async |transaction| {
        transaction.commit().await?;
        std::mem::forget(other.begin_with("BEGIN IMMEDIATE").await?);
        Err(cut())
    });
    assert_eq!(booked.await.unwrap_err().kind(), OnceErrorKind::CommitUnknown);
}

#[tokio::test]
async fn a_call_that_is_dropped_at_its_commit_is_unknown_for_the_attempt() {
    let stage = Stage::new().await;
    let booked = stage.book(async |transaction| {
        transaction.commit().await?;
        std::future::pending().await
    });
    assert!(tokio::time::timeout(Duration::from_millis(200), booked).await.is_err());
    let unsent = stage.ctx.not_sent(Cause::new(CauseKind::Connect, "refused"));
    assert_eq!(unsent.outcome().kind(), OutcomeKind::Unknown);
}
