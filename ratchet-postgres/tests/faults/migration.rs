//! Tables of the next release beside programs of this one.

use ratchet_core::{Ledger as _, LedgerError};
use ratchet_postgres::sqlx::Connection as _;
use ratchet_postgres::{PostgresLedger, migrate};

use crate::load::Load;
use crate::support::{claim, database, execute, id, open, settle, submit_new};

/// What a next release may do: add columns with defaults, tables and indexes. It renames and removes nothing.
const NEXT: &str = "BEGIN; \
    SELECT pg_advisory_xact_lock(x'72617463686574'::bigint); \
    ALTER TABLE ratchet.records ADD COLUMN note text; \
    ALTER TABLE ratchet.progress ADD COLUMN shard bigint NOT NULL DEFAULT 0; \
    ALTER TABLE ratchet.attempts ADD COLUMN host text; \
    ALTER TABLE ratchet.audit ADD COLUMN host text; \
    ALTER TABLE ratchet.steps ADD COLUMN host text; \
    CREATE TABLE ratchet.shards (id bigint PRIMARY KEY); \
    CREATE INDEX progress_shard ON ratchet.progress (shard) WHERE state = 'pending'; \
    UPDATE ratchet.schema SET version = version + 1; \
    COMMIT";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_of_this_release_go_on_while_the_next_one_updates_the_tables() {
    let database = database().await;
    let load = Load::on(vec![open(&database).await, open(&database).await]);
    let mut next = database.connect().await;
    let errors = load
        .while_there_is(async {
            load.progresses().await;
            execute(&mut next, NEXT).await;
            load.progresses().await;
        })
        .await;
    for error in &errors {
        assert!(error.is_transient(), "{error:?}");
    }
    let refused = PostgresLedger::open(&database.url()).await.expect_err("a newer schema");
    assert!(matches!(refused, LedgerError::NewerSchema { found: 10, known: 9 }), "{refused:?}");
    let refused = migrate(&mut next).await.expect_err("a newer schema");
    assert!(matches!(refused, LedgerError::NewerSchema { found: 10, known: 9 }), "{refused:?}");
}

/// Statements that were prepared before the change are used after it.
#[tokio::test]
async fn no_call_fails_because_a_column_was_added() {
    let database = database().await;
    let ledger = open(&database).await;
    for round in ["before", "after"] {
        submit_new(&ledger, round).await;
        let leased = claim(&ledger, 1).await.remove(0);
        settle(&ledger, &leased).await.unwrap();
        assert!(ledger.find(id(round)).await.unwrap().is_some());
        assert_eq!(ledger.attempts(id(round)).await.unwrap().len(), 1);
        assert!(ledger.audit(id(round)).await.unwrap().is_empty());
        assert_eq!(ledger.expire(1).await.unwrap(), 0);
        assert_eq!(ledger.purge(1).await.unwrap(), 0);
        if round == "before" {
            execute(&mut database.connect().await, NEXT).await;
        }
    }
}

/// Whoever comes second waits for the first to be done with all of it, and then finds everything in place.
#[tokio::test]
async fn a_program_that_opens_the_ledger_waits_for_one_that_makes_the_tables() {
    let database = database().await;
    let mut first = database.connect().await;
    let mut making = first.begin().await.unwrap();
    migrate(&mut making).await.unwrap();
    let url = database.url();
    let second = tokio::spawn(async move { PostgresLedger::open(&url).await });
    let waits = "DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() \
        AND wait_event_type = 'Lock') LOOP PERFORM pg_stat_clear_snapshot(); END LOOP; END $$";
    execute(&mut database.connect().await, waits).await;
    making.commit().await.unwrap();
    let ledger = second.await.unwrap().expect("a ledger");
    submit_new(&ledger, "a").await;
}
