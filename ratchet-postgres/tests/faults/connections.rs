//! A server that has no connection left, and a role that may have few.

use std::error::Error as _;

use ratchet_core::LedgerError;
use ratchet_postgres::PostgresLedger;
use ratchet_postgres::sqlx::{Connection as _, PgConnection};
use ratchet_test_postgres::Server;
use tokio::time::sleep;

use crate::load::{A_MOMENT, Load};
use crate::support::{database, execute, open, submit};

/// Ends the connections of the ledgers, which then need new ones.
const CUT: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
    WHERE datname = current_database() AND application_name = 'ratchet'";

/// PostgreSQL's own words for it.
fn says_that_it_is_full(error: &LedgerError) -> bool {
    let reason = error.source().map(ToString::to_string).unwrap_or_default();
    error.is_transient() && (reason.contains("too many c") || reason.contains("remaining connection slots"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_says_so_and_the_work_goes_on_when_there_is_room() {
    let server = Server::start_with("max_connections = 24");
    let database = server.database().await;
    let ledgers = vec![open(&database).await, open(&database).await];
    let mut admin = database.connect().await;
    let load = Load::on(ledgers);
    load.while_there_is(async {
        load.progresses().await;
        let mut others = Vec::new();
        // Whatever becomes free is taken by others.
        for _ in 0..30 {
            execute(&mut admin, CUT).await;
            while let Ok(other) = PgConnection::connect(&database.url()).await {
                others.push(other);
            }
        }
        load.tells(says_that_it_is_full).await;
        let refused = PostgresLedger::open(&database.url()).await.expect_err("a full server");
        assert!(says_that_it_is_full(&refused), "{refused:?}");
        for other in others {
            let _ = other.close().await;
        }
        load.progresses().await;
    })
    .await;
}

/// Every part of a ledger that finds no connection says so; the parts that have theirs go on.
#[tokio::test]
async fn a_role_with_few_connections_is_told_which_limit_it_met() {
    let database = database().await;
    let mut owner = database.connect().await;
    drop(open(&database).await);
    execute(&mut owner, "CREATE ROLE modest LOGIN").await;
    execute(&mut owner, &include_str!("../../grants.sql").replace("app", "modest")).await;
    let ledger = PostgresLedger::open(&database.url_as("modest")).await.unwrap();
    execute(&mut owner, "ALTER ROLE modest CONNECTION LIMIT 0").await;
    let error = submit(&ledger, "a").await.expect_err("a limit");
    assert!(says_that_it_is_full(&error), "{error:?}");
    execute(&mut owner, "ALTER ROLE modest CONNECTION LIMIT 4").await;
    while submit(&ledger, "a").await.is_err() {
        sleep(A_MOMENT).await;
    }
    drop(ledger);
    execute(&mut owner, "DROP OWNED BY modest; DROP ROLE modest").await;
}
