//! What went wrong, and what is left of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ratchet_core::serde_json::{Value, json};
use ratchet_core::{Cause, CauseKind, Failure, OnceErrorKind, OutcomeKind};
use ratchet_postgres::sqlx;
use ratchet_postgres::{once, once_in};

use crate::shop::{Shop, pool};

#[tokio::test]
async fn a_closure_that_fails_leaves_nothing_and_is_certain() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    let foreign = Failure::from("x".parse::<u8>().unwrap_err());
    let failures = [
        (foreign, OutcomeKind::NotApplied, "error: invalid digit found in string"),
        (Failure::unknown("who knows"), OutcomeKind::NotApplied, "handler: who knows"),
        (Failure::not_applied("not yet"), OutcomeKind::NotApplied, "handler: not yet"),
        (Failure::rejected("sold out"), OutcomeKind::Rejected, "handler: sold out"),
    ];
    for (failure, kind, cause) in failures {
        let failing = once(&shop.pool, &ctx, "book", async |tx| {
            shop.insert(tx).await?;
            Err::<(), _>(failure)
        });
        let error = failing.await.unwrap_err();
        assert_eq!(error.kind(), OnceErrorKind::Effect);
        let outcome = Failure::from(error).into_outcome();
        assert_eq!((outcome.kind(), outcome.cause().unwrap().to_string()), (kind, cause.to_owned()));
        assert_eq!((shop.bookings().await, shop.effects().await.len()), (0, 0));
    }
    shop.book(&ctx).await.unwrap();
    assert_eq!(shop.bookings().await, 1);
}

#[tokio::test]
async fn a_statement_that_fails_is_not_applied() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    let failing = once(&shop.pool, &ctx, "book", async |tx| {
        shop.insert(&mut *tx).await?;
        sqlx::query("INSERT INTO bookings VALUES (1)").execute(&mut *tx).await?;
        Ok(())
    });
    let failure = Failure::from(failing.await.unwrap_err());
    assert_eq!(failure.outcome().kind(), OutcomeKind::NotApplied);
    assert!(failure.to_string().contains("duplicate key value"), "{failure}");
    assert_eq!((shop.bookings().await, shop.effects().await.len()), (0, 0));
}

#[tokio::test]
async fn a_dropped_call_leaves_nothing() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    let inserted = AtomicBool::new(false);
    let hanging = once(&shop.pool, &ctx, "book", async |tx| {
        shop.insert(tx).await?;
        inserted.store(true, Ordering::SeqCst);
        std::future::pending::<()>().await;
        Ok(())
    });
    let hanging = tokio::time::timeout(std::time::Duration::from_millis(200), hanging);
    assert!(hanging.await.is_err() && inserted.load(Ordering::SeqCst));
    assert_eq!(shop.book(&ctx).await.unwrap(), 2);
    assert_eq!(shop.bookings().await, 1);
    let unsent = ctx.not_sent(Cause::new(CauseKind::Connect, "refused"));
    assert_eq!(unsent.outcome().kind(), OutcomeKind::Unknown, "the effect is there");
}

#[tokio::test]
async fn until_commit_is_asked_for_nothing_has_happened_and_then_a_later_certain_word_counts_no_more() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    let unsent = || ctx.not_sent(Cause::new(CauseKind::Connect, "refused")).outcome().kind();
    let refused = once(&shop.pool, &ctx, "book", async |_| Err::<(), _>(Failure::not_applied("no")));
    let _ = refused.await.unwrap_err();
    assert_eq!(unsent(), OutcomeKind::NotApplied);
    shop.book(&ctx).await.unwrap();
    assert_eq!(unsent(), OutcomeKind::Unknown);
    let second = once(&shop.pool, &ctx, "mail", async |_| Err::<(), _>(Failure::rejected("no")));
    let error = second.await.unwrap_err();
    assert_eq!(error.outcome().kind(), OutcomeKind::Unknown, "the first effect of the attempt is there");
}

#[tokio::test]
async fn a_result_that_cannot_be_kept_rolls_the_effect_back() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    let huge = once(&shop.pool, &ctx, "book", async |tx| {
        shop.insert(tx).await?;
        Ok("x".repeat(70_000))
    });
    let error = huge.await.unwrap_err();
    assert_eq!(error.kind(), OnceErrorKind::UnstorableResult);
    assert_eq!(error.outcome().kind(), OutcomeKind::Rejected);
    assert_eq!((shop.bookings().await, shop.effects().await.len()), (0, 0));
}

#[tokio::test]
async fn a_stored_result_that_does_not_fit_is_never_certain() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    shop.book(&ctx).await.unwrap();
    let error = once(&shop.pool, &ctx, "book", async |_| Ok(String::new())).await.unwrap_err();
    assert_eq!(error.kind(), OnceErrorKind::UnreadableResult);
    assert_eq!(error.outcome().kind(), OutcomeKind::Unknown);
    let any: Value = once(&shop.pool, &ctx, "book", async |_| Ok(Value::Null)).await.unwrap();
    assert_eq!(any, json!(1));
}

#[tokio::test]
async fn a_missing_table_is_told_in_words() {
    let shop = Shop::without_table().await;
    let (ctx, _) = shop.first_attempt().await;
    for _ in 0..2 {
        let error = shop.book(&ctx).await.unwrap_err();
        assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::NoTable, OutcomeKind::NotApplied));
        assert!(error.to_string().contains("migrate_effects"), "{error}");
        sqlx::raw_sql("CREATE SCHEMA IF NOT EXISTS ratchet").execute(&shop.pool).await.unwrap();
    }
    assert_eq!(shop.runs(), 0);
}

#[tokio::test]
async fn a_duplicate_waits_no_longer_than_its_session_says() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    let mut holding = shop.pool.begin().await.unwrap();
    once_in(&mut holding, &ctx, "book", async |tx| shop.insert(tx).await).await.unwrap();
    let (second, _) = {
        shop.submit("inv_2").await;
        shop.attempt().await
    };
    for (setting, kind) in [
        ("SET lock_timeout = '50ms'", OnceErrorKind::Busy),
        ("SET statement_timeout = '50ms'", OnceErrorKind::Store),
    ] {
        let impatient = pool(&shop.database.url(), setting).await;
        let error = once(&impatient, &ctx, "book", async |tx| shop.insert(tx).await).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        once(&impatient, &second, "other", async |_| Ok(())).await.unwrap();
    }
    holding.rollback().await.unwrap();
    assert_eq!(shop.runs(), 1);
}

#[tokio::test]
async fn timeouts_inside_the_closure_are_not_applied() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    let mut holding = shop.pool.begin().await.unwrap();
    sqlx::query("LOCK TABLE bookings IN SHARE MODE").execute(&mut *holding).await.unwrap();
    for setting in ["SET lock_timeout = '50ms'", "SET statement_timeout = '50ms'"] {
        let impatient = pool(&shop.database.url(), setting).await;
        let error = once(&impatient, &ctx, "book", async |tx| shop.insert(tx).await).await.unwrap_err();
        assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::Effect, OutcomeKind::NotApplied));
    }
    holding.rollback().await.unwrap();
    assert_eq!((shop.bookings().await, shop.effects().await.len()), (0, 0));
}

#[tokio::test]
async fn an_error_that_the_closure_swallowed_is_no_success() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    let swallowing = once(&shop.pool, &ctx, "book", async |tx| {
        shop.insert(&mut *tx).await?;
        let _ = sqlx::query("SELECT 1 / 0").execute(&mut *tx).await;
        Ok(7)
    });
    let error = swallowing.await.unwrap_err();
    assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::Effect, OutcomeKind::NotApplied));
    assert!(error.to_string().contains("not passed on"), "{error}");
    assert_eq!((shop.bookings().await, shop.effects().await.len()), (0, 0));
    assert_eq!(shop.book(&ctx).await.unwrap(), 2);
}

#[tokio::test]
async fn a_constraint_that_is_checked_at_the_commit_is_not_applied() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    let deferred = "ALTER TABLE bookings ADD seat int UNIQUE DEFERRABLE INITIALLY DEFERRED";
    sqlx::raw_sql(deferred).execute(&shop.pool).await.unwrap();
    let failing = once(&shop.pool, &ctx, "book", async |tx| {
        sqlx::query("INSERT INTO bookings (seat) VALUES (1), (1)").execute(tx).await?;
        Ok(())
    });
    let error = failing.await.unwrap_err();
    assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::Store, OutcomeKind::NotApplied));
    assert_eq!((shop.bookings().await, shop.effects().await.len()), (0, 0));
}

#[tokio::test]
async fn a_panic_leaves_nothing() {
    let shop = Arc::new(Shop::open().await);
    let (ctx, _) = shop.first_attempt().await;
    let panicking = tokio::spawn({
        let (shop, ctx) = (Arc::clone(&shop), ctx.clone());
        async move {
            let panicking = once(&shop.pool, &ctx, "book", async |tx| {
                shop.insert(tx).await?;
                assert!(shop.runs() != 1, "a fault of the closure");
                Ok(())
            });
            panicking.await.map_err(|error| error.to_string())
        }
    });
    assert!(panicking.await.unwrap_err().is_panic());
    assert_eq!(shop.book(&ctx).await.unwrap(), 2);
    assert_eq!(shop.bookings().await, 1);
}

#[tokio::test]
async fn a_transaction_that_the_closure_ended_is_told() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    let ending = once(&shop.pool, &ctx, "book", async |tx| {
        shop.insert(&mut *tx).await?;
        sqlx::raw_sql("ROLLBACK").execute(&mut *tx).await?;
        Ok(0)
    });
    let error = ending.await.unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome().kind()),
        (OnceErrorKind::TransactionEnded, OutcomeKind::Unknown)
    );
    assert_eq!((shop.bookings().await, shop.effects().await.len()), (0, 0));
    // The pool is as sound as before.
    shop.book(&ctx).await.unwrap();
    assert_eq!(shop.bookings().await, 1);
}
