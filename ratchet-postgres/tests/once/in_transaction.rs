//! An effect inside the caller's own transaction.

use ratchet_core::{Failure, OnceErrorKind, OutcomeKind};
use ratchet_postgres::once_in;
use ratchet_postgres::sqlx;

use crate::shop::Shop;

#[tokio::test]
async fn in_the_callers_transaction_the_effect_happens_if_and_only_if_it_commits() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    for (commits, bookings) in [(false, 0), (true, 1), (true, 1)] {
        let mut transaction = shop.pool.begin().await.unwrap();
        let booked = once_in(&mut transaction, &ctx, "book", async |tx| shop.insert(tx).await).await.unwrap();
        if commits {
            transaction.commit().await.unwrap();
            assert_eq!(booked, 2);
        } else {
            transaction.rollback().await.unwrap();
        }
        assert_eq!((shop.bookings().await, shop.effects().await.len()), (bookings, usize::from(commits)));
    }
}

#[tokio::test]
async fn what_failed_in_the_callers_transaction_leaves_the_callers_own_work() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    let mut transaction = shop.pool.begin().await.unwrap();
    sqlx::query("INSERT INTO bookings VALUES (70)").execute(&mut *transaction).await.unwrap();
    let refusing = once_in(&mut transaction, &ctx, "book", async |tx| {
        shop.insert(tx).await?;
        Err::<(), _>(Failure::rejected("sold out"))
    });
    assert_eq!(refusing.await.unwrap_err().outcome().kind(), OutcomeKind::Rejected);
    let failing = once_in(&mut transaction, &ctx, "book", async |tx| {
        let _ = sqlx::query("INSERT INTO bookings VALUES (70)").execute(tx).await;
        Ok(())
    });
    let error = failing.await.unwrap_err();
    assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::Effect, OutcomeKind::NotApplied));
    transaction.commit().await.unwrap();
    let bookings: Vec<i64> =
        sqlx::query_scalar("SELECT id FROM bookings").fetch_all(&shop.pool).await.unwrap();
    assert_eq!((bookings, shop.effects().await.len()), (vec![70], 0));
}

#[tokio::test]
async fn a_dropped_call_leaves_nothing_in_the_callers_transaction() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    let mut transaction = shop.pool.begin().await.unwrap();
    sqlx::query("INSERT INTO bookings VALUES (70)").execute(&mut *transaction).await.unwrap();
    {
        let hanging = once_in(&mut transaction, &ctx, "book", async |tx| {
            shop.insert(tx).await?;
            std::future::pending::<Result<(), Failure>>().await
        });
        let inserted = async {
            while shop.runs() == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            _ = hanging => panic!("it hangs"),
            () = inserted => {}
        }
    }
    transaction.commit().await.unwrap();
    assert_eq!((shop.bookings().await, shop.effects().await.len()), (1, 0));
}

#[tokio::test]
async fn a_snapshot_that_is_too_old_is_told_and_a_new_transaction_reads_the_row() {
    for isolation in ["repeatable read", "serializable"] {
        let shop = Shop::open().await.isolated(isolation).await;
        let (ctx, _) = shop.first_attempt().await;
        let mut transaction = shop.pool.begin().await.unwrap();
        let read = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM bookings");
        read.fetch_one(&mut *transaction).await.unwrap();
        shop.book(&ctx).await.unwrap();
        for _ in 0..2 {
            let booking = once_in(&mut transaction, &ctx, "book", async |tx| shop.insert(tx).await).await;
            let error = booking.unwrap_err();
            // The effect of the attempt is there, so nothing certain can be said against it.
            assert_eq!(
                (error.kind(), error.outcome().kind()),
                (OnceErrorKind::OldSnapshot, OutcomeKind::Unknown)
            );
        }
        transaction.rollback().await.unwrap();
        let mut transaction = shop.pool.begin().await.unwrap();
        let booking = once_in(&mut transaction, &ctx, "book", async |tx| shop.insert(tx).await).await;
        assert_eq!(booking.unwrap(), 1);
        assert_eq!((shop.bookings().await, shop.runs()), (1, 1));
    }
}

#[tokio::test]
async fn a_duplicate_that_waited_for_an_older_snapshot_is_not_applied() {
    for isolation in ["repeatable read", "serializable"] {
        let shop = Shop::open().await.isolated(isolation).await;
        let (first, record) = shop.first_attempt().await;
        shop.dies(&record).await;
        let (second, _) = shop.attempt().await;
        let mut holding = shop.pool.begin().await.unwrap();
        once_in(&mut holding, &first, "book", async |tx| shop.insert(tx).await).await.unwrap();
        let mut waiting = shop.pool.begin().await.unwrap();
        let (error, ()) = tokio::join!(
            async {
                once_in(&mut waiting, &second, "book", async |tx| shop.insert(tx).await).await.unwrap_err()
            },
            async {
                shop.waiting_for_locks(1).await;
                holding.commit().await.unwrap();
            }
        );
        assert_eq!(
            (error.kind(), error.outcome().kind()),
            (OnceErrorKind::OldSnapshot, OutcomeKind::NotApplied)
        );
        assert_eq!(shop.bookings().await, 1);
    }
}
