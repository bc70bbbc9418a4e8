//! Workers of other programs wake when something may be due, and only then.

use std::time::Duration;

use ratchet_core::Ledger as _;
use ratchet_core::decide::Command;
use ratchet_core::ledger::Order;
use ratchet_postgres::PostgresLedger;
use ratchet_postgres::sqlx::Connection as _;
use ratchet_postgres::submit_in;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::support::{claim, database, execute, id, open, settle, submission, submit, submit_new};

const SOON: Duration = Duration::from_secs(10);

/// Long enough for a notification that must not come.
const A_WHILE: Duration = Duration::from_millis(300);

/// Somebody who sleeps, and listens by now: the first wake-up says so.
async fn sleeper(ledger: &PostgresLedger) -> watch::Receiver<u64> {
    let mut sleeper = ledger.wakeups();
    timeout(SOON, sleeper.changed()).await.expect("a listener").expect("the ledger lives");
    sleeper
}

async fn wakes(sleeper: &mut watch::Receiver<u64>, why: &str) {
    timeout(SOON, sleeper.changed()).await.unwrap_or_else(|_| panic!("{why}: nobody woke")).unwrap();
    sleep(A_WHILE).await;
    sleeper.mark_unchanged();
}

async fn sleeps_on(sleeper: &mut watch::Receiver<u64>, why: &str) {
    assert!(timeout(A_WHILE, sleeper.changed()).await.is_err(), "{why}: somebody woke");
}

#[tokio::test]
async fn what_another_program_makes_due_wakes_a_worker() {
    let database = database().await;
    let (asleep, busy) = (open(&database).await, open(&database).await);
    let mut sleeper = sleeper(&asleep).await;
    submit_new(&busy, "a").await;
    wakes(&mut sleeper, "a new record").await;
    for invoice in ["b", "c", "d"] {
        submit_new(&busy, invoice).await;
    }
    wakes(&mut sleeper, "several in a row").await;
    let _ = submit(&busy, "a").await.unwrap();
    sleeps_on(&mut sleeper, "a duplicate").await;
    let leased = claim(&busy, 1).await.remove(0);
    settle(&busy, &leased).await.unwrap();
    sleeps_on(&mut sleeper, "a claim and an end").await;
    let replay = Command::Replay {
        by: "ada".to_owned(),
        reason: "a test".to_owned(),
        accept_risk: false,
        at_most: None,
        seen: None,
    };
    busy.apply(vec![Order { id: id("a"), command: replay }]).await.unwrap().remove(0).unwrap_err();
    sleeps_on(&mut sleeper, "a refusal").await;
    for command in [
        Command::Cancel { by: "ada".to_owned(), reason: "a test".to_owned(), seen: None },
        Command::Replay {
            by: "ada".to_owned(),
            reason: "a test".to_owned(),
            accept_risk: false,
            at_most: None,
            seen: None,
        },
    ] {
        busy.apply(vec![Order { id: id("b"), command }]).await.unwrap().remove(0).unwrap();
    }
    wakes(&mut sleeper, "a replay").await;
}

#[tokio::test]
async fn the_last_of_many_records_is_told_too() {
    let database = database().await;
    let (asleep, busy) = (open(&database).await, open(&database).await);
    let mut sleeper = sleeper(&asleep).await;
    for number in 0..50 {
        sleeper.mark_unchanged();
        submit_new(&busy, &format!("inv_{number}")).await;
    }
    timeout(SOON, sleeper.changed()).await.expect("told of the last ones").unwrap();
}

#[tokio::test]
async fn a_commit_of_a_users_transaction_wakes_a_worker_and_a_rollback_does_not() {
    let database = database().await;
    let ledger = open(&database).await;
    let mut sleeper = sleeper(&ledger).await;
    let mut connection = database.connect().await;
    let mut transaction = connection.begin().await.unwrap();
    let _ = submit_in(&mut transaction, &submission("a")).await.unwrap();
    sleeps_on(&mut sleeper, "before the commit").await;
    transaction.rollback().await.unwrap();
    sleeps_on(&mut sleeper, "a rollback").await;
    let mut transaction = connection.begin().await.unwrap();
    let _ = submit_in(&mut transaction, &submission("a")).await.unwrap();
    transaction.commit().await.unwrap();
    wakes(&mut sleeper, "a commit").await;
}

#[tokio::test]
async fn a_listener_that_was_cut_off_listens_again() {
    let database = database().await;
    let (asleep, busy) = (open(&database).await, open(&database).await);
    let mut sleeper = sleeper(&asleep).await;
    let mut connection = database.connect().await;
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    execute(&mut connection, cut).await;
    // What happened meanwhile may have been missed, so it wakes once it listens again.
    wakes(&mut sleeper, "listening again").await;
    submit_new(&busy, "a").await;
    wakes(&mut sleeper, "a new record").await;
}
