//! Several attempts ask for one effect: one has it, whoever comes first.

use std::sync::Arc;

use ratchet_core::{Context, Contract, OnceErrorKind, OutcomeKind};
use ratchet_postgres::once;
use tokio::task::JoinSet;

use crate::shop::Shop;

const ISOLATIONS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

#[tokio::test]
async fn an_attempt_after_one_that_died_gets_the_stored_result() {
    for shop in [Shop::open().await, Shop::with_ledger_inside().await] {
        let (ctx, record) = shop.first_attempt().await;
        assert_eq!(shop.book(&ctx).await.unwrap(), 1);
        assert_eq!(shop.book(&ctx).await.unwrap(), 1, "the same attempt asks again");
        // Killed between the effect and its report.
        shop.dies(&record).await;
        let (ctx, _) = shop.attempt().await;
        assert_eq!(ctx.token().get(), 2);
        assert_eq!(shop.book(&ctx).await.unwrap(), 1);
        assert_eq!((shop.bookings().await, shop.runs()), (1, 1));
        assert_eq!(shop.effects().await, [("book".to_owned(), 2)]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_concurrent_duplicates_one_runs_and_all_get_its_result() {
    for isolation in ISOLATIONS {
        for shop in [Shop::open().await, Shop::with_ledger_inside().await] {
            let shop = Arc::new(shop.isolated(isolation).await);
            let (ctx, _) = shop.first_attempt().await;
            let mut racing = JoinSet::new();
            for _ in 0..32 {
                let (shop, ctx) = (Arc::clone(&shop), ctx.clone());
                racing.spawn(async move { shop.book(&ctx).await.map_err(|error| error.to_string()) });
            }
            assert_eq!(racing.join_all().await, vec![Ok(1); 32], "{isolation}");
            assert_eq!((shop.bookings().await, shop.runs()), (1, 1), "{isolation}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_that_raise_the_token_together_all_get_the_result() {
    for isolation in ISOLATIONS {
        let shop = Arc::new(Shop::open().await.isolated(isolation).await);
        let (ctx, record) = shop.first_attempt().await;
        shop.book(&ctx).await.unwrap();
        shop.dies(&record).await;
        let (ctx, _) = shop.attempt().await;
        let mut racing = JoinSet::new();
        for _ in 0..32 {
            let (shop, ctx) = (Arc::clone(&shop), ctx.clone());
            racing.spawn(async move { shop.book(&ctx).await.map_err(|error| error.to_string()) });
        }
        assert_eq!(racing.join_all().await, vec![Ok(1); 32], "{isolation}");
        assert_eq!(shop.effects().await, [("book".to_owned(), 2)]);
    }
}

#[tokio::test]
async fn a_duplicate_of_one_that_fails_takes_its_turn() {
    for isolation in ISOLATIONS {
        let shop = Shop::open().await.isolated(isolation).await;
        let (ctx, _) = shop.first_attempt().await;
        let failing = once(&shop.pool, &ctx, "book", async |tx| {
            shop.insert(tx).await?;
            shop.waiting_for_locks(1).await;
            Err::<u32, _>(ratchet_core::Failure::not_applied("no"))
        });
        let (failed, booked) = tokio::join!(failing, async {
            while shop.runs() == 0 {
                tokio::task::yield_now().await;
            }
            shop.book(&ctx).await
        });
        assert_eq!(failed.unwrap_err().kind(), OnceErrorKind::Effect);
        assert_eq!((booked.unwrap(), shop.bookings().await), (2, 1), "{isolation}");
    }
}

#[tokio::test]
async fn a_token_lower_than_one_that_was_seen_is_refused() {
    let shop = Shop::open().await;
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
async fn effects_of_other_names_steps_and_records_are_others() {
    let shop = Shop::open().await;
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
