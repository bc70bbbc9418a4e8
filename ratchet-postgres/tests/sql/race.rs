//! Many callers of the functions and of the ledger, in transactions of all sorts.

use std::sync::Arc;

use ratchet_core::{Ledger as _, Submitted};
use ratchet_postgres::sqlx::{self, Connection as _, PgConnection};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::support::{POLICY, database, declared, refusal, submission, text};

const ENQUEUE: &str = "SELECT answer FROM ratchet.enqueue('collect_invoice', '1', $1::json)";

async fn enqueue(connection: &mut PgConnection, invoice: &str) -> Result<String, sqlx::Error> {
    let input = crate::support::input(invoice, 1).to_string();
    sqlx::query_scalar(ENQUEUE).bind(input).fetch_one(connection).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thirty_two_callers_in_two_languages_make_one_record() {
    let database = database().await;
    let ledger = declared(&database, POLICY).await;
    for round in 0..5 {
        let invoice = format!("inv_{round}");
        let mut racing = JoinSet::new();
        let start = Arc::new(Barrier::new(32));
        for _ in 0..16 {
            let (ledger, submission) = (Arc::clone(&ledger), submission("default", &invoice, 1));
            let ready = Arc::clone(&start);
            racing.spawn(async move {
                ready.wait().await;
                match ledger.submit(vec![submission]).await.expect("an answer").remove(0) {
                    Submitted::New { .. } => "new".to_owned(),
                    Submitted::Existing { .. } => "existing".to_owned(),
                    other => panic!("{other:?}"),
                }
            });
            let mut connection = database.connect().await;
            let (invoice, ready) = (invoice.clone(), Arc::clone(&start));
            racing.spawn(async move {
                ready.wait().await;
                enqueue(&mut connection, &invoice).await.expect("an answer")
            });
        }
        let answers = racing.join_all().await;
        let of = |word: &str| answers.iter().filter(|answer| *answer == word).count();
        assert_eq!((of("new"), of("existing")), (1, 31), "round {round}");
    }
    let mut connection = database.connect().await;
    let count = "SELECT concat(count(*), ' ', (SELECT count(*) FROM ratchet.progress)) FROM ratchet.records";
    assert_eq!(text(&mut connection, count).await.unwrap().as_deref(), Some("5 5"));
}

/// Whoever waits for a transaction that holds the key answers by how that ends.
#[tokio::test]
async fn a_caller_waits_for_the_transaction_that_holds_the_key() {
    let database = database().await;
    drop(declared(&database, POLICY).await);
    for (commits, expected) in [(true, "existing"), (false, "new")] {
        let invoice = format!("inv_{commits}");
        let mut first = database.connect().await;
        let mut transaction = first.begin().await.unwrap();
        assert_eq!(enqueue(&mut transaction, &invoice).await.unwrap(), "new");
        let mut second = database.connect().await;
        let waiting = tokio::spawn(async move { enqueue(&mut second, &invoice).await });
        until_somebody_waits(&mut database.connect().await).await;
        if commits {
            transaction.commit().await.unwrap();
        } else {
            transaction.rollback().await.unwrap();
        }
        assert_eq!(waiting.await.unwrap().unwrap(), expected);
    }
}

async fn until_somebody_waits(connection: &mut PgConnection) {
    let waiting = "SELECT count(*)::text FROM pg_locks WHERE NOT granted";
    while text(connection, waiting).await.unwrap().as_deref() == Some("0") {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_snapshot_sees_what_is_older_and_is_told_to_run_again_by_what_is_newer() {
    let database = database().await;
    let ledger = declared(&database, POLICY).await;
    let mut connection = database.connect().await;
    let _ = ledger.submit(vec![submission("default", "old", 1)]).await.unwrap();
    for isolation in ["REPEATABLE READ", "SERIALIZABLE"] {
        let begin = format!("BEGIN ISOLATION LEVEL {isolation}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(begin)).execute(&mut connection).await.unwrap();
        assert_eq!(enqueue(&mut connection, "old").await.unwrap(), "existing");
        let invoice = isolation.split_whitespace().next().unwrap();
        let _ = ledger.submit(vec![submission("default", invoice, 1)]).await.unwrap();
        let error = enqueue(&mut connection, invoice).await.unwrap_err();
        assert_eq!(refusal(&error).0, "40001", "{isolation}");
        sqlx::raw_sql("ROLLBACK").execute(&mut connection).await.unwrap();
        let own = format!("own{isolation}").replace(' ', "");
        sqlx::raw_sql("BEGIN ISOLATION LEVEL REPEATABLE READ").execute(&mut connection).await.unwrap();
        assert_eq!(enqueue(&mut connection, &own).await.unwrap(), "new");
        assert_eq!(enqueue(&mut connection, &own).await.unwrap(), "existing");
        sqlx::raw_sql("COMMIT").execute(&mut connection).await.unwrap();
    }
}
