//! Effects in the service's own database, and a process that dies around their COMMIT.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use ratchet::http::inbound::IdempotencyLayer;
use ratchet::ledger::SharedLedger;
use ratchet::sqlite::{SqliteOptions, once};
use ratchet::{Contract, Failure, RecordState};
use ratchet_core::time::ManualClock;
use sqlx::SqlitePool;
use tokio::sync::mpsc;

use super::service::{Answer, Call, Service, clock, plain, problem};

/// Where the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Death {
    BeforeCommit,
    AfterCommit,
    Never,
}

/// Charges once in the service's database, whose file holds the ledger too, and falls silent where it is to die.
#[derive(Clone)]
struct Charges {
    url: String,
    death: Death,
    reached: mpsc::UnboundedSender<()>,
}

impl Charges {
    async fn reach(&self, death: Death) {
        if self.death == death {
            self.reached.send(()).unwrap();
            pending::<()>().await;
        }
    }

    async fn answer(self, call: Call) -> Response {
        let pool = SqlitePool::connect_lazy(&self.url).unwrap();
        let ctx = call.ctx.unwrap();
        let charge = once(&pool, &ctx, "charge", async |tx| {
            let row =
                sqlx::query("INSERT INTO charges DEFAULT VALUES").execute(tx).await?.last_insert_rowid();
            self.reach(Death::BeforeCommit).await;
            Ok::<_, Failure>(row)
        });
        let charge = charge.await;
        self.reach(Death::AfterCommit).await;
        plain(201, format!("charge {}", charge.unwrap()))
    }
}

/// A service on the file; its runtime is the process.
async fn process(charges: Charges, clock: &Arc<ManualClock>, contract: Contract) -> Service {
    let (url, shared) = (charges.url.clone(), clock.clone());
    let open = async move {
        let ledger = SqliteOptions::new().clock(shared).open(&url).await.unwrap();
        let pool = SqlitePool::connect(&url).await.unwrap();
        sqlx::raw_sql("CREATE TABLE IF NOT EXISTS charges (id INTEGER PRIMARY KEY) STRICT")
            .execute(&pool)
            .await
            .unwrap();
        ledger as SharedLedger
    };
    let adjust = |layer: IdempotencyLayer| layer.clock(clock.clone()).destination(contract);
    Service::start(open, adjust, move |call| charges.clone().answer(call)).await
}

struct End {
    answer: Answer,
    again: Answer,
    executions: u32,
    rows: i64,
    state: RecordState,
}

/// Sends a request whose process dies, and the same one twice to the next process, after the lease is over.
async fn after(death: Death, contract: Contract) -> End {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}?mode=rwc", folder.path().join("shop.db").display());
    let (reached, mut dies) = mpsc::unbounded_channel();
    let charges = Charges { url: url.clone(), death, reached };
    let clock = clock();
    let mut first = process(charges.clone(), &clock, contract).await;
    let lost = tokio::spawn(first.post("k").send());
    dies.recv().await.unwrap();
    first.kill();
    assert!(lost.await.unwrap().is_err(), "the process died before it could answer");

    let next = process(Charges { death: Death::Never, ..charges }, &clock, contract).await;
    assert_eq!(next.charge("k").await.problem(), problem(409, "in-flight", "in_flight"));
    clock.advance(Duration::from_secs(31));
    let (answer, again) = (next.charge("k").await, next.charge("k").await);
    let pool = SqlitePool::connect(&url).await.unwrap();
    let rows = sqlx::query_scalar("SELECT count(*) FROM charges").fetch_one(&pool).await.unwrap();
    let state = next.record("k").await.state;
    End { answer, again, executions: next.executions(), rows, state }
}

#[tokio::test]
async fn requirement_17_an_effect_and_its_result_are_one_transaction() {
    for death in [Death::BeforeCommit, Death::AfterCommit] {
        let end = after(death, Contract::DATABASE).await;
        assert_eq!((end.answer.status, end.answer.text()), (201, "charge 1"), "{death:?}");
        assert!(!end.answer.is_replayed(), "{death:?}");
        assert_eq!((end.again.text(), end.again.is_replayed()), ("charge 1", true), "{death:?}");
        assert_eq!((end.rows, end.executions, end.state), (1, 1, RecordState::Succeeded), "{death:?}");
    }
}

/// Without the word that the database keeps the effects single, nobody may run it again.
#[tokio::test]
async fn an_effect_that_nobody_guards_stays_unknown() {
    let end = after(Death::AfterCommit, Contract::NONE).await;
    assert_eq!(end.answer.problem(), problem(409, "outcome-unknown", "unknown"));
    assert_eq!(end.again.problem(), problem(409, "outcome-unknown", "unknown"));
    assert_eq!((end.rows, end.executions, end.state), (1, 0, RecordState::Uncertain));
}
