//! Several attempts ask for one effect: one has it, whoever comes first.

use std::sync::Arc;

use ratchet_core::{Context, Contract, OnceErrorKind, OutcomeKind};
use ratchet_sqlite::once;

use crate::common::effects::Shop;

#[tokio::test]
async fn an_attempt_after_one_that_died_gets_the_stored_result() {
    let directory = tempfile::tempdir().unwrap();
    for shop in [
        Shop::open(directory.path()).await,
        Shop::with_ledger_inside(tempfile::tempdir().unwrap().path()).await,
    ] {
        let (ctx, record) = shop.first_attempt().await;
        assert_eq!(shop.book(&ctx).await.unwrap(), (1, 1));
        assert_eq!(shop.book(&ctx).await.unwrap(), (1, 1), "the same attempt asks again");
        // Killed between the effect and its report.
        shop.dies(&record).await;
        let (ctx, _) = shop.attempt().await;
        assert_eq!(ctx.token().get(), 2);
        assert_eq!(shop.book(&ctx).await.unwrap(), (1, 1));
        assert_eq!((shop.bookings().await, shop.runs()), (1, 1));
        assert_eq!(shop.effects().await, [("book".to_owned(), 2)]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_concurrent_duplicates_one_runs_and_all_get_its_result() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Arc::new(Shop::open(directory.path()).await);
    let (ctx, _) = shop.first_attempt().await;
    let racing: Vec<_> = (0..32)
        .map(|_| {
            let (shop, ctx) = (Arc::clone(&shop), ctx.clone());
            tokio::spawn(async move { shop.book(&ctx).await.map_err(|error| error.to_string()) })
        })
        .collect();
    for one in racing {
        assert_eq!(one.await.unwrap(), Ok((1, 1)));
    }
    assert_eq!((shop.bookings().await, shop.runs()), (1, 1));
}

#[tokio::test]
async fn a_token_lower_than_one_that_was_seen_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
    let (stale, record) = shop.first_attempt().await;
    shop.dies(&record).await;
    let (current, _) = shop.attempt().await;
    shop.book(&current).await.unwrap();
    let error = shop.book(&stale).await.unwrap_err();
    assert_eq!(error.kind(), OnceErrorKind::Superseded { seen: current.token() });
    // The effect happened, so nothing certain can be said against it.
    assert_eq!(error.outcome().kind(), OutcomeKind::Unknown);
    assert_eq!((shop.bookings().await, shop.runs()), (1, 1));
    assert_eq!(shop.effects().await, [("book".to_owned(), 2)]);
}

#[tokio::test]
async fn a_superseded_attempt_has_no_effect_where_the_ledger_is_in_the_same_database() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::with_ledger_inside(directory.path()).await;
    let (stale, record) = shop.first_attempt().await;
    shop.dies(&record).await;
    let (current, _) = shop.attempt().await;
    // Nobody has asked for the effect so far: only the record knows.
    let error = shop.book(&stale).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome().kind()), (OnceErrorKind::LeaseLost, OutcomeKind::NotApplied));
    assert_eq!((shop.bookings().await, shop.runs(), shop.effects().await.len()), (0, 0, 0));
    assert_eq!(shop.book(&current).await.unwrap(), (1, 1));
}

#[tokio::test]
async fn an_attempt_whose_record_is_settled_has_no_effect_either() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::with_ledger_inside(directory.path()).await;
    let (ctx, record) = shop.first_attempt().await;
    shop.dies(&record).await;
    shop.ledger
        .apply(vec![ratchet_core::ledger::Order {
            id: record.id.clone(),
            command: ratchet_core::decide::Command::Cancel {
                by: "ada".to_owned(),
                reason: String::new(),
                seen: None,
            },
        }])
        .await
        .unwrap();
    assert_eq!(shop.book(&ctx).await.unwrap_err().kind(), OnceErrorKind::LeaseLost);
    assert_eq!(shop.bookings().await, 0);
}

#[tokio::test]
async fn effects_of_other_names_steps_and_records_are_others() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
    let (ctx, _) = shop.first_attempt().await;
    shop.book(&ctx).await.unwrap();
    once(&shop.pool, &ctx, "mail", async |tx| shop.insert(tx).await).await.unwrap();
    for name in ["a", "b"] {
        let step = ctx.step(name).to(Contract::DATABASE);
        step.run(async |step: Context| Ok(shop.book(&step).await?)).await.unwrap();
    }
    shop.submit("inv_2").await;
    let (other, _) = shop.attempt().await;
    shop.book(&other).await.unwrap();
    assert_eq!((shop.bookings().await, shop.runs()), (5, 5));
    let steps: Vec<String> = shop.effects().await.into_iter().map(|(step, _)| step).collect();
    assert_eq!(steps, ["a!book", "b!book", "book", "book", "mail"]);
}

#[tokio::test]
async fn two_effects_at_the_same_time_are_no_nesting() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
    let (ctx, _) = shop.first_attempt().await;
    let one = once(&shop.pool, &ctx, "one", async |tx| shop.insert(tx).await);
    let other = once(&shop.pool, &ctx, "other", async |tx| shop.insert(tx).await);
    let (one, other) = tokio::join!(one, other);
    assert_ne!(one.unwrap(), other.unwrap());
    assert_eq!(shop.bookings().await, 2);
}
