//! Submitting inside the caller's own transaction.

use ratchet_core::decide::Stored;
use ratchet_core::{
    After, Branch, Conflict, Ledger as _, LedgerError, Record, Submission, Submitted, Timestamp,
};
use ratchet_postgres::sqlx::{self, Connection as _, PgConnection};
use ratchet_postgres::{submit_in, submit_in_at};

use crate::support::{
    all, claim, database, execute, id, open, payload, settle, submission, submit, submit_new,
};

async fn invoices(connection: &mut PgConnection) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM invoices").fetch_one(connection).await.unwrap()
}

#[tokio::test]
async fn the_record_exists_if_and_only_if_the_transaction_commits() {
    let database = database().await;
    let ledger = open(&database).await;
    let mut connection = database.connect().await;
    execute(&mut connection, "CREATE TABLE invoices (id text PRIMARY KEY)").await;
    for (invoice, commits) in [("kept", true), ("dropped", false)] {
        let mut transaction = connection.begin().await.unwrap();
        execute(&mut transaction, &format!("INSERT INTO invoices VALUES ('{invoice}')")).await;
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
    assert_eq!(leased.iter().map(|record| &record.id).collect::<Vec<_>>(), [&id("kept")]);
    assert_eq!(invoices(&mut connection).await, 1);
    submit_new(&ledger, "dropped").await;
}

#[tokio::test]
async fn it_answers_as_the_ledger_does() {
    let database = database().await;
    let ledger = open(&database).await;
    let mut connection = database.connect().await;
    submit_new(&ledger, "a").await;
    let ledger_says = submit(&ledger, "a").await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    assert_eq!(submit_in(&mut transaction, &submission("a")).await.unwrap(), ledger_says);
    let other = Submission { input: payload("other"), ..submission("a") };
    let told = submit_in(&mut transaction, &other).await.unwrap();
    assert_eq!(told, Submitted::Conflict(Conflict::OtherInput));
    transaction.commit().await.unwrap();
}

/// Whoever submits in a transaction of its own decides nothing, as a process that dies after the predecessor's end.
#[tokio::test]
async fn followers_that_nobody_decided_about_are_found_a_few_at_a_time() {
    let database = database().await;
    let ledger = open(&database).await;
    submit_new(&ledger, "first").await;
    let leased = claim(&ledger, 1).await.remove(0);
    settle(&ledger, &leased).await.unwrap();
    let mut connection = database.connect().await;
    let mut transaction = connection.begin().await.unwrap();
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

/// Many that still have to wait stand in front of one that need not, in a look and beside the end of its predecessor.
#[tokio::test]
async fn followers_that_have_to_wait_hide_no_other() {
    let database = database().await;
    let ledger = open(&database).await;
    let after = |before: &str, name: &str| Submission {
        after: Some(After { id: id(before), on: Branch::Succeeded }),
        ..submission(name)
    };
    submit_new(&ledger, "ended").await;
    let leased = claim(&ledger, 1).await.remove(0);
    settle(&ledger, &leased).await.unwrap();
    submit_new(&ledger, "a").await;
    let waiting = (0..300).map(|number| after("a", &format!("waits_{number}"))).collect();
    let _ = ledger.submit(waiting).await.unwrap();
    let _ = ledger.submit(vec![after("a", "waits"), after("ended", "due")]).await.unwrap();
    let keys = |records: Vec<Record>| records.into_iter().map(|record| record.id.key).collect::<Vec<_>>();
    assert_eq!(keys(claim(&ledger, 10).await), [id("a").key, id("due").key]);

    let mut connection = database.connect().await;
    let told = submit_in(&mut connection, &after("ended", "later")).await.unwrap();
    assert_eq!(told, Submitted::New { id: id("later") });
    let mut decided = 0;
    loop {
        let looked = ledger.follow(10).await.unwrap();
        decided += looked.decided;
        if !looked.has_more() {
            break;
        }
    }
    assert_eq!(decided, 1);
    assert_eq!(keys(claim(&ledger, 10).await), [id("later").key]);
}

#[tokio::test]
async fn a_transaction_sees_what_it_submitted_before() {
    let database = database().await;
    open(&database).await;
    let mut connection = database.connect().await;
    let mut transaction = connection.begin().await.unwrap();
    let first = submit_in(&mut transaction, &submission("a")).await.unwrap();
    let second = submit_in(&mut transaction, &submission("a")).await.unwrap();
    assert!(matches!((&first, &second), (Submitted::New { .. }, Submitted::Existing { .. })), "{second:?}");
}

#[tokio::test]
async fn the_moment_may_be_the_callers() {
    let database = database().await;
    let ledger = open(&database).await;
    let mut connection = database.connect().await;
    let now = Timestamp::from_millis(1_768_464_000_000);
    let _ = submit_in_at(&mut connection, &submission("a"), now).await.unwrap();
    let Some(Stored::Record(record)) = ledger.find(id("a")).await.unwrap() else { panic!("no record") };
    assert_eq!((record.created_at, record.ready_at), (now, now));
}

#[tokio::test]
async fn a_database_without_our_tables_is_told_and_goes_on() {
    let database = database().await;
    let mut connection = database.connect().await;
    execute(&mut connection, "CREATE TABLE invoices (id text PRIMARY KEY)").await;
    let mut transaction = connection.begin().await.unwrap();
    execute(&mut transaction, "INSERT INTO invoices VALUES ('a')").await;
    let error = submit_in(&mut transaction, &submission("a")).await.unwrap_err();
    assert!(matches!(error, LedgerError::NoSchema), "{error:?}");
    transaction.commit().await.unwrap();
    assert_eq!(invoices(&mut connection).await, 1, "the caller's own work is not lost");
}

#[tokio::test]
async fn a_bare_connection_is_a_transaction_of_its_own() {
    let database = database().await;
    let ledger = open(&database).await;
    let mut connection = database.connect().await;
    let told = submit_in(&mut connection, &submission("a")).await.unwrap();
    assert!(matches!(told, Submitted::New { .. }), "{told:?}");
    assert_eq!(all(&ledger).await.len(), 1);
}

#[tokio::test]
async fn a_transaction_begun_by_a_plain_statement_stays_the_callers() {
    let database = database().await;
    let ledger = open(&database).await;
    let mut connection = database.connect().await;
    execute(&mut connection, "BEGIN").await;
    let _ = submit_in(&mut connection, &submission("a")).await.unwrap();
    assert_eq!(all(&ledger).await, []);
    execute(&mut connection, "ROLLBACK").await;
    assert_eq!(all(&ledger).await, []);
}

#[tokio::test]
async fn a_snapshot_that_is_too_old_is_told_and_made_no_second_record() {
    let database = database().await;
    let ledger = open(&database).await;
    let mut connection = database.connect().await;
    for isolation in ["REPEATABLE READ", "SERIALIZABLE"] {
        execute(&mut connection, &format!("BEGIN ISOLATION LEVEL {isolation}; SELECT FROM ratchet.schema"))
            .await;
        submit_new(&ledger, isolation.split_whitespace().next().unwrap()).await;
        let late = submission(isolation.split_whitespace().next().unwrap());
        let error = submit_in(&mut connection, &late).await.unwrap_err();
        assert!(matches!(error, LedgerError::Busy { .. }), "{isolation}: {error:?}");
        execute(&mut connection, "ROLLBACK").await;
    }
    assert_eq!(all(&ledger).await.len(), 2);
}
