use std::time::Duration;

use ratchet_core::decide::Stored;
use ratchet_core::ledger::desk::Logged;
use ratchet_core::ledger::{Offer, Order, Served};
use ratchet_core::random::SystemRandom;
use ratchet_core::time::ManualClock;
use ratchet_core::{
    Contract, Generation, Key, Ledger as _, Namespace, Policy, Submission, TraceParent, WorkerId,
};
use ratchet_test_postgres::Database;
use sqlx::{AssertSqlSafe, Row as _};

use super::*;
use crate::session::Connector;
use crate::{PostgresLedger, PostgresOptions};

const OPERATION: OperationName = OperationName::from_static("collect");
const VERSION: Version = Version::from_static("1");
const NOW: Timestamp = Timestamp::from_millis(1_768_464_000_000);

fn submission(key: &str) -> Submission {
    let (namespace, key) = (Namespace::DEFAULT, Key::parse(key).unwrap());
    Submission {
        id: RecordId { namespace, operation: OPERATION, key, generation: Generation::FIRST },
        version: VERSION,
        input: Payload::from_stored("{\"cents\":4200}"),
        compared: None,
        policy: Policy::DEFAULT,
        contract: Contract::header("Idempotency-Key").terms(),
        not_before: None,
        queue: Queue::DEFAULT,
        priority: Priority(0),
        group: None,
        after: None,
        renewal: None,
        trace: None,
    }
}

fn claim(limit: usize, start_if_safe: bool) -> Claim {
    Claim {
        namespace: Namespace::DEFAULT,
        offers: vec![Offer::new(Served { operation: OPERATION, version: VERSION })],
        worker: WorkerId::from_static("w"),
        limit,
        lease: Duration::from_mins(1),
        start_if_safe,
    }
}

/// A ledger with one record that was leased, and what is known from that.
struct Busy<'a> {
    database: Database<'a>,
    ledger: Arc<PostgresLedger>,
    connection: PgConnection,
    sources: Sources,
    fresh: Fresh,
    leased: Record,
}

impl Busy<'_> {
    async fn start(start_if_safe: bool) -> Self {
        let database = ratchet_test_postgres::shared().database().await;
        let clock = ManualClock::at(NOW);
        let ledger = PostgresOptions::new().clock(clock.clone()).open(&database.url()).await.unwrap();
        let connector = Connector {
            options: database.url().parse().unwrap(),
            lock_timeout: Duration::from_secs(1),
            answer_timeout: Duration::from_secs(10),
        };
        let connection = connector.connect().await.unwrap();
        let _ = ledger.submit(vec![submission("invoice:first")]).await.unwrap();
        let wish = claim(1, start_if_safe);
        let leased = ledger.claim(wish.clone()).await.unwrap();
        let fresh = Fresh::default();
        fresh.learn(&wish, &leased).unwrap();
        let sources =
            Sources { clock: Some(clock), random: SystemRandom::shared(), logged: Logged::default() };
        let leased = leased.into_iter().next().unwrap();
        Self { database, ledger, connection, sources, fresh, leased }
    }

    async fn submit(&self, submissions: Vec<Submission>) {
        let _ = self.ledger.submit(submissions).await.unwrap();
    }

    async fn lease(&mut self, limit: usize, start_if_safe: bool) -> Vec<Record> {
        let wish = claim(limit, start_if_safe);
        let first = self.fresh.lease(&mut self.connection, &wish, &self.sources).await.unwrap();
        first.expect("it is busy").leased.into_iter().map(|leased| leased.record).collect()
    }

    async fn execute(&mut self, statement: &str) {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut self.connection).await.unwrap();
    }

    async fn rows(&mut self) -> Vec<String> {
        const ROWS: &str = "SELECT to_jsonb(p)::text FROM ratchet.progress AS p ORDER BY record_id";
        let rows = sqlx::query(ROWS).fetch_all(&mut self.connection).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }
}

fn keys(records: &[Record]) -> Vec<&str> {
    records.iter().map(|record| record.id.key.as_str()).collect()
}

#[tokio::test]
async fn what_is_written_at_once_is_what_was_decided_about_the_first() {
    for start_if_safe in [true, false] {
        let mut busy = Busy::start(start_if_safe).await;
        let traced = TraceParent::new(1, 2, 1);
        busy.submit(vec![Submission { trace: traced, ..submission("invoice:second") }]).await;
        let leased = busy.lease(10, start_if_safe).await;
        let expected = Record { id: submission("invoice:second").id, trace: traced, ..busy.leased.clone() };
        assert!(traced.is_some());
        assert_eq!(leased, std::slice::from_ref(&expected));
        let found = busy.ledger.find(expected.id.clone()).await.unwrap().unwrap();
        assert_eq!(found, Stored::Record(Box::new(expected)));
        let [first, second] = &busy.rows().await[..] else { panic!("two rows") };
        assert_eq!(first.replace("\"record_id\": 1", "\"record_id\": 2"), *second);
    }
}

#[tokio::test]
async fn what_has_to_be_decided_about_first_is_passed_by() {
    let mut busy = Busy::start(true).await;
    let strange = Submission { contract: Contract::NONE.terms(), ..submission("invoice:strange") };
    let patient = Policy { timeout: Policy::DEFAULT.timeout * 2, ..Policy::DEFAULT };
    let patient = Submission { policy: patient, ..submission("invoice:patient") };
    let (tried, warned) = (submission("invoice:tried"), submission("invoice:warned"));
    busy.submit(vec![tried, warned, strange, patient, submission("invoice:fresh")]).await;
    busy.execute("UPDATE ratchet.progress SET token = 1, attempt_token = 1 WHERE record_id = 2").await;
    busy.execute("UPDATE ratchet.progress SET cancel_requested = true WHERE record_id = 3").await;
    assert_eq!(keys(&busy.lease(10, true).await), ["invoice:fresh"]);
    assert_eq!(busy.lease(10, true).await, []);
}

#[tokio::test]
async fn a_damaged_row_is_left_as_it_was() {
    let mut busy = Busy::start(true).await;
    busy.submit(["invoice:broken", "invoice:sound"].map(submission).to_vec()).await;
    busy.execute("UPDATE ratchet.records SET fingerprint = 'short' WHERE id = 2").await;
    let before = busy.rows().await;
    assert_eq!(keys(&busy.lease(10, true).await), ["invoice:sound"]);
    assert_eq!(busy.rows().await[1], before[1]);
}

#[tokio::test]
async fn a_claim_that_found_less_than_it_wanted_looks_before_the_next() {
    let mut busy = Busy::start(true).await;
    busy.submit(vec![submission("invoice:second")]).await;
    busy.fresh.learn(&claim(2, true), std::slice::from_ref(&busy.leased)).unwrap();
    let first = busy.fresh.lease(&mut busy.connection, &claim(1, true), &busy.sources).await.unwrap();
    assert!(first.is_none());
}

/// What was leased in one statement is known to the ledger, which ends it without a look.
#[tokio::test]
async fn a_busy_ledger_leases_and_ends_everything_once() {
    let busy = Busy::start(true).await;
    let many: Vec<String> = (10..50).map(|number| format!("invoice:{number}")).collect();
    busy.submit(many.iter().map(|key| submission(key)).collect()).await;
    let mut done = Vec::new();
    while done.len() < many.len() {
        let leased = busy.ledger.claim(claim(8, true)).await.unwrap();
        assert_eq!(leased.len(), 8);
        let settle = |record: &Record| Order {
            id: record.id.clone(),
            command: Command::Settle {
                token: record.token,
                outcome: ratchet_core::Outcome::done(Payload::from_stored("1")),
            },
        };
        let settled = busy.ledger.apply(leased.iter().map(settle).collect()).await.unwrap();
        assert!(settled.iter().all(|told| *told == Ok(Answer::Settled(State::Succeeded))), "{settled:?}");
        done.extend(leased.into_iter().map(|record| record.id.key.as_str().to_owned()));
    }
    assert_eq!(done, many);
    drop(busy.database);
}

/// Every step goes straight to its part of an index, whatever was settled before.
#[tokio::test]
async fn a_lease_seeks_and_reads_no_whole_table() {
    let mut busy = Busy::start(true).await;
    let prepare = format!(
        "PREPARE lease(text, text[], text[], text[], bigint, bigint, bigint, text, text[], text[], boolean[]) AS {LEASE}"
    );
    busy.execute(&prepare).await;
    let explain = "EXPLAIN EXECUTE lease('default', '{default}', '{a}', '{1}', NULL, 10, 60000, 'w', '{p}', '{c}', '{t}')";
    let plan = sqlx::raw_sql(explain).fetch_all(&mut busy.connection).await.unwrap();
    let plan = plan.iter().map(|row| row.get::<String, _>(0)).collect::<Vec<_>>().join("\n");
    assert!(plan.matches("using progress_pending on progress").count() >= 3, "{plan}");
    assert!(plan.contains("Index Cond: (id = p") && plan.contains("TID Cond"), "{plan}");
    for reads_all in ["Seq Scan", "Bitmap", "Hash Join", "Merge Join"] {
        assert!(!plan.contains(reads_all), "{plan}");
    }
}
