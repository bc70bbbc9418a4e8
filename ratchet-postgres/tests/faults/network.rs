//! Load over a network that fails now and then.

use std::time::Duration;

use ratchet_core::LedgerError;
use ratchet_postgres::PostgresOptions;
use ratchet_test_postgres::{Fault, shared};

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
