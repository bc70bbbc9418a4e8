//! Servers that can only be read: a database set so, and a failover to a standby that is promoted later.

use std::error::Error as _;

use ratchet_core::{Ledger as _, LedgerError};
use ratchet_postgres::{PostgresLedger, sqlx};
use ratchet_test_postgres::{Fault, Proxy, Server};
use tokio::task::block_in_place;

use crate::load::Load;
use crate::support::{database, execute, id, open};

fn is_read_only(error: &LedgerError) -> bool {
    matches!(error, LedgerError::ReadOnly)
}

/// Every error is one that a caller can do something about.
fn are_clear(errors: &[LedgerError]) {
    for error in errors {
        assert!(error.is_transient() || is_read_only(error), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_read_only_for_a_while_loses_nothing() {
    let database = database().await;
    let ledger = open(&database).await;
    let load = Load::on(vec![ledger.clone(), open(&database).await]);
    let mut admin = database.connect().await;
    let name: String =
        sqlx::query_scalar("SELECT current_database()").fetch_one(&mut admin).await.expect("a name");
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let errors = load
        .while_there_is(async {
            load.progresses().await;
            let only_read = format!("ALTER DATABASE {name} SET default_transaction_read_only = on");
            execute(&mut admin, &only_read).await;
            execute(&mut admin, cut).await;
            load.tells(is_read_only).await;
            let refused = ledger.expire(1).await.expect_err("it can only be read");
            assert!(is_read_only(&refused), "{refused:?}");
            execute(&mut admin, &format!("ALTER DATABASE {name} RESET default_transaction_read_only")).await;
            load.progresses().await;
        })
        .await;
    are_clear(&errors);
    for _ in 0..8 {
        let ended = ledger.expire(1).await;
        assert_eq!(ended.expect("no connection stays as it was made meanwhile"), 0);
    }
}

/// The standby has what was acknowledged, since commits waited for it. Connections that believe in the old server end with
/// it, and those to the standby are not kept once it said that it can only be read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_to_a_standby_loses_nothing_and_goes_on_when_it_is_promoted() {
    let primary = Server::start();
    let database = primary.database().await;
    let proxy = primary.proxy().await;
    drop(open(&database).await);
    let standby = block_in_place(|| primary.start_standby());
    let mut ledgers = Vec::new();
    for _ in 0..2 {
        ledgers.push(PostgresLedger::open(&proxy.url(&database)).await.expect("a ledger"));
    }
    let reader = ledgers[0].clone();
    let load = Load::on(ledgers);
    let errors = load
        .while_there_is(async {
            load.progresses().await;
            proxy.lead_to(&standby);
            proxy.fail_always(Fault::CutBeforeRequest);
            load.tells(|error| matches!(error, LedgerError::Store { .. })).await;
            proxy.heal();
            load.tells(is_read_only).await;
            reader.find(id("0.0")).await.expect("a standby can be read");
            let opened = PostgresLedger::open(&proxy.url(&database)).await;
            drop(opened.expect("a standby whose tables are up to date can be opened"));
            block_in_place(|| {
                primary.kill();
                standby.promote();
            });
            load.progresses().await;
        })
        .await;
    are_clear(&errors);
}

/// The address names both servers: nothing is read from the one that follows, and all parts of a ledger find the one that was
/// promoted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_with_several_hosts_uses_the_primary_alone_and_follows_the_next_one() {
    let primary = Server::start();
    let database = primary.database().await;
    drop(open(&database).await);
    let standby = block_in_place(|| primary.start_standby());
    let ways = [standby.proxy().await, primary.proxy().await];
    let url = Proxy::url_of(&ways, &database);
    let ledger = PostgresLedger::open(&url).await.expect("the primary is found behind the standby");
    let reader = ledger.clone();
    let load = Load::on(vec![ledger, PostgresLedger::open(&url).await.expect("a ledger")]);
    let errors = load
        .while_there_is(async {
            load.progresses().await;
            block_in_place(|| primary.kill());
            load.tells(|error| matches!(error, LedgerError::Store { .. })).await;
            let only_follower = PostgresLedger::open(&url).await.expect_err("no primary");
            let why = only_follower.source().map(ToString::to_string).unwrap_or_default();
            assert!(only_follower.is_transient() && why.contains("is the primary"), "{why}");
            let unread = reader.find(id("0.0")).await.expect_err("a standby is not read");
            assert!(unread.is_transient(), "{unread:?}");
            block_in_place(|| standby.promote());
            load.progresses().await;
        })
        .await;
    assert!(errors.iter().all(LedgerError::is_transient), "{errors:?}");
}
