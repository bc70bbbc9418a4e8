//! What went wrong, and what is left of it.

use std::sync::atomic::{AtomicBool, Ordering};

use ratchet_core::serde_json::{Value, json};
use ratchet_core::{Cause, CauseKind, Failure, MemoryLedger, OnceErrorKind, OutcomeKind};
use ratchet_sqlite::once;

use crate::common::effects::{Shop, pool};

#[tokio::test]
async fn a_closure_that_fails_leaves_nothing_and_is_certain() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
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
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
    let (ctx, _) = shop.first_attempt().await;
    let failing = once(&shop.pool, &ctx, "book", async |tx| {
        shop.insert(&mut *tx).await?;
        sqlx::query("INSERT INTO bookings VALUES (1)").execute(&mut *tx).await?;
        Ok(())
    });
    let failure = Failure::from(failing.await.unwrap_err());
    assert_eq!(failure.outcome().kind(), OutcomeKind::NotApplied);
    assert!(failure.to_string().contains("UNIQUE constraint failed"), "{failure}");
    assert_eq!((shop.bookings().await, shop.effects().await.len()), (0, 0));
}

#[tokio::test]
async fn a_dropped_call_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
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
    assert_eq!(shop.book(&ctx).await.unwrap(), (1, 2));
    assert_eq!(shop.bookings().await, 1);
    let unsent = ctx.not_sent(Cause::new(CauseKind::Connect, "refused"));
    assert_eq!(unsent.outcome().kind(), OutcomeKind::Unknown, "the effect is there");
}

#[tokio::test]
async fn until_commit_is_asked_for_nothing_has_happened_and_then_a_later_certain_word_counts_no_more() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
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
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
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
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
    let (ctx, _) = shop.first_attempt().await;
    shop.book(&ctx).await.unwrap();
    let error = once(&shop.pool, &ctx, "book", async |_| Ok(String::new())).await.unwrap_err();
    assert_eq!(error.kind(), OnceErrorKind::UnreadableResult);
    assert_eq!(error.outcome().kind(), OutcomeKind::Unknown);
    let any: Value = once(&shop.pool, &ctx, "book", async |_| Ok(Value::Null)).await.unwrap();
    assert_eq!(any, json!([1, 1]));
}

#[tokio::test]
async fn a_missing_table_is_told_in_words() {
    let directory = tempfile::tempdir().unwrap();
    let pool = pool(directory.path()).await;
    let shop = Shop { pool, ledger: MemoryLedger::new(), runs: 0.into() };
    let (ctx, _) = shop.first_attempt().await;
    let error = shop.book(&ctx).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::NoTable, OutcomeKind::NotApplied));
    assert!(error.to_string().contains("migrate_effects"), "{error}");
    assert_eq!(shop.runs(), 0);
}

#[tokio::test]
async fn a_database_that_stays_locked_is_busy_and_nothing_was_done() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
    let (ctx, _) = shop.first_attempt().await;
    let holding = shop.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let impatient = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(directory.path().join("ledger.db"))
        .busy_timeout(std::time::Duration::from_millis(50));
    let impatient = sqlx::SqlitePool::connect_with(impatient).await.unwrap();
    let error = once(&impatient, &ctx, "book", async |tx| shop.insert(tx).await).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::Busy, OutcomeKind::NotApplied));
    holding.rollback().await.unwrap();
    assert_eq!(shop.runs(), 0);
}

#[tokio::test]
async fn a_transaction_that_the_closure_ended_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
    let (ctx, _) = shop.first_attempt().await;
    let ending = once(&shop.pool, &ctx, "book", async |tx| {
        shop.insert(&mut *tx).await?;
        sqlx::raw_sql("ROLLBACK").execute(&mut *tx).await?;
        Ok((0, 0))
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
