//! Connections that are cut and servers that die: what was acknowledged is there, and callers may ask again.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratchet_core::decide::Stored;
use ratchet_core::{Ledger as _, LedgerError, RecordId, State, Submitted};
use ratchet_postgres::PostgresLedger;
use ratchet_test_postgres::Server;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::support::{all, claim, database, execute, id, open, settle, submit, submit_new};

/// Ends every connection to the database but the one that says so.
const CUT: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
    WHERE datname = current_database() AND pid <> pg_backend_pid()";

fn is_told_to_try_again(error: &LedgerError) {
    assert!(matches!(error, LedgerError::Store { .. } | LedgerError::Busy { .. }), "{error:?}");
    assert!(error.is_transient());
}

/// Enqueues until it is stopped, each action until it is acknowledged.
async fn produce(ledger: Arc<PostgresLedger>, name: usize, stop: Arc<AtomicBool>) -> (Vec<RecordId>, usize) {
    let (mut acknowledged, mut errors) = (Vec::new(), 0);
    while !stop.load(Ordering::Relaxed) {
        let invoice = format!("{name}.{}", acknowledged.len());
        match submit(&ledger, &invoice).await {
            // The first try may have been committed, and its answer lost.
            Ok(Submitted::New { id } | Submitted::Existing { id, .. }) => acknowledged.push(id),
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                is_told_to_try_again(&error);
                errors += 1;
                sleep(Duration::from_millis(5)).await;
            }
        }
    }
    (acknowledged, errors)
}

/// Claims and settles until it is stopped, each record until its end is acknowledged.
async fn consume(ledger: Arc<PostgresLedger>, stop: Arc<AtomicBool>) -> Vec<RecordId> {
    let mut settled = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let leased = match ledger.claim(crate::support::claim_of(5)).await {
            Ok(leased) => leased,
            Err(error) => {
                is_told_to_try_again(&error);
                Vec::new()
            }
        };
        if leased.is_empty() {
            sleep(Duration::from_millis(5)).await;
        }
        for record in leased {
            while let Err(error) = settle(&ledger, &record).await {
                is_told_to_try_again(&error);
                sleep(Duration::from_millis(5)).await;
            }
            settled.push(record.id);
        }
    }
    settled
}

/// Runs producers and consumers while `disturbs` happens; then everything that was acknowledged is as it was told.
async fn nothing_is_lost_while(ledgers: [Arc<PostgresLedger>; 2], disturbs: impl Future<Output = ()>) {
    let stop = Arc::new(AtomicBool::new(false));
    let (mut producing, mut consuming) = (JoinSet::new(), JoinSet::new());
    for name in 0..8 {
        producing.spawn(produce(Arc::clone(&ledgers[name % 2]), name, Arc::clone(&stop)));
    }
    for ledger in &ledgers {
        consuming.spawn(consume(Arc::clone(ledger), Arc::clone(&stop)));
    }
    disturbs.await;
    stop.store(true, Ordering::Relaxed);
    let (mut acknowledged, mut errors) = (Vec::new(), 0);
    for (ids, failures) in producing.join_all().await {
        acknowledged.extend(ids);
        errors += failures;
    }
    let settled: Vec<RecordId> = consuming.join_all().await.into_iter().flatten().collect();
    assert!(errors > 0, "nobody noticed anything");
    assert!(!acknowledged.is_empty() && !settled.is_empty());
    assert_eq!(settled.iter().collect::<HashSet<_>>().len(), settled.len(), "a record was settled twice");
    let records = all(&ledgers[0]).await;
    let there: HashSet<&RecordId> = records.iter().map(|record| &record.id).collect();
    assert!(acknowledged.iter().all(|id| there.contains(id)), "an acknowledged record is gone");
    let done: HashSet<&RecordId> =
        records.iter().filter(|record| record.state == State::Succeeded).map(|record| &record.id).collect();
    assert!(settled.iter().all(|id| done.contains(id)), "an acknowledged end is gone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn connections_that_are_cut_lose_nothing_that_was_acknowledged() {
    let database = database().await;
    let ledgers = [open(&database).await, open(&database).await];
    let mut connection = database.connect().await;
    nothing_is_lost_while(ledgers, async {
        for _ in 0..20 {
            sleep(Duration::from_millis(50)).await;
            execute(&mut connection, CUT).await;
        }
        sleep(Duration::from_millis(200)).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_dies_under_load_loses_nothing_that_was_acknowledged() {
    let server = Server::start();
    let database = server.database().await;
    let ledgers = [open(&database).await, open(&database).await];
    nothing_is_lost_while(ledgers, async {
        for _ in 0..3 {
            sleep(Duration::from_millis(300)).await;
            tokio::task::block_in_place(|| {
                server.kill();
                server.resume();
            });
        }
        sleep(Duration::from_millis(500)).await;
    })
    .await;
}

#[tokio::test]
async fn reads_go_on_after_a_cut() {
    let database = database().await;
    let ledger = open(&database).await;
    submit_new(&ledger, "a").await;
    let mut connection = database.connect().await;
    for _ in 0..3 {
        let (one, other) = tokio::join!(ledger.find(id("a")), ledger.find(id("a")));
        assert!(matches!((one.unwrap(), other.unwrap()), (Some(Stored::Record(_)), Some(_))));
        execute(&mut connection, CUT).await;
    }
    assert_eq!(ledger.expire(10).await.unwrap(), 0);
}

#[tokio::test]
async fn a_ledger_that_rested_works_after_a_cut() {
    let database = database().await;
    let ledger = open(&database).await;
    submit_new(&ledger, "a").await;
    assert_eq!(claim(&ledger, 1).await.len(), 1);
    execute(&mut database.connect().await, CUT).await;
    sleep(Duration::from_secs(6)).await;
    submit_new(&ledger, "b").await;
    assert_eq!(claim(&ledger, 1).await.len(), 1);
}

#[tokio::test]
async fn a_database_that_became_read_only_says_so_and_recovers() {
    let database = database().await;
    let ledger = open(&database).await;
    let mut connection = database.connect().await;
    execute(
        &mut connection,
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', \
         current_database()); END $$",
    )
    .await;
    execute(&mut connection, CUT).await;
    let told = async {
        loop {
            match submit(&ledger, "a").await {
                Err(LedgerError::ReadOnly) => return,
                Err(error) => is_told_to_try_again(&error),
                Ok(answer) => panic!("{answer:?}"),
            }
        }
    };
    timeout(Duration::from_secs(10), told).await.expect("the reason");
    execute(
        &mut connection,
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET default_transaction_read_only', \
         current_database()); END $$",
    )
    .await;
    submit_new(&ledger, "a").await;
}
