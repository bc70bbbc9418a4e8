//! An effect inside the caller's own transaction.

use ratchet_core::{Failure, OnceErrorKind, OutcomeKind};
use ratchet_sqlite::once_in;

use crate::common::effects::Shop;

#[tokio::test]
async fn in_the_callers_transaction_the_effect_happens_if_and_only_if_it_commits() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
    let (ctx, _) = shop.first_attempt().await;
    for (commits, bookings) in [(false, 0), (true, 1), (true, 1)] {
        let mut transaction = shop.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
        let booked = once_in(&mut transaction, &ctx, "book", async |tx| shop.insert(tx).await).await.unwrap();
        if commits {
            transaction.commit().await.unwrap();
            assert_eq!(booked, (1, 2));
        } else {
            transaction.rollback().await.unwrap();
        }
        assert_eq!((shop.bookings().await, shop.effects().await.len()), (bookings, usize::from(commits)));
    }
}

#[tokio::test]
async fn what_failed_in_the_callers_transaction_leaves_the_callers_own_work() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
    let (ctx, _) = shop.first_attempt().await;
    let mut transaction = shop.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    sqlx::query("INSERT INTO bookings VALUES (70)").execute(&mut *transaction).await.unwrap();
    let failing = once_in(&mut transaction, &ctx, "book", async |tx| {
        shop.insert(tx).await?;
        Err::<(), _>(Failure::rejected("sold out"))
    });
    assert_eq!(failing.await.unwrap_err().outcome().kind(), OutcomeKind::Rejected);
    transaction.commit().await.unwrap();
    let bookings: Vec<i64> =
        sqlx::query_scalar("SELECT id FROM bookings").fetch_all(&shop.pool).await.unwrap();
    assert_eq!((bookings, shop.effects().await.len()), (vec![70], 0));
}

#[tokio::test]
async fn a_transaction_that_read_before_another_wrote_is_told_to_begin_immediately() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
    let (ctx, _) = shop.first_attempt().await;
    let mut transaction = shop.pool.begin().await.unwrap();
    let read = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM bookings");
    read.fetch_one(&mut *transaction).await.unwrap();
    sqlx::query("INSERT INTO bookings VALUES (70)").execute(&shop.pool).await.unwrap();
    let error = once_in(&mut transaction, &ctx, "book", async |tx| shop.insert(tx).await).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::OldSnapshot, OutcomeKind::NotApplied));
    assert!(error.to_string().contains("BEGIN IMMEDIATE"), "{error}");
    drop(transaction);
    // One that asks first takes its turn.
    let mut transaction = shop.pool.begin().await.unwrap();
    sqlx::query("INSERT INTO bookings VALUES (71)").execute(&shop.pool).await.unwrap();
    once_in(&mut transaction, &ctx, "book", async |tx| shop.insert(tx).await).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!((shop.bookings().await, shop.runs()), (3, 1));
}
