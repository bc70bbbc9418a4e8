//! Opening: good and bad places, what is kept, what is refused.

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{all, claim, id, open, other_connection, payload, settle, submit, submit_new, url};
use ratchet_core::decide::Stored;
use ratchet_core::ledger::Declaration;
use ratchet_core::{Ledger as _, LedgerError, Outcome, State, Submitted, Version};
use ratchet_sqlite::SqliteLedger;
use sqlx::Connection as _;

async fn refused(url: &str) -> LedgerError {
    SqliteLedger::open(url).await.expect_err("an error")
}

#[tokio::test]
async fn a_wrong_address_is_told_in_words() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().display();
    let cases = [
        ("postgres://localhost/shop".to_owned(), "does not start with `sqlite:`"),
        ("sqlite::memory:".to_owned(), "use `MemoryLedger`"),
        ("sqlite://:memory:".to_owned(), "use `MemoryLedger`"),
        ("sqlite:shop.db?mode=memory".to_owned(), "use `MemoryLedger`"),
        ("sqlite:".to_owned(), "names no file"),
        ("sqlite:shop.db?journal=off".to_owned(), "only the parameters"),
        (format!("sqlite://{place}"), "is a directory"),
        (format!("sqlite://{place}/missing/shop.db"), "directory does not exist"),
        (format!("sqlite://{place}/shop.db?mode=rw"), "the file does not exist"),
    ];
    for (url, why) in cases {
        match refused(&url).await {
            LedgerError::Address { url: told, why: text } => {
                assert_eq!(told, url);
                assert!(text.contains(why), "{url}: {text}");
            }
            other => panic!("{url}: {other:?}"),
        }
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_damaged_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ledger.db");
    let text = "these are notes, and no database at all. ".repeat(100);
    std::fs::write(&file, &text).unwrap();
    let error = refused(&url(directory.path())).await;
    assert!(matches!(error, LedgerError::Damaged { .. }), "{error:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[tokio::test]
async fn a_reopened_ledger_holds_everything() {
    let directory = tempfile::tempdir().unwrap();
    let template = Declaration::new(common::OPERATION, Version::from_static("1"), "invoice:<id>:collect:v1");
    let ledger = open(directory.path()).await;
    ledger.declare(vec![template.clone()]).await.unwrap();
    submit_new(&ledger, "a").await;
    submit_new(&ledger, "b").await;
    let leased = claim(&ledger, 1).await.remove(0);
    settle(&ledger, &leased, Outcome::done(payload("paid"))).await;
    let (records, attempts) = (all(&ledger).await, ledger.attempts(id("a")).await.unwrap());
    assert_eq!(records[0].state, State::Succeeded);
    assert_eq!(attempts.len(), 1);
    drop(ledger);

    let ledger = open(directory.path()).await;
    assert_eq!(all(&ledger).await, records);
    assert_eq!(ledger.attempts(id("a")).await.unwrap(), attempts);
    let told = submit(&ledger, "a").await.unwrap();
    let Submitted::Existing { result, .. } = told else { panic!("{told:?}") };
    assert_eq!(result, Some(payload("paid")));
    let changed = Declaration { template: "invoice:<no>:v1".to_owned(), ..template };
    let error = ledger.declare(vec![changed]).await.unwrap_err();
    assert!(matches!(error, LedgerError::TemplateChanged { .. }), "{error:?}");
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()).await);
    let mut connection = other_connection(directory.path()).await;
    let newer = sqlx::query("UPDATE ratchet_schema SET version = 7");
    newer.execute(&mut connection).await.unwrap();
    let error = refused(&url(directory.path())).await;
    assert!(matches!(error, LedgerError::NewerSchema { found: 7, known: 6 }), "{error:?}");
    let error = ratchet_sqlite::migrate(&mut connection).await.unwrap_err();
    assert!(matches!(error, LedgerError::NewerSchema { found: 7, known: 6 }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_programs_may_open_a_new_database_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let url = Arc::new(url(directory.path()));
    let opening: Vec<_> = (0..8)
        .map(|_| {
            let url = Arc::clone(&url);
            tokio::spawn(async move { SqliteLedger::open(&url).await })
        })
        .collect();
    let mut ledgers = Vec::new();
    for one in opening {
        ledgers.push(one.await.unwrap().expect("a ledger"));
    }
    submit_new(&ledgers[0], "a").await;
    assert_eq!(claim(&ledgers[7], 10).await.len(), 1);
}

async fn applied_twice(directory: &Path) -> i64 {
    let mut connection = other_connection(directory).await;
    ratchet_sqlite::migrate(&mut connection).await.unwrap();
    ratchet_sqlite::migrate(&mut connection).await.unwrap();
    sqlx::query_scalar("SELECT count(*) FROM ratchet_schema").fetch_one(&mut connection).await.unwrap()
}

#[tokio::test]
async fn the_tables_are_made_once() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(applied_twice(directory.path()).await, 1);
}

#[tokio::test]
async fn a_read_only_ledger_reads_and_refuses_to_write() {
    let directory = tempfile::tempdir().unwrap();
    let writable = open(directory.path()).await;
    submit_new(&writable, "a").await;
    let ledger = SqliteLedger::open(&format!("{}?mode=ro", url(directory.path()))).await.unwrap();
    let found = ledger.find(id("a")).await.unwrap();
    assert!(matches!(found, Some(Stored::Record(_))), "{found:?}");
    for _ in 0..2 {
        let error = submit(&ledger, "b").await.unwrap_err();
        assert!(matches!(error, LedgerError::ReadOnly), "{error:?}");
    }
    assert_eq!(all(&writable).await.len(), 1);
}

#[tokio::test]
async fn a_read_only_database_without_our_tables_cannot_become_a_ledger() {
    let directory = tempfile::tempdir().unwrap();
    let mut connection = other_connection(directory.path()).await;
    sqlx::query("CREATE TABLE invoices (id TEXT)").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let error = refused(&format!("{}?mode=ro", url(directory.path()))).await;
    assert!(matches!(error, LedgerError::ReadOnly), "{error:?}");
}
