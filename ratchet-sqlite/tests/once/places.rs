//! Where a transaction must not be, and what must not be inside one.

use ratchet_core::{Context, Contract, Fingerprint, OnceErrorKind, OutcomeKind};
use ratchet_sqlite::once;

use crate::common::effects::Shop;

#[tokio::test]
async fn nothing_is_sent_and_no_other_transaction_opened_while_one_is_open() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
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
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
    let (ctx, _) = shop.first_attempt().await;
    let failure = ctx.pin("account-7", Fingerprint::of(b"body")).await.unwrap_err();
    assert_eq!(failure.outcome().kind(), OutcomeKind::Rejected);
    assert!(failure.to_string().contains("put it into a step"), "{failure}");
}
