//! A move is taken back.

use std::collections::BTreeSet;

use ratchet::{EnqueueError, LedgerError};

use crate::process::{Moving, SOURCE_CLOSED, run};
use crate::shop::{HELD, all_settled, each_was_charged_once, moved_to, submit, submit_new};
use crate::stores::Store;
use crate::till::Opened;
use crate::working::Working;

async fn is_taken_back(from: &Store, to: &Store) {
    let ended = run(from, to, &["--back"]).await;
    assert!(ended.success, "{}", ended.errors);
    assert!(ended.told.concat().ends_with("takes work again"), "{:?}", ended.told);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_was_closed_takes_work_again() {
    let (from, to, open) = (Store::file(), Store::database().await, Opened::new().await);
    open.till.mend();
    let ratchet = from.open().await;
    let orders: BTreeSet<u64> = (1..=20).collect();
    submit_new(&ratchet, orders.iter().copied()).await;
    let mut working = Working::start(&from, "old", false, &open).await;
    working.holding().await;
    let mut moving = Moving::start(&from, &to, &[]);
    assert!(moving.tells(SOURCE_CLOSED).await && moving.tells("attempts that run").await);
    moving.kill().await;
    assert!(moved_to(submit(&ratchet, HELD).await).is_some());
    is_taken_back(&from, &to).await;
    open.till.release();
    all_settled(&ratchet).await;
    working.end().await;
    each_was_charged_once(&ratchet, &open.till, &orders).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_half_filled_stays_closed_and_another_one_takes_over() {
    let (from, to, open) = (Store::database().await, Store::file(), Opened::new().await);
    let ratchet = from.open().await;
    let orders: BTreeSet<u64> = (101..=300).filter(|order| order % 3 != 0).collect();
    submit_new(&ratchet, orders.iter().copied()).await;
    let mut moving = Moving::start(&from, &to, &["--batch", "2"]);
    assert!(moving.tells(" carried").await);
    moving.kill().await;
    is_taken_back(&from, &to).await;
    assert!(moved_to(submit(&ratchet, 101).await).is_none());
    let half_filled = submit(&to.open().await, 101).await;
    assert!(matches!(half_filled, Err(EnqueueError::Ledger(LedgerError::Filling { .. }))), "{half_filled:?}");
    let again = run(&from, &to, &[]).await;
    assert!(!again.success && again.errors.contains("not the two ends of one move"), "{}", again.errors);

    let other = Store::file();
    let ended = run(&from, &other, &[]).await;
    assert!(ended.success, "{}", ended.errors);
    let back = run(&from, &other, &["--back"]).await;
    assert!(!back.success, "{:?}", back.told);
    assert!(moved_to(submit(&ratchet, 101).await).is_some());
    let new = other.open().await;
    let working = Working::start(&other, "new", false, &open).await;
    all_settled(&new).await;
    working.end().await;
    each_was_charged_once(&new, &open.till, &orders).await;
}
