//! Time limits of roles, statements that are cancelled, and locks of others.

use std::time::Duration;

use ratchet_core::decide::{Answer, Command};
use ratchet_core::ledger::Order;
use ratchet_core::{Ledger as _, LedgerError, State, Submitted};
use ratchet_postgres::sqlx::PgConnection;
use ratchet_postgres::{PostgresLedger, PostgresOptions, sqlx, submit_in};
use tokio::time::{sleep, timeout};

use crate::load::Load;
use crate::support::{all, claim, database, execute, id, open, settle, submission, submit, submit_new};

const SOON: Duration = Duration::from_secs(20);

/// Every insert of this key takes so long.
async fn slow_down(owner: &mut PgConnection, key: &str, seconds: f64) {
    let slow = format!(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
            IF NEW.key LIKE '%{key}%' THEN PERFORM pg_sleep({seconds}); END IF; RETURN NEW; END $$; \
         CREATE TRIGGER slow BEFORE INSERT ON ratchet.records FOR EACH ROW EXECUTE FUNCTION slow()"
    );
    execute(owner, &slow).await;
}

/// Limits that are meant for the queries of a web application do not end the ledger's transactions, each of which serves
/// many callers. The ledger sets its own.
#[tokio::test]
async fn limits_of_a_role_do_not_reach_the_ledger() {
    let database = database().await;
    let mut owner = database.connect().await;
    let hasty = "CREATE ROLE hasty SUPERUSER LOGIN; ALTER ROLE hasty SET statement_timeout = '500ms'; \
        ALTER ROLE hasty SET lock_timeout = '1ms'; ALTER ROLE hasty SET idle_session_timeout = '300ms'; \
        ALTER ROLE hasty SET idle_in_transaction_session_timeout = '300ms'";
    execute(&mut owner, hasty).await;
    let ledger = PostgresLedger::open(&database.url_as("hasty")).await.unwrap();
    slow_down(&mut owner, "slow", 0.8).await;
    submit_new(&ledger, "slow").await;
    sleep(Duration::from_millis(600)).await;
    assert_eq!(claim(&ledger, 1).await.len(), 1);
    submit_new(&ledger, "b").await;
}

/// What nobody waits for any more does not go on in the server.
#[tokio::test]
async fn the_server_gives_up_what_the_ledger_has_given_up() {
    let database = database().await;
    let mut owner = database.connect().await;
    let options = PostgresOptions::new().answer_timeout(Duration::from_millis(500));
    let ledger = options.busy_timeout(Duration::from_millis(100)).open(&database.url()).await.unwrap();
    slow_down(&mut owner, "slow", 60.0).await;
    let error =
        timeout(SOON, submit(&ledger, "slow")).await.expect("an answer in time").expect_err("a limit");
    assert!(matches!(error, LedgerError::Store { doing: "insert records", .. }), "{error:?}");
    assert!(error.is_transient());
    let active = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
        AND state <> 'idle' AND pid <> pg_backend_pid()";
    let ended = async {
        while sqlx::query_scalar::<_, i64>(active).fetch_one(&mut owner).await.unwrap() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, ended).await.expect("the server stops too");
    submit_new(&ledger, "quick").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_that_are_cancelled_are_told_and_done_again() {
    let database = database().await;
    let load = Load::on(vec![open(&database).await, open(&database).await]);
    let mut admin = database.connect().await;
    let cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity \
        WHERE datname = current_database() AND application_name = 'ratchet' AND state = 'active'";
    let cancelled = |error: &LedgerError| matches!(error, LedgerError::Store { .. }) && error.is_transient();
    let errors = load
        .while_there_is(async {
            load.progresses().await;
            let cancels = async {
                loop {
                    execute(&mut admin, cancel).await;
                    sleep(Duration::from_millis(3)).await;
                }
            };
            tokio::select! {
                () = cancels => {}
                () = load.tells(cancelled) => {}
            }
            load.progresses().await;
        })
        .await;
    assert!(errors.iter().all(cancelled), "{errors:?}");
}

/// A transaction of the caller's has the caller's limits, and errors of their kind.
#[tokio::test]
async fn limits_of_a_callers_transaction_are_told_by_their_kind() {
    let database = database().await;
    let ledger = open(&database).await;
    let (mut owner, mut other) = (database.connect().await, database.connect().await);
    slow_down(&mut owner, "slow", 60.0).await;
    execute(&mut owner, "BEGIN").await;
    let _ = submit_in(&mut owner, &submission("held")).await.unwrap();

    execute(&mut other, "SET lock_timeout = '50ms'; BEGIN").await;
    let error = submit_in(&mut other, &submission("held")).await.unwrap_err();
    assert!(matches!(error, LedgerError::Busy { .. }), "{error:?}");
    execute(&mut other, "SET LOCAL statement_timeout = '50ms'").await;
    let error = submit_in(&mut other, &submission("slow")).await.unwrap_err();
    assert!(matches!(error, LedgerError::Store { doing: "insert records", .. }), "{error:?}");
    execute(&mut other, "SET LOCAL statement_timeout = 0").await;
    let told = submit_in(&mut other, &submission("free")).await.unwrap();
    assert!(matches!(told, Submitted::New { .. }), "the transaction goes on: {told:?}");
    execute(&mut other, "COMMIT").await;

    execute(&mut other, "SET idle_in_transaction_session_timeout = '50ms'; BEGIN").await;
    sleep(Duration::from_millis(300)).await;
    let error = submit_in(&mut other, &submission("late")).await.unwrap_err();
    assert!(matches!(error, LedgerError::Store { .. }) && error.is_transient(), "{error:?}");
    execute(&mut owner, "ROLLBACK").await;
    assert_eq!(all(&ledger).await.iter().map(|record| &record.id).collect::<Vec<_>>(), [&id("free")]);
}

/// Whoever needs a row that a transaction of somebody else's holds waits beside the lane, and is told in the end.
#[tokio::test]
async fn a_long_transaction_that_holds_records_stops_nobody_else() {
    let database = database().await;
    let options = PostgresOptions::new().busy_timeout(Duration::from_secs(2));
    let ledger = options.open(&database.url()).await.unwrap();
    for invoice in ["held", "b", "c"] {
        submit_new(&ledger, invoice).await;
    }
    let held = claim(&ledger, 1).await.remove(0);
    let mut other = database.connect().await;
    execute(&mut other, "BEGIN; SELECT FROM ratchet.progress WHERE state = 'running' FOR UPDATE").await;
    let settles = settle(&ledger, &held);
    let others = async {
        let mut settled = 0;
        for record in claim(&ledger, 10).await {
            assert_eq!(settle(&ledger, &record).await.unwrap(), Answer::Settled(State::Succeeded));
            settled += 1;
        }
        settled
    };
    tokio::pin!(settles);
    let settled = tokio::select! {
        biased;
        told = &mut settles => panic!("the others wait for it: {told:?}"),
        settled = others => settled,
    };
    assert_eq!(settled, 2);
    let error = settles.await.expect_err("a lock");
    assert!(matches!(error, LedgerError::Busy { waited } if waited == Duration::from_secs(2)), "{error:?}");
    execute(&mut other, "ROLLBACK").await;
    let renew = Command::Renew { token: held.token, duration: Duration::from_mins(1) };
    let renewed = ledger.apply(vec![Order { id: held.id.clone(), command: renew }]).await.unwrap();
    assert!(matches!(renewed[..], [Ok(Answer::Renewed { .. })]), "{renewed:?}");
    assert_eq!(settle(&ledger, &held).await.unwrap(), Answer::Settled(State::Succeeded));
}
