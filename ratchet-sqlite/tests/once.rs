//! Effects in a database of the handler's own: one, whoever asks, and none of a transaction that did not commit.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::effects::{Shop, pool};
use ratchet_core::serde_json::{Value, json};
use ratchet_core::{
    Cause, CauseKind, Context, Contract, Failure, Fingerprint, MemoryLedger, OnceErrorKind, OutcomeKind,
};
use ratchet_sqlite::{once, once_in};

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
            command: ratchet_core::decide::Command::Cancel { by: "ada".to_owned(), reason: String::new() },
        }])
        .await
        .unwrap();
    assert_eq!(shop.book(&ctx).await.unwrap_err().kind(), OnceErrorKind::LeaseLost);
    assert_eq!(shop.bookings().await, 0);
}

#[tokio::test]
async fn a_closure_that_fails_leaves_nothing_and_is_certain() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
    let (ctx, _) = shop.first_attempt().await;
    let failures: [(fn() -> Failure, OutcomeKind, &str); 4] = [
        (
            || "x".parse::<u8>().unwrap_err().into(),
            OutcomeKind::NotApplied,
            "error: invalid digit found in string",
        ),
        (|| Failure::unknown("who knows"), OutcomeKind::NotApplied, "handler: who knows"),
        (|| Failure::not_applied("not yet"), OutcomeKind::NotApplied, "handler: not yet"),
        (|| Failure::rejected("sold out"), OutcomeKind::Rejected, "handler: sold out"),
    ];
    for (failure, kind, cause) in failures {
        let failing = once(&shop.pool, &ctx, "book", async |tx| {
            shop.insert(tx).await?;
            Err::<(), _>(failure())
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

#[tokio::test]
async fn a_request_is_no_effect_in_a_database() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Shop::open(directory.path()).await;
    let (ctx, _) = shop.first_attempt().await;
    let failure = ctx.pin("account-7", Fingerprint::of(b"body")).await.unwrap_err();
    assert_eq!(failure.outcome().kind(), OutcomeKind::Rejected);
    assert!(failure.to_string().contains("put it into a step"), "{failure}");
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
    assert_eq!(
        (error.kind(), error.outcome().kind()),
        (OnceErrorKind::ReadBeforeWrite, OutcomeKind::NotApplied)
    );
    assert!(error.to_string().contains("BEGIN IMMEDIATE"), "{error}");
    drop(transaction);
    // One that asks first takes its turn.
    let mut transaction = shop.pool.begin().await.unwrap();
    sqlx::query("INSERT INTO bookings VALUES (71)").execute(&shop.pool).await.unwrap();
    once_in(&mut transaction, &ctx, "book", async |tx| shop.insert(tx).await).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!((shop.bookings().await, shop.runs()), (3, 1));
}
