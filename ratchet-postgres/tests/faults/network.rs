//! Load over a network that fails now and then.

use std::time::Duration;

use ratchet_core::LedgerError;
use ratchet_postgres::PostgresOptions;
use ratchet_test_postgres::{Fault, shared};
use tokio::time::timeout;

use crate::load::Load;
use crate::support::database;
use crate::ways::is_told_to_try_again;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_and_nothing_happens_twice_while_connections_fail() {
    let (database, proxy) = (database().await, shared().proxy().await);
    let mut ledgers = Vec::new();
    for _ in 0..2 {
        let options = PostgresOptions::new().answer_timeout(Duration::from_millis(500));
        let options = options.busy_timeout(Duration::from_millis(100));
        ledgers.push(options.open(&proxy.url(&database)).await.expect("a ledger"));
    }
    let load = Load::on(ledgers);
    let errors = load
        .while_there_is(async {
            for round in 0..3 {
                for fault in Fault::ALL {
                    proxy.fail_once(7 * round + 3, fault);
                    load.progresses().await;
                }
            }
            proxy.heal();
        })
        .await;
    assert!(errors.len() >= 3, "few noticed anything: {}", errors.len());
    errors.iter().for_each(is_told_to_try_again);
    assert!(errors.iter().any(|error| matches!(error, LedgerError::Store { .. })));
}

/// Whatever it was that was not answered: the start, the settings, the look at the tables.
#[tokio::test]
async fn a_connection_that_freezes_while_the_ledger_is_opened_is_given_up() {
    let (database, proxy) = (database().await, shared().proxy().await);
    drop(PostgresOptions::new().open(&database.url()).await.expect("tables"));
    let options = PostgresOptions::new().answer_timeout(Duration::from_millis(300));
    let options = options.busy_timeout(Duration::from_millis(100));
    let mut given_up = Vec::new();
    for exchange in 0.. {
        proxy.fail_once(exchange, Fault::FreezeBeforeAnswer);
        let opened = timeout(Duration::from_secs(10), options.clone().open(&proxy.url(&database))).await;
        match opened.expect("an answer in time") {
            Ok(_) => break,
            Err(LedgerError::Store { doing, .. }) => given_up.push(doing),
            Err(error) => panic!("{error}"),
        }
        proxy.heal();
    }
    given_up.dedup();
    assert_eq!(given_up, ["connect to the database", "read the version of its tables"]);
}
