//! Limits: how many attempts of one operation run at once, whoever claims.

use std::num::NonZeroU32;
use std::time::Duration;

use super::Fixture;
use super::build::{
    BULK, COLLECT, DAY, HOUR, MAIL, MINUTE, SECOND, V1, V2, claim, done, id, offer, offers, settle,
    submission, unknown,
};
use crate::decide::{Answer, Command};
use crate::ledger::{Claim, Offer};
use crate::model::{Namespace, Priority, Record, RecordId, State, Submission, Token};

pub(super) fn at_most(number: u32, offer: Offer) -> Offer {
    Offer { at_most: NonZeroU32::new(number), ..offer }
}

fn limited(number: u32, limit: usize) -> Claim {
    Claim { offers: vec![at_most(number, offer(COLLECT, V1))], ..claim(limit) }
}

pub(super) fn mail(key: &str) -> Submission {
    Submission { id: RecordId { operation: MAIL, ..id(key) }, ..submission(key) }
}

fn keys(records: &[Record]) -> Vec<&str> {
    records.iter().map(|record| record.id.key.as_str()).collect()
}

async fn submit_numbered(fixture: &Fixture, count: usize) {
    for number in 1..=count {
        let _ = fixture.submit(submission(&format!("invoice:{number}"))).await;
        fixture.advance(SECOND);
    }
}

/// No more are leased than the limit allows, and an end makes room for the next one. Waiting costs no attempt.
pub async fn no_more_are_leased_than_the_limit_allows(fixture: Fixture) {
    submit_numbered(&fixture, 4).await;
    let claimed = fixture.claim(limited(2, 10)).await;
    assert_eq!(keys(&claimed), ["invoice:1", "invoice:2"]);
    assert_eq!(fixture.claim(limited(2, 10)).await, []);
    let waiting = fixture.record(&id("invoice:3")).await;
    assert_eq!((waiting.state, waiting.token, waiting.spent), (State::Pending, Token::NONE, 0));
    assert_eq!(fixture.attempts(&id("invoice:3")).await, []);
    fixture.started(claimed[0].clone()).await;
    assert_eq!(fixture.claim(limited(2, 10)).await, [], "a started one counts as well");
    fixture.apply(&id("invoice:1"), settle(1, done("1"))).await.expect("settle");
    assert_eq!(keys(&fixture.claim(limited(2, 10)).await), ["invoice:3"]);
    fixture.apply(&id("invoice:2"), Command::Release { token: Token::new(1) }).await.expect("release");
    assert_eq!(keys(&fixture.claim(limited(2, 10)).await), ["invoice:2"]);
}

/// All versions and all queues of an operation count together; where offers differ, the lowest limit does.
pub async fn versions_and_queues_share_one_limit(fixture: Fixture) {
    let newer = Submission { version: V2, ..submission("invoice:2") };
    let bulk = Submission { queue: BULK, ..submission("invoice:3") };
    for one in [submission("invoice:1"), newer, bulk] {
        let _ = fixture.submit(one).await;
        fixture.advance(SECOND);
    }
    assert_eq!(keys(&fixture.claim(limited(2, 10)).await), ["invoice:1"]);
    let from_bulk = Offer { queue: BULK, ..offer(COLLECT, V1) };
    let everything = vec![at_most(2, from_bulk), at_most(3, offer(COLLECT, V2)), offer(COLLECT, V1)];
    let claimed = fixture.claim(Claim { offers: everything.clone(), ..claim(10) }).await;
    assert_eq!(keys(&claimed), ["invoice:2"]);
    assert_eq!(fixture.claim(Claim { offers: everything, ..claim(10) }).await, []);
}

/// Records that a limit holds back do not use a claim up: those of other operations behind them are found.
pub async fn records_that_are_held_back_stand_in_nobody_s_way(fixture: Fixture) {
    submit_numbered(&fixture, 6).await;
    let _ = fixture.submit(mail("mail:1")).await;
    let _ = fixture.submit(mail("mail:2")).await;
    let offers = vec![at_most(1, offer(COLLECT, V1)), offer(MAIL, V1)];
    let claimed = fixture.claim(Claim { offers: offers.clone(), ..claim(3) }).await;
    let mut claimed = keys(&claimed);
    claimed.sort_unstable();
    assert_eq!(claimed, ["invoice:1", "mail:1", "mail:2"]);
    let _ = fixture.submit(mail("mail:3")).await;
    assert_eq!(keys(&fixture.claim(Claim { offers, ..claim(3) }).await), ["mail:3"]);
}

/// The limit leaves the most urgent one through first.
pub async fn the_most_urgent_takes_the_room(fixture: Fixture) {
    submit_numbered(&fixture, 2).await;
    let _ = fixture.submit(Submission { priority: Priority(9), ..submission("invoice:3") }).await;
    assert_eq!(keys(&fixture.claim(limited(1, 10)).await), ["invoice:3"]);
}

/// Other operations and namespaces have limits of their own, and a claim without a limit is not held back.
pub async fn limits_are_separate(fixture: Fixture) {
    submit_numbered(&fixture, 3).await;
    let tenant = Namespace::from_static("tenant-a");
    let theirs = RecordId { namespace: tenant.clone(), ..id("invoice:1") };
    let _ = fixture.submit(Submission { id: theirs, ..submission("invoice:1") }).await;
    let _ = fixture.submit(mail("mail:1")).await;
    assert_eq!(keys(&fixture.claim(limited(1, 10)).await), ["invoice:1"]);
    let in_tenant = Claim { namespace: tenant, ..limited(1, 10) };
    assert_eq!(fixture.claim(in_tenant).await.len(), 1);
    let of_mail = Claim { offers: vec![at_most(1, offer(MAIL, V1))], ..claim(10) };
    assert_eq!(keys(&fixture.claim(of_mail).await), ["mail:1"]);
    assert_eq!(keys(&fixture.claim(claim(10)).await), ["invoice:2", "invoice:3"]);
}

/// A lease that is over counts until it is decided about: its handler may still run.
pub async fn a_lease_that_is_over_counts_until_it_is_expired(fixture: Fixture) {
    submit_numbered(&fixture, 2).await;
    let first = fixture.claim(limited(1, 10)).await.remove(0);
    fixture.started(first).await;
    fixture.advance(HOUR);
    assert_eq!(fixture.claim(limited(1, 10)).await, []);
    assert_eq!(fixture.expire().await, 1);
    assert_eq!(keys(&fixture.claim(limited(1, 10)).await), ["invoice:2"]);
}

/// What has to be parked takes no room.
pub async fn a_parked_record_takes_no_room(fixture: Fixture) {
    fixture.settled(submission("invoice:1"), unknown()).await;
    fixture.advance(3 * DAY);
    let _ = fixture.submit(submission("invoice:2")).await;
    assert_eq!(keys(&fixture.claim(limited(1, 10)).await), ["invoice:2"]);
    assert_eq!(fixture.state(&id("invoice:1")).await, State::Uncertain);
}

/// While the limit is reached nothing of the operation is due but the end of a lease, of any of its versions.
pub async fn what_is_held_back_is_not_due(fixture: Fixture) {
    let next = async |offers| fixture.ledger.next_due(Namespace::DEFAULT, offers).await.expect("next_due");
    let one = || vec![at_most(1, offer(COLLECT, V1))];
    let _ = fixture.submit(submission("invoice:1")).await;
    let _ = fixture.submit(Submission { version: V2, ..submission("invoice:2") }).await;
    assert_eq!(next(one()).await, Some(Duration::ZERO));
    let newer = Claim { offers: vec![offer(COLLECT, V2)], ..claim(10) };
    assert_eq!(keys(&fixture.claim(newer).await), ["invoice:2"]);
    assert_eq!(next(one()).await, Some(MINUTE), "the lease of the other version");
    assert_eq!(next(offers()).await, Some(Duration::ZERO), "without a limit it is due");
    let two = vec![at_most(1, offer(COLLECT, V1)), offer(MAIL, V1)];
    let _ = fixture.submit(mail("mail:1")).await;
    assert_eq!(next(two).await, Some(Duration::ZERO), "another operation is");
    fixture.apply(&id("invoice:2"), Command::Release { token: Token::new(1) }).await.expect("release");
    assert_eq!(next(one()).await, Some(Duration::ZERO));
}

/// Who was told that a limit holds something back is woken by the end of an attempt, whatever its outcome.
pub async fn an_end_wakes_who_waits_for_room(fixture: Fixture) {
    submit_numbered(&fixture, 2).await;
    let first = fixture.claim(limited(1, 10)).await.remove(0);
    fixture.started(first).await;
    let mut wakeups = fixture.ledger.wakeups();
    wakeups.borrow_and_update();
    let offers = limited(1, 10).offers;
    let wait = fixture.ledger.next_due(Namespace::DEFAULT, offers).await.expect("next_due");
    assert!(wait.is_some_and(|wait| !wait.is_zero()), "{wait:?}");
    let settled = fixture.apply(&id("invoice:1"), settle(1, done("1"))).await;
    assert_eq!(settled, Ok(Answer::Settled(State::Succeeded)));
    tokio::time::timeout(10 * SECOND, wakeups.changed()).await.expect("a wake-up").expect("the ledger lives");
}
