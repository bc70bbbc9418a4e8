//! The ledger is in the same database, and its record is checked.

use std::sync::Arc;
use std::time::Duration;

use ratchet_core::decide::{Answer, Command};
use ratchet_core::{OnceErrorKind, OutcomeKind, State};
use ratchet_postgres::{once, once_in};
use tokio::time::timeout;

use crate::shop::Shop;

fn cancel() -> Command {
    Command::Cancel { by: "ada".to_owned(), reason: String::new(), seen: None }
}

#[tokio::test]
async fn an_attempt_whose_record_has_a_newer_one_has_no_effect() {
    let shop = Shop::with_ledger_inside().await;
    let (stale, record) = shop.first_attempt().await;
    shop.dies(&record).await;
    let (current, _) = shop.attempt().await;
    // Nobody has asked for the effect so far: only the record knows.
    let error = shop.book(&stale).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::LeaseLost, OutcomeKind::NotApplied));
    assert_eq!((shop.bookings().await, shop.effects().await.len()), (0, 0));
    shop.book(&current).await.unwrap();
    assert_eq!(shop.bookings().await, 1);
}

#[tokio::test]
async fn an_attempt_that_is_settled_while_its_closure_runs_has_no_effect() {
    let shop = Shop::with_ledger_inside().await;
    let (ctx, record) = shop.first_attempt().await;
    let late = once(&shop.pool, &ctx, "book", async |tx| {
        let run = shop.insert(tx).await?;
        shop.dies(&record).await;
        Ok(run)
    });
    let error = late.await.unwrap_err();
    assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::LeaseLost, OutcomeKind::NotApplied));
    assert_eq!((shop.bookings().await, shop.effects().await.len()), (0, 0));
}

#[tokio::test]
async fn a_stored_result_is_not_handed_to_an_attempt_whose_record_is_settled() {
    let shop = Shop::with_ledger_inside().await;
    let (ctx, record) = shop.first_attempt().await;
    shop.book(&ctx).await.unwrap();
    shop.dies(&record).await;
    shop.apply(&record, cancel()).await;
    assert_eq!(shop.book(&ctx).await.unwrap_err().kind(), OnceErrorKind::LeaseLost);
}

#[tokio::test]
async fn heartbeats_do_not_wait_for_the_closure() {
    let shop = Shop::with_ledger_inside().await;
    let (ctx, record) = shop.first_attempt().await;
    let booking = once(&shop.pool, &ctx, "book", async |tx| {
        let run = shop.insert(tx).await?;
        let renew = Command::Renew { token: record.token, duration: Duration::from_mins(2) };
        Ok((run, matches!(shop.apply(&record, renew).await, Answer::Renewed { .. })))
    });
    assert_eq!(booking.await.unwrap(), (1, true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_record_is_given_to_nobody_else_until_the_transaction_ends() {
    let shop = Arc::new(Shop::with_ledger_inside().await);
    let (ctx, record) = shop.first_attempt().await;
    let mut transaction = shop.pool.begin().await.unwrap();
    once_in(&mut transaction, &ctx, "book", async |tx| shop.insert(tx).await).await.unwrap();
    let settling = tokio::spawn({
        let (shop, record) = (Arc::clone(&shop), record.clone());
        async move { shop.dies(&record).await }
    });
    shop.waiting_for_locks(1).await;
    assert!(!settling.is_finished());
    transaction.commit().await.unwrap();
    settling.await.unwrap();
    assert_eq!(shop.attempt().await.1.state, State::Running);
    assert_eq!(shop.bookings().await, 1);
}

#[tokio::test]
async fn effects_of_one_record_at_the_same_time_do_not_wait_for_each_other() {
    let shop = Shop::with_ledger_inside().await;
    let (ctx, _) = shop.first_attempt().await;
    let mut one = shop.pool.begin().await.unwrap();
    once_in(&mut one, &ctx, "one", async |tx| shop.insert(tx).await).await.unwrap();
    let other = once(&shop.pool, &ctx, "other", async |tx| shop.insert(tx).await);
    timeout(Duration::from_secs(20), other).await.expect("no lock to wait for").unwrap();
    one.commit().await.unwrap();
    assert_eq!(shop.bookings().await, 2);
}
