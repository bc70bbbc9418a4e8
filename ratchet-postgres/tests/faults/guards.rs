//! Guards against what is rare by nature, each in a situation that is made for it.

use std::time::Duration;

use ratchet_core::decide::{Command, Stored};
use ratchet_core::ledger::{Claim, Declaration, Order};
use ratchet_core::{Ledger as _, LedgerError, Submitted};
use ratchet_postgres::{PostgresOptions, sqlx};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::support::{OPERATION, VERSION, claim_of, database, execute, id, open, submission, submit_new};

const SOON: Duration = Duration::from_secs(10);

/// Two batches with the same keys in opposite order: each row takes its time, so that both are halfway at once.
#[tokio::test]
async fn batches_in_opposite_order_do_not_wait_in_a_circle() {
    let database = database().await;
    let (one, other) = (open(&database).await, open(&database).await);
    let mut owner = database.connect().await;
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
            PERFORM pg_sleep(0.3); RETURN NEW; END $$; \
         CREATE TRIGGER slow BEFORE INSERT ON ratchet.records FOR EACH ROW EXECUTE FUNCTION slow(); \
         DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = 20', current_database()); END $$; \
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ratchet' \
            AND datname = current_database()";
    execute(&mut owner, slow).await;
    let submit = async |ledger: &ratchet_postgres::PostgresLedger, keys: [&str; 2]| {
        ledger.submit(keys.map(submission).to_vec()).await.expect("an answer")
    };
    let (told, told_other) = tokio::join!(submit(&one, ["a", "b"]), submit(&other, ["b", "a"]));
    let new = told.iter().chain(&told_other).filter(|told| matches!(told, Submitted::New { .. })).count();
    assert_eq!(new, 2);
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(sqlx::query_scalar::<_, i64>(deadlocks).fetch_one(&mut owner).await.unwrap(), 0);
    execute(
        &mut owner,
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET ALL', current_database()); END $$",
    )
    .await;
}

/// All connections that read are gone at once, and nobody who reads is told.
#[tokio::test]
async fn a_read_that_meets_a_dead_connection_is_done_on_a_new_one() {
    let database = database().await;
    let ledger = open(&database).await;
    submit_new(&ledger, "a").await;
    let mut owner = database.connect().await;
    for _ in 0..3 {
        // While the table is locked every read keeps its connection, so that there are several.
        execute(&mut owner, "BEGIN; LOCK TABLE ratchet.records").await;
        let mut reading = JoinSet::new();
        for _ in 0..4 {
            let ledger = ledger.clone();
            reading.spawn(async move { ledger.find(id("a")).await });
        }
        let all_wait = "DO $$ BEGIN WHILE (SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
            AND datname = current_database()) < 4 LOOP PERFORM pg_stat_clear_snapshot(); END LOOP; END $$; COMMIT";
        execute(&mut owner, all_wait).await;
        assert!(reading.join_all().await.into_iter().all(|found| found.unwrap().is_some()));
        let cut = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity \
            WHERE datname = current_database() AND application_name = 'ratchet'";
        execute(&mut owner, cut).await;
        assert!(matches!(ledger.find(id("a")).await.unwrap(), Some(Stored::Record(_))));
    }
}

/// What a refused declaration has locked is free when its caller knows.
#[tokio::test]
async fn a_refused_declaration_holds_up_nobody() {
    let database = database().await;
    let ledger = open(&database).await;
    let options = PostgresOptions::new().busy_timeout(Duration::from_millis(200));
    let other = options.open(&database.url()).await.unwrap();
    let declaration = |template: &str| Declaration::new(OPERATION, VERSION, template);
    ledger.declare(vec![declaration("invoice:<id>")]).await.unwrap();
    let refused = ledger.declare(vec![declaration("bill:<id>")]).await.unwrap_err();
    assert!(matches!(refused, LedgerError::TemplateChanged { .. }), "{refused:?}");
    other.declare(vec![declaration("invoice:<id>")]).await.unwrap();
}

/// A lease that is given back goes with no write that could notify: others hear of it by what is gathered.
#[tokio::test]
async fn a_record_that_is_given_back_wakes_other_programs() {
    let database = database().await;
    let (asleep, busy) = (open(&database).await, open(&database).await);
    submit_new(&busy, "a").await;
    let wish = Claim { start_if_safe: false, ..claim_of(1) };
    let record = busy.claim(wish).await.unwrap().remove(0);
    let mut sleeper = asleep.wakeups();
    timeout(SOON, sleeper.changed()).await.expect("a listener").unwrap();
    sleeper.mark_unchanged();
    let release = Command::Release { token: record.token };
    busy.apply(vec![Order { id: record.id, command: release }]).await.unwrap().remove(0).unwrap();
    timeout(SOON, sleeper.changed()).await.expect("woken").unwrap();
}
