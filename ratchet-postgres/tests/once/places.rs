//! Where a transaction must not be, and what must not be inside one.

use ratchet_core::{Context, Contract, Fingerprint, LedgerError, OnceErrorKind, OutcomeKind};
use ratchet_postgres::sqlx::{self, AssertSqlSafe};
use ratchet_postgres::{PostgresLedger, migrate_effects, once};
use tokio::task::JoinSet;

use crate::shop::{Shop, pool};

#[tokio::test]
async fn nothing_is_sent_and_no_other_transaction_opened_while_one_is_open() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    let step = ctx.step("charge").to(Contract::header("Key"));
    let charge = step.run(async |step: Context| {
        let sends = once(&shop.pool, &step, "book", async |tx| {
            shop.insert(tx).await?;
            step.pin("account-7", Fingerprint::of(b"body")).await?;
            Ok(())
        });
        let error = sends.await.unwrap_err();
        assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::Effect, OutcomeKind::Rejected));
        // Outside of it, it works.
        step.pin("account-7", Fingerprint::of(b"body")).await.map(drop)
    });
    charge.await.unwrap();
    let nested = once(&shop.pool, &ctx, "book", async |_| Ok(shop.book(&ctx).await?)).await;
    assert_eq!(nested.unwrap_err().outcome().kind(), OutcomeKind::Rejected);
    let stepping = once(&shop.pool, &ctx, "book", async |_| ctx.step("mail").run(async |_| Ok(())).await);
    assert_eq!(stepping.await.unwrap_err().outcome().kind(), OutcomeKind::Rejected);
    assert_eq!((shop.bookings().await, shop.effects().await.len()), (0, 0));
}

#[tokio::test]
async fn a_request_is_no_effect_in_a_database() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    let failure = ctx.pin("account-7", Fingerprint::of(b"body")).await.unwrap_err();
    assert_eq!(failure.outcome().kind(), OutcomeKind::Rejected);
    assert!(failure.to_string().contains("put it into a step"), "{failure}");
}

#[tokio::test]
async fn a_database_without_a_ledger_has_the_one_table_whoever_makes_it_first() {
    let shop = Shop::without_table().await;
    let mut starting = JoinSet::new();
    for _ in 0..8 {
        let pool = shop.pool.clone();
        starting.spawn(async move { migrate_effects(&mut pool.acquire().await.unwrap()).await.unwrap() });
    }
    starting.join_all().await;
    let tables =
        "SELECT relname::text FROM pg_class WHERE relnamespace = 'ratchet'::regnamespace AND relkind = 'r'";
    let mut tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&shop.pool).await.unwrap();
    tables.sort();
    assert_eq!(tables, ["effects", "effects_schema"]);
    // A ledger may come later, and its effects are those that are there.
    let (ctx, _) = shop.first_attempt().await;
    shop.book(&ctx).await.unwrap();
    PostgresLedger::open(&shop.database.url()).await.unwrap();
    assert_eq!(shop.book(&ctx).await.unwrap(), 1);
}

#[tokio::test]
async fn a_newer_table_is_refused_and_left_alone() {
    let shop = Shop::open().await;
    sqlx::raw_sql("UPDATE ratchet.effects_schema SET version = 7").execute(&shop.pool).await.unwrap();
    let error = migrate_effects(&mut shop.pool.acquire().await.unwrap()).await.unwrap_err();
    assert!(matches!(error, LedgerError::NewerSchema { found: 7, known: 1 }), "{error:?}");
}

#[tokio::test]
async fn the_documented_rights_are_enough_and_tables_of_the_same_name_elsewhere_do_not_matter() {
    let shop = Shop::with_ledger_inside().await;
    let others = "CREATE SCHEMA mine; CREATE TABLE mine.effects (x int); CREATE TABLE mine.progress (x int); \
        CREATE ROLE clerk LOGIN; GRANT ALL ON bookings TO clerk; GRANT USAGE ON SCHEMA mine, public TO clerk; \
        ALTER ROLE clerk SET search_path = mine, public";
    sqlx::raw_sql(others).execute(&shop.pool).await.unwrap();
    let grants = include_str!("../../grants.sql").replace("TO app", "TO clerk");
    sqlx::raw_sql(AssertSqlSafe(grants)).execute(&shop.pool).await.unwrap();
    let shop = Shop { pool: pool(&shop.database.url_as("clerk"), "").await, ..shop };
    let (ctx, _) = shop.first_attempt().await;
    assert_eq!((shop.book(&ctx).await.unwrap(), shop.book(&ctx).await.unwrap()), (1, 1));
    assert_eq!(shop.bookings().await, 1);
}
