//! A COMMIT whose answer is lost.

use std::sync::atomic::{AtomicU32, Ordering};

use ratchet_core::ledger::{Claim, Offer, Served};
use ratchet_core::{
    Contract, Generation, Key, Ledger as _, MemoryLedger, Namespace, OperationName, OutcomeKind, Payload,
    Policy, Priority, Queue, RecordId, Submission, Version, WorkerId,
};
use ratchet_test_postgres::{Database, Fault, Proxy, shared};
use sqlx::Connection as _;
use sqlx::postgres::PgPoolOptions;

use super::*;

const OPERATION: OperationName = OperationName::from_static("book");
const VERSION: Version = Version::from_static("1");
const SHORTLY: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(20);

/// An attempt, and a database of its own to act in, whose one connection can be cut.
struct Stage {
    database: Database<'static>,
    proxy: Proxy,
    pool: PgPool,
    ctx: Context,
    runs: AtomicU32,
}

impl Stage {
    async fn new() -> Self {
        Self::isolated("read committed").await
    }

    async fn isolated(isolation: &'static str) -> Self {
        let database = shared().database().await;
        let mut connection = database.connect().await;
        crate::migrate_effects(&mut connection).await.unwrap();
        let table = "CREATE TABLE bookings (id bigint GENERATED ALWAYS AS IDENTITY)";
        sqlx::raw_sql(table).execute(&mut connection).await.unwrap();
        let proxy = shared().proxy().await;
        let pool = PgPoolOptions::new().max_connections(1).after_connect(move |connection, _| {
            let setting = "SELECT set_config('default_transaction_isolation', $1, false)";
            Box::pin(async move { sqlx::query(setting).bind(isolation).execute(connection).await.map(drop) })
        });
        let pool = pool.connect(&proxy.url(&database)).await.unwrap();
        Self { database, proxy, pool, ctx: attempt().await, runs: AtomicU32::new(0) }
    }

    async fn book(&self, patience: Duration) -> Result<i64, OnceError> {
        let guard = EffectGuard::of(&self.ctx, "book").unwrap();
        let effect = async |tx: &mut PgConnection| {
            self.runs.fetch_add(1, Ordering::SeqCst);
            let insert = sqlx::query_scalar("INSERT INTO bookings DEFAULT VALUES RETURNING id");
            Ok(insert.fetch_one(tx).await?)
        };
        looking_back_for(patience, &self.pool, &guard, effect).await
    }

    /// Bookings, effects and runs, read as somebody else would.
    async fn seen(&self) -> (i64, i64, u32) {
        let counts = "SELECT (SELECT count(*) FROM bookings), (SELECT count(*) FROM ratchet.effects)";
        let (bookings, effects) =
            sqlx::query_as(counts).fetch_one(&mut self.database.connect().await).await.unwrap();
        (bookings, effects, self.runs.load(Ordering::SeqCst))
    }

    /// Returns once somebody waits for a lock.
    async fn waits(&self) {
        let waiting = "SELECT count(*) FROM pg_stat_activity \
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let mut connection = self.database.connect().await;
        let looks = async {
            while sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut connection).await.unwrap() == 0 {}
        };
        tokio::time::timeout(Duration::from_secs(10), looks).await.expect("somebody who waits");
    }

    /// What the attempt is told about something that it certainly did not send.
    fn unsent(&self) -> OutcomeKind {
        self.ctx.not_sent(Cause::new(CauseKind::Connect, "refused")).outcome().kind()
    }
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
        priority: Priority(0),
        queue: Queue::DEFAULT,
        group: None,
        after: None,
        renewal: None,
        trace: None,
    };
    ledger.submit(vec![submission]).await.unwrap();
    let claim = Claim {
        namespace: Namespace::DEFAULT,
        offers: vec![Offer::new(Served { operation: OPERATION, version: VERSION })],
        worker: WorkerId::from_static("worker-1"),
        limit: 1,
        lease: Duration::from_mins(1),
        start_if_safe: true,
    };
    let record = ledger.claim(claim).await.unwrap().pop().unwrap();
    Context::of_leased(&record, Contract::DATABASE, ledger).unwrap()
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_is_found_by_reading_the_row() {
    let stage = Stage::new().await;
    stage.proxy.fail_at("COMMIT", Fault::CutBeforeAnswer);
    assert_eq!(stage.book(LONG).await.unwrap(), 1);
    assert!(!stage.proxy.is_to_fail());
    assert_eq!(stage.seen().await, (1, 1, 1));
}

#[tokio::test]
async fn a_commit_that_did_not_arrive_is_not_applied() {
    let stage = Stage::new().await;
    stage.proxy.fail_at("COMMIT", Fault::CutBeforeRequest);
    let error = stage.book(LONG).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::Store, OutcomeKind::NotApplied));
    assert_eq!(stage.seen().await, (0, 0, 1));
    assert_eq!(stage.book(LONG).await.unwrap(), 2);
}

#[tokio::test]
async fn a_commit_that_arrives_while_the_row_is_read_is_found() {
    for isolation in ["read committed", "serializable"] {
        let stage = Stage::isolated(isolation).await;
        stage.proxy.fail_at("COMMIT", Fault::CutAndDeliverLater);
        let (booked, ()) = tokio::join!(stage.book(LONG), async {
            stage.waits().await;
            stage.proxy.heal();
        });
        assert_eq!(booked.unwrap(), 1, "{isolation}");
        assert_eq!(stage.seen().await, (1, 1, 1));
    }
}

#[tokio::test]
async fn a_transaction_that_stays_open_is_unknown_and_the_next_attempt_reads_the_row() {
    let stage = Stage::new().await;
    stage.proxy.fail_at("COMMIT", Fault::CutAndDeliverLater);
    let error = stage.book(SHORTLY).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::CommitUnknown, OutcomeKind::Unknown));
    assert_eq!(stage.unsent(), OutcomeKind::Unknown);
    stage.proxy.heal();
    // Waits for it.
    assert_eq!(stage.book(LONG).await.unwrap(), 1);
    assert_eq!(stage.seen().await, (1, 1, 1));
}

#[tokio::test]
async fn where_there_is_no_connection_to_read_the_row_the_effect_is_unknown() {
    let stage = Stage::new().await;
    stage.proxy.fail_at("COMMIT", Fault::CutBeforeAnswer);
    let guard = EffectGuard::of(&stage.ctx, "book").unwrap();
    let booked = looking_back_for(SHORTLY, &stage.pool, &guard, async |_| {
        drop(stage.pool.close());
        Ok(1)
    });
    let error = booked.await.unwrap_err();
    assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::CommitUnknown, OutcomeKind::Unknown));
}

#[tokio::test]
async fn a_call_that_is_dropped_at_its_commit_is_unknown_for_the_attempt() {
    let stage = Stage::new().await;
    stage.proxy.fail_at("COMMIT", Fault::CutAndDeliverLater);
    let hanging = async {
        tokio::select! {
            biased;
            _ = stage.book(LONG) => panic!("the transaction stays open"),
            () = stage.waits() => {}
        }
    };
    hanging.await;
    assert_eq!(stage.unsent(), OutcomeKind::Unknown);
}

#[tokio::test]
async fn a_commit_that_was_refused_needs_no_look() {
    let stage = Stage::new().await;
    let deferred = "ALTER TABLE bookings ADD seat int UNIQUE DEFERRABLE INITIALLY DEFERRED";
    sqlx::raw_sql(deferred).execute(&mut stage.database.connect().await).await.unwrap();
    let guard = EffectGuard::of(&stage.ctx, "book").unwrap();
    let booked = looking_back_for(SHORTLY, &stage.pool, &guard, async |tx| {
        drop(stage.pool.close());
        sqlx::query("INSERT INTO bookings (seat) VALUES (1), (1)").execute(tx).await?;
        Ok(1)
    });
    let error = booked.await.unwrap_err();
    assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::Store, OutcomeKind::NotApplied));
}

#[tokio::test]
async fn a_server_that_ends_the_connection_at_the_commit_is_asked_again() {
    let stage = Stage::new().await;
    let mut other = stage.database.connect().await;
    let end = "CREATE FUNCTION ends() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
            PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$; \
        CREATE CONSTRAINT TRIGGER ends AFTER INSERT ON bookings DEFERRABLE INITIALLY DEFERRED \
            FOR EACH ROW EXECUTE FUNCTION ends()";
    sqlx::raw_sql(end).execute(&mut other).await.unwrap();
    let error = stage.book(LONG).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::Store, OutcomeKind::NotApplied));
    assert_eq!(stage.seen().await, (0, 0, 1));
    other.close().await.unwrap();
}
