//! A producer has the rights to call the functions and no others.

use ratchet_postgres::sqlx::{Connection as _, PgConnection, raw_sql};

use crate::support::{POLICY, database, declared, refusal, text};

const INSUFFICIENT_PRIVILEGE: &str = "42501";

#[tokio::test]
async fn a_producer_may_call_the_functions_and_touch_no_table() {
    let database = database().await;
    drop(declared(&database, POLICY).await);
    let mut owner = database.connect().await;
    raw_sql("CREATE ROLE shop LOGIN").execute(&mut owner).await.unwrap();
    let enqueue = "SELECT answer FROM ratchet.enqueue('collect_invoice', '1', '{\"id\": \"a\"}')";
    let mut shop = PgConnection::connect(&database.url_as("shop")).await.unwrap();
    let before = text(&mut shop, enqueue).await.unwrap_err();
    assert_eq!(refusal(&before).0, INSUFFICIENT_PRIVILEGE);
    raw_sql(include_str!("../../producer.sql")).execute(&mut owner).await.unwrap();

    let cancel =
        "SELECT answer FROM ratchet.cancel('collect_invoice', 'invoice:a:collect:v1', 'ada', 'a test')";
    let state = "SELECT state FROM ratchet.state('collect_invoice', 'invoice:a:collect:v1')";
    for (call, expected) in
        [(enqueue, "new"), (enqueue, "existing"), (cancel, "stopped"), (state, "cancelled")]
    {
        assert_eq!(text(&mut shop, call).await.unwrap().as_deref(), Some(expected), "{call}");
    }
    for forbidden in [
        "SELECT input FROM ratchet.records",
        "SELECT result FROM ratchet.progress",
        "SELECT reason FROM ratchet.audit",
        "SELECT policy FROM ratchet.declarations",
        "SELECT nextval('ratchet.records_id')::text",
        "UPDATE ratchet.progress SET state = 'succeeded' RETURNING state",
        "DELETE FROM ratchet.records RETURNING key",
        "INSERT INTO ratchet.declarations VALUES (0, 'a', '1', 'q', '<a>', '', '', '', '[]') RETURNING version",
        "SELECT ratchet.stop(1, 0)",
        "SELECT ratchet.key('collect_invoice', '1', '{\"id\": \"a\"}')",
        "SELECT number::text FROM ratchet.insert_record(NULL, 'default', 'a', 1, '1', '', 0, 0::smallint, 'q', NULL)",
        "SELECT ratchet.newest('default', 'collect_invoice', 'invoice:a:collect:v1', 1)::text",
    ] {
        let error = text(&mut shop, forbidden).await.expect_err(forbidden);
        assert_eq!(refusal(&error).0, INSUFFICIENT_PRIVILEGE, "{forbidden}");
    }
    // What a caller puts in front of the functions' names is not called with the owner's rights.
    let trap = "CREATE SCHEMA trap; GRANT USAGE ON SCHEMA trap TO shop; \
        CREATE FUNCTION trap.floor(numeric) RETURNS numeric LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;";
    raw_sql(trap).execute(&mut owner).await.unwrap();
    raw_sql("SET search_path = trap, pg_catalog").execute(&mut shop).await.unwrap();
    assert_eq!(text(&mut shop, enqueue).await.unwrap().as_deref(), Some("existing"));
    raw_sql("DROP SCHEMA trap CASCADE; DROP OWNED BY shop; DROP ROLE shop")
        .execute(&mut owner)
        .await
        .unwrap();
}
