//! Workers and producers use the store while it moves.

use std::collections::BTreeSet;
use std::time::Duration;

use ratchet::ledger::moving::without_credentials;
use ratchet::{LedgerError, ManageError, Ratchet, Stored};

use crate::process::{Moving, SOURCE_CLOSED, SOURCE_FROZEN, SOURCE_LEFT, TARGET_CLOSED, TARGET_OPENED};
use crate::shop::{
    Charge, HELD, all_settled, charge, each_was_charged_once, is_doubtful, moved_to, submit, submit_new,
};
use crate::stores::Store;
use crate::till::Opened;
use crate::working::Working;

/// Submits one order after another until the store refuses; what it took, and where the store says that it went.
async fn produce(ratchet: Ratchet) -> (BTreeSet<u64>, String) {
    let mut taken = BTreeSet::new();
    for order in 1_000.. {
        let answer = submit(&ratchet, order).await;
        if let Some(to) = moved_to(answer) {
            return (taken, to);
        }
        taken.insert(order);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    unreachable!("the store never refuses")
}

async fn moves_while_it_is_used(from: Store, to: Store) {
    let open = Opened::new().await;
    let old = from.open().await;
    let mut orders: BTreeSet<u64> = (1..=60).collect();
    submit_new(&old, orders.iter().copied()).await;
    let mut old_workers = Working::start(&from, "old", false, &open).await;
    old_workers.holding().await;
    open.till.charged(&orders.iter().copied().filter(|order| *order != HELD).collect()).await;
    let producer = tokio::spawn(produce(old.clone()));

    let mut moving = Moving::start(&from, &to, &["--batch", "7"]);
    assert!(moving.tells(SOURCE_CLOSED).await, "{:?}", moving.told);
    let refused = tokio::time::timeout(Duration::from_secs(10), producer).await;
    let (taken, told) = refused.expect("a source takes nothing new").unwrap();
    assert_eq!(told, without_credentials(&to.url));
    orders.extend(taken);
    assert!(moving.tells("attempts that run").await, "what runs is waited for");
    open.till.release();
    let ended = moving.end().await;
    assert!(ended.success, "{}", ended.errors);
    let steps = [TARGET_CLOSED, SOURCE_CLOSED, SOURCE_FROZEN, SOURCE_LEFT, TARGET_OPENED, "moved"];
    let told: Vec<_> = ended.told.iter().filter(|line| steps.contains(&line.as_str())).collect();
    assert_eq!(told, steps);
    let counted = format!("both stores hold the same: {} records, 0 tombstones", orders.len());
    assert!(ended.told.iter().any(|line| line.starts_with(&counted)), "{:?}", ended.told);

    // The old workers go on looking for work until the end.
    let (asked, held_by_old) = (open.till.requests_of("old"), old.census().await.unwrap());
    let new = to.open().await;
    submit_new(&new, [2_000]).await;
    orders.insert(2_000);
    open.till.mend();
    let new_workers = Working::start(&to, "new", true, &open).await;
    all_settled(&new).await;
    each_was_charged_once(&new, &open.till, &orders).await;
    assert_eq!(open.till.requests_of("old"), asked);
    assert_eq!(old.census().await.unwrap(), held_by_old);
    assert!(open.till.requests_of("new") > orders.iter().filter(|order| is_doubtful(**order)).count());
    nothing_can_be_done(&old, &to).await;
    new_workers.end().await;
    old_workers.end().await;
}

/// Nor with what is on record there.
async fn nothing_can_be_done(old: &Ratchet, to: &Store) {
    for order in [HELD, 3_000] {
        assert_eq!(moved_to(submit(old, order).await), Some(without_credentials(&to.url)));
    }
    let key = charge::key(&Charge { order: HELD, cents: 102 }).unwrap();
    let on_record = old.under_key(key).await.unwrap().remove(0);
    let Stored::Record(record) = on_record else { panic!("{on_record:?}") };
    let refused = old.cancel(record.id, "ada", "a test").await;
    assert!(matches!(refused, Err(ManageError::Ledger(LedgerError::Moved { .. }))), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_moves_to_a_server_while_it_is_used() {
    moves_while_it_is_used(Store::file(), Store::database().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_moves_to_a_file_while_it_is_used() {
    moves_while_it_is_used(Store::database().await, Store::file()).await;
}
