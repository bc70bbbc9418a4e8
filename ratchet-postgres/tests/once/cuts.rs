//! Connections that are cut before COMMIT is asked for.

use ratchet_core::{OnceErrorKind, OutcomeKind};
use ratchet_postgres::once;
use ratchet_test_postgres::{Fault, shared};

use crate::shop::{Shop, pool};

#[tokio::test]
async fn a_connection_that_is_cut_before_the_commit_is_not_applied() {
    let shop = Shop::open().await;
    let (ctx, _) = shop.first_attempt().await;
    let proxy = shared().proxy().await;
    for text in ["BEGIN", "INSERT INTO ratchet.effects", "INSERT INTO bookings", "SET result"] {
        for cut in [Fault::CutBeforeRequest, Fault::CutBeforeAnswer] {
            let cuttable = pool(&proxy.url(&shop.database), "").await;
            proxy.fail_at(text, cut);
            let booking = once(&cuttable, &ctx, "book", async |tx| shop.insert(tx).await).await;
            assert!(!proxy.is_to_fail(), "{text}");
            let error = booking.unwrap_err();
            let kind =
                if text == "INSERT INTO bookings" { OnceErrorKind::Effect } else { OnceErrorKind::Store };
            assert_eq!((error.kind(), error.outcome().kind()), (kind, OutcomeKind::NotApplied), "{text}");
            // The server may still hold the transaction open; whoever asks again waits for it.
            let again = once(&shop.pool, &ctx, "book", async |_| {
                Err::<(), _>(ratchet_core::Failure::rejected("that is enough"))
            });
            assert_eq!(again.await.unwrap_err().kind(), OnceErrorKind::Effect, "{text}");
            assert_eq!((shop.bookings().await, shop.effects().await.len()), (0, 0), "{text}");
        }
    }
}
