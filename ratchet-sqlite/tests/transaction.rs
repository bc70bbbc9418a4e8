//! Submitting inside the caller's own transaction.

mod common;

use std::path::Path;
use std::time::Duration;

use common::{all, claim, id, open, other_connection, payload, settle, submission, submit, submit_new};
use ratchet_core::decide::Stored;
use ratchet_core::{
    After, Branch, Conflict, Ledger as _, LedgerError, Outcome, Submission, Submitted, Timestamp,
};
use ratchet_sqlite::{submit_in, submit_in_at};
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteConnectOptions;

async fn users_pool(directory: &Path) -> SqlitePool {
    let options = SqliteConnectOptions::new()
        .filename(directory.join("ledger.db"))
        .create_if_missing(true)
        .busy_timeout(Duration::from_millis(50));
    let pool = SqlitePool::connect_with(options).await.expect("a pool");
    let table = sqlx::query("CREATE TABLE IF NOT EXISTS invoices (id TEXT PRIMARY KEY)");
    table.execute(&pool).await.expect("a table");
    pool
}

#[tokio::test]
async fn the_record_exists_if_and_only_if_the_transaction_commits() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    let pool = users_pool(directory.path()).await;
    for (invoice, commits) in [("kept", true), ("dropped", false)] {
        let mut transaction = pool.begin().await.unwrap();
        let row = sqlx::query("INSERT INTO invoices VALUES (?1)").bind(invoice);
        row.execute(&mut *transaction).await.unwrap();
        let told = submit_in(&mut transaction, &submission(invoice)).await.unwrap();
        assert_eq!(told, Submitted::New { id: id(invoice) });
        assert!(all(&ledger).await.iter().all(|record| record.id != id(invoice)), "not before the commit");
        if commits {
            transaction.commit().await.unwrap();
        } else {
            transaction.rollback().await.unwrap();
        }
    }
    let leased = claim(&ledger, 10).await;
    assert_eq!(leased.len(), 1);
    assert_eq!(leased[0].id, id("kept"));
    let invoices: i64 = sqlx::query_scalar("SELECT count(*) FROM invoices").fetch_one(&pool).await.unwrap();
    assert_eq!(invoices, 1);
}

#[tokio::test]
async fn it_answers_as_the_ledger_does() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    let pool = users_pool(directory.path()).await;
    submit_new(&ledger, "a").await;
    let ledger_says = submit(&ledger, "a").await.unwrap();
    let mut transaction = pool.begin().await.unwrap();
    let told = submit_in(&mut transaction, &submission("a")).await.unwrap();
    assert_eq!(told, ledger_says);
    let other = Submission { input: payload("other"), ..submission("a") };
    let told = submit_in(&mut transaction, &other).await.unwrap();
    assert_eq!(told, Submitted::Conflict(Conflict::OtherInput));
    transaction.commit().await.unwrap();
}

/// Whoever submits in a transaction of its own decides nothing, as a process that dies after the predecessor's end.
#[tokio::test]
async fn followers_that_nobody_decided_about_are_found_a_few_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    submit_new(&ledger, "first").await;
    let leased = claim(&ledger, 1).await.remove(0);
    settle(&ledger, &leased, Outcome::done(payload("paid"))).await;
    let pool = users_pool(directory.path()).await;
    let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    for name in ["a", "b", "c", "d", "e"] {
        let after = Some(After { id: id("first"), on: Branch::Succeeded });
        let told = submit_in(&mut transaction, &Submission { after, ..submission(name) }).await.unwrap();
        assert_eq!(told, Submitted::New { id: id(name) });
    }
    transaction.commit().await.unwrap();
    assert!(claim(&ledger, 10).await.is_empty());
    for decided in [2, 2, 1, 0] {
        assert_eq!(ledger.follow(2).await.unwrap().decided, decided);
    }
    assert_eq!(claim(&ledger, 10).await.len(), 5);
}

#[tokio::test]
async fn the_moment_may_be_the_callers() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    let pool = users_pool(directory.path()).await;
    let now = Timestamp::from_millis(1_768_464_000_000);
    let mut transaction = pool.begin().await.unwrap();
    let _ = submit_in_at(&mut transaction, &submission("a"), now).await.unwrap();
    transaction.commit().await.unwrap();
    let Some(Stored::Record(record)) = ledger.find(id("a")).await.unwrap() else { panic!("no record") };
    assert_eq!((record.created_at, record.ready_at), (now, now));
}

#[tokio::test]
async fn a_transaction_that_read_before_another_wrote_is_told_that_it_is_busy() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    let pool = users_pool(directory.path()).await;
    let mut transaction = pool.begin().await.unwrap();
    let _: i64 =
        sqlx::query_scalar("SELECT count(*) FROM invoices").fetch_one(&mut *transaction).await.unwrap();
    submit_new(&ledger, "between").await;
    let error = submit_in(&mut transaction, &submission("a")).await.unwrap_err();
    assert!(matches!(error, LedgerError::Busy { .. }), "{error:?}");
    transaction.rollback().await.unwrap();

    // One that submits first takes its turn, whatever was written before.
    let mut transaction = pool.begin().await.unwrap();
    submit_new(&ledger, "once_more").await;
    let told = submit_in(&mut transaction, &submission("a")).await.unwrap();
    assert!(matches!(told, Submitted::New { .. }), "{told:?}");
    transaction.commit().await.unwrap();
    assert_eq!(all(&ledger).await.len(), 3);
}

#[tokio::test]
async fn a_database_without_our_tables_is_told_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let pool = users_pool(directory.path()).await;
    let mut transaction = pool.begin().await.unwrap();
    sqlx::query("INSERT INTO invoices VALUES ('a')").execute(&mut *transaction).await.unwrap();
    let error = submit_in(&mut transaction, &submission("a")).await.unwrap_err();
    assert!(matches!(error, LedgerError::NoSchema), "{error:?}");
    transaction.commit().await.unwrap();
    let invoices: i64 = sqlx::query_scalar("SELECT count(*) FROM invoices").fetch_one(&pool).await.unwrap();
    assert_eq!(invoices, 1, "the caller's own work is not lost");
}

#[tokio::test]
async fn a_bare_connection_is_a_transaction_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    let mut connection = other_connection(directory.path()).await;
    let told = submit_in(&mut connection, &submission("a")).await.unwrap();
    assert!(matches!(told, Submitted::New { .. }), "{told:?}");
    assert_eq!(all(&ledger).await.len(), 1);
    submit_new(&ledger, "b").await;
}

#[tokio::test]
async fn a_submission_that_comes_first_waits_for_its_turn() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    let pool = users_pool(directory.path()).await;
    let mut other = other_connection(directory.path()).await;
    let writes = "BEGIN IMMEDIATE; INSERT INTO invoices VALUES ('theirs')";
    sqlx::raw_sql(writes).execute(&mut other).await.unwrap();

    let mut transaction = pool.begin().await.unwrap();
    let patience = sqlx::query("PRAGMA busy_timeout = 5000");
    patience.execute(&mut *transaction).await.unwrap();
    let ours = submission("a");
    // No signal tells that SQLite waits. If it is too slow to wait in time, the test passes for another reason.
    let commits = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        sqlx::raw_sql("COMMIT").execute(&mut other).await
    };
    let (told, committed) = tokio::join!(submit_in(&mut transaction, &ours), commits);
    committed.unwrap();
    assert!(matches!(told, Ok(Submitted::New { .. })), "{told:?}");
    transaction.commit().await.unwrap();
    assert_eq!(all(&ledger).await.len(), 1);
}
