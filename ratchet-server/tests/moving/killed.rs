//! The program is killed while it moves a store, again and again.

use std::collections::BTreeSet;

use ratchet::Ratchet;
use ratchet::ledger::moving::StoreStanding;

use crate::process::{Moving, SOURCE_CLOSED, SOURCE_FROZEN, SOURCE_LEFT, TARGET_CLOSED, TARGET_OPENED, run};
use crate::shop::{HELD, SLOW, all_settled, each_was_charged_once, moved_to, submit, submit_new};
use crate::stores::Store;
use crate::till::Opened;
use crate::working::Working;

/// What it tells in turn; it is killed behind each, and behind the last until that is told no more.
const MOMENTS: [&str; 4] = [TARGET_CLOSED, SOURCE_CLOSED, SOURCE_FROZEN, " carried"];

async fn is_killed_at_many_moments(from: Store, to: Store) {
    let open = Opened::new().await;
    open.till.release();
    let old = from.open().await;
    let first: BTreeSet<u64> = (1..=60).collect();
    submit_new(&old, first.iter().copied()).await;
    let working = Working::start(&from, "old", false, &open).await;
    open.till.charged(&first).await;
    // The doubtful ones have a pin and no result, and the others of the second half nothing yet.
    working.end().await;
    let orders: BTreeSet<u64> = (1..=240).collect();
    submit_new(&old, orders.difference(&first).copied()).await;
    let asked = open.till.requests_of("old");

    let new = to.open().await;
    let mut kills = 0;
    for moment in MOMENTS {
        kills += usize::from(is_killed_behind(moment, &from, &to).await);
        one_at_most_is_open(&old, &new).await;
    }
    while is_killed_behind(" carried", &from, &to).await {
        kills += 1;
        one_at_most_is_open(&old, &new).await;
        assert!(moved_to(submit(&old, 9_999).await).is_some());
    }
    assert!(kills > 5, "{kills} kills say little");
    let last = run(&from, &to, &[]).await;
    assert!(last.success, "{}", last.errors);
    assert_eq!(last.told, ["moved already"]);

    open.till.mend();
    let new_workers = Working::start(&to, "new", true, &open).await;
    all_settled(&new).await;
    new_workers.end().await;
    each_was_charged_once(&new, &open.till, &orders).await;
    assert_eq!(open.till.requests_of("old"), asked);
    assert!(orders.contains(&HELD) && orders.contains(&SLOW));
}

/// False if it came to its end before.
async fn is_killed_behind(moment: &str, from: &Store, to: &Store) -> bool {
    let mut moving = Moving::start(from, to, &["--batch", "8"]);
    if moving.tells(moment).await {
        moving.kill().await;
        return true;
    }
    let ended = moving.end().await;
    assert!(ended.success, "{}", ended.errors);
    assert!(ended.told.iter().any(|line| line == TARGET_OPENED), "{:?}", ended.told);
    false
}

async fn one_at_most_is_open(old: &Ratchet, new: &Ratchet) {
    let old = old.ledger().standing().await.unwrap();
    let new = new.ledger().standing().await.unwrap();
    let never_used = StoreStanding::default();
    assert!(!old.is_open() || !new.is_open() || new == never_used, "{old}, {new}");
}

/// About where the source is closed for ever and the target is not open yet.
async fn is_killed_between_both(from: Store, to: Store) {
    let open = Opened::new().await;
    let old = from.open().await;
    let orders = BTreeSet::from([4, 5]);
    submit_new(&old, orders.iter().copied()).await;
    assert!(is_killed_behind(SOURCE_LEFT, &from, &to).await);
    assert!(moved_to(submit(&old, 4).await).is_some());
    let ended = run(&from, &to, &[]).await;
    assert!(ended.success, "{}", ended.errors);
    let new = to.open().await;
    let working = Working::start(&to, "new", false, &open).await;
    all_settled(&new).await;
    working.end().await;
    each_was_charged_once(&new, &open.till, &orders).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_to_a_server_is_killed_and_goes_on() {
    is_killed_at_many_moments(Store::file(), Store::database().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_to_a_file_is_killed_and_goes_on() {
    is_killed_at_many_moments(Store::database().await, Store::file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_has_left_the_source_goes_on() {
    is_killed_between_both(Store::file(), Store::database().await).await;
}
