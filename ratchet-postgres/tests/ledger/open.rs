//! Opening: good and bad places, several starters, roles, what is kept and what is refused.

use ratchet_core::decide::Stored;
use ratchet_core::{Ledger as _, LedgerError, State};
use ratchet_postgres::{PostgresLedger, migrate};
use tokio::task::JoinSet;

use crate::support::{all, claim, database, execute, id, open, settle, submit_new};

async fn refused(url: &str) -> LedgerError {
    PostgresLedger::open(url).await.expect_err("an error")
}

#[tokio::test]
async fn a_wrong_address_is_told_in_words_and_without_its_password() {
    for (url, told, why) in [
        ("sqlite:shop.db", "sqlite:shop.db", "does not start with `postgres://`"),
        (
            "postgres://ada:secret@localhost:port/shop",
            "postgres://…@localhost:port/shop",
            "no address of the form",
        ),
        (
            "postgres://ada:secret@one:5432,two:port/shop",
            "postgres://…@one:5432,two:port/shop",
            "no address of the form",
        ),
        (
            "postgres://ada:secret@one:5432,two:5432/shop?target_session_attrs=standby",
            "postgres://…@one:5432,two:5432/shop",
            "read from the primary alone",
        ),
    ] {
        match refused(url).await {
            LedgerError::Address { url, why: text } => {
                assert_eq!(url, told);
                assert!(text.contains(why), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
    let nobody = refused("postgres://ada:secret@127.0.0.1:1/shop").await;
    assert!(matches!(nobody, LedgerError::Store { doing: "connect to the database", .. }), "{nobody:?}");
    assert!(nobody.is_transient() && !format!("{nobody:?}").contains("secret"));
}

#[tokio::test]
async fn a_database_that_lacks_characters_is_refused() {
    let server = ratchet_test_postgres::shared();
    let database = database().await;
    let mut connection = database.connect().await;
    let make = "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0";
    execute(&mut connection, make).await;
    let error = refused(&server.url("latin")).await;
    let LedgerError::Address { why, .. } = &error else { panic!("{error:?}") };
    assert!(why.contains("LATIN1"), "{why}");
}

#[tokio::test]
async fn a_reopened_ledger_holds_everything() {
    let database = database().await;
    let ledger = open(&database).await;
    submit_new(&ledger, "a").await;
    submit_new(&ledger, "b").await;
    let leased = claim(&ledger, 1).await.remove(0);
    settle(&ledger, &leased).await.unwrap();
    let (records, attempts) = (all(&ledger).await, ledger.attempts(id("a")).await.unwrap());
    assert_eq!((records[0].state, records[1].state), (State::Succeeded, State::Pending));
    drop(ledger);
    let ledger = open(&database).await;
    assert_eq!(all(&ledger).await, records);
    assert_eq!(ledger.attempts(id("a")).await.unwrap(), attempts);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn programs_that_start_together_make_the_tables_once() {
    let database = database().await;
    let mut starting = JoinSet::new();
    for number in 0..8 {
        let url = database.url();
        starting.spawn(async move {
            let ledger = PostgresLedger::open(&url).await.expect("a ledger");
            submit_new(&ledger, &format!("inv_{number}")).await;
        });
    }
    starting.join_all().await;
    assert_eq!(all(&*open(&database).await).await.len(), 8);
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_alone() {
    let database = database().await;
    drop(open(&database).await);
    let mut connection = database.connect().await;
    execute(&mut connection, "UPDATE ratchet.schema SET version = 10").await;
    for error in [refused(&database.url()).await, migrate(&mut connection).await.unwrap_err()] {
        assert!(matches!(error, LedgerError::NewerSchema { found: 10, known: 9 }), "{error:?}");
    }
}

#[tokio::test]
async fn a_role_with_the_documented_rights_can_do_everything() {
    let database = database().await;
    let mut owner = database.connect().await;
    execute(&mut owner, "CREATE ROLE app LOGIN").await;
    let before = refused(&database.url_as("app")).await;
    assert!(matches!(before, LedgerError::NoSchema), "{before:?}");
    migrate(&mut owner).await.unwrap();
    execute(&mut owner, include_str!("../../grants.sql")).await;

    let ledger = PostgresLedger::open(&database.url_as("app")).await.unwrap();
    submit_new(&ledger, "a").await;
    let leased = claim(&ledger, 1).await.remove(0);
    settle(&ledger, &leased).await.unwrap();
    ledger.declare(Vec::new()).await.unwrap();
    assert_eq!(ledger.expire(10).await.unwrap(), 0);
    execute(&mut owner, "UPDATE ratchet.progress SET purge_at = 0").await;
    assert_eq!(ledger.purge(10).await.unwrap(), 1);
    let found = ledger.find(id("a")).await.unwrap();
    assert!(matches!(found, Some(Stored::Tombstone(_))), "{found:?}");
    execute(&mut owner, "DROP OWNED BY app; DROP ROLE app").await;
}

#[tokio::test]
async fn settings_of_a_role_do_not_weaken_the_ledger() {
    let database = database().await;
    let mut owner = database.connect().await;
    let careless = "CREATE ROLE careless SUPERUSER LOGIN; ALTER ROLE careless SET synchronous_commit = off; \
        ALTER ROLE careless SET default_transaction_isolation = serializable";
    execute(&mut owner, careless).await;
    let ledger = PostgresLedger::open(&database.url_as("careless")).await.unwrap();
    let spy = "CREATE TABLE seen (setting text); \
        CREATE FUNCTION spy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
            INSERT INTO seen VALUES (current_setting('synchronous_commit')), (current_setting('transaction_isolation')); \
            RETURN NEW; END $$; \
        CREATE TRIGGER spy AFTER INSERT ON ratchet.records FOR EACH ROW EXECUTE FUNCTION spy()";
    execute(&mut owner, spy).await;
    submit_new(&ledger, "a").await;
    let seen: Vec<String> = ratchet_postgres::sqlx::query_scalar("SELECT setting FROM seen ORDER BY setting")
        .fetch_all(&mut owner)
        .await
        .unwrap();
    assert_eq!(seen, ["on", "read committed"]);
}
