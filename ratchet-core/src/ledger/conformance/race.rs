//! Many callers at once.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::Fixture;
use super::build::{
    DAY, MINUTE, cancel, claim, done, generation, id, rejected, renewal_of, replay, settle, start,
    submission, unprotected,
};
use crate::decide::{Answer, Refusal, Stored};
use crate::ledger::{Order, SharedLedger};
use crate::model::{OutcomeKind, RecordId, State, Submitted};

/// Runs `count` tasks that all wait for each other, and collects what they found.
pub(super) async fn together<F, T>(
    fixture: &Fixture,
    count: usize,
    task: impl Fn(usize, SharedLedger) -> F,
) -> Vec<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    let barrier = Arc::new(Barrier::new(count));
    let mut tasks = JoinSet::new();
    for number in 0..count {
        let (barrier, work) = (Arc::clone(&barrier), task(number, Arc::clone(&fixture.ledger)));
        tasks.spawn(async move {
            barrier.wait().await;
            work.await
        });
    }
    tasks.join_all().await
}

pub(super) async fn apply(
    ledger: &SharedLedger,
    id: RecordId,
    command: crate::decide::Command,
) -> Result<Answer, Refusal> {
    let mut answers = ledger.apply(vec![Order { id, command }]).await.expect("apply");
    answers.remove(0)
}

fn count_new(answers: &[Submitted]) -> usize {
    answers.iter().filter(|answer| matches!(answer, Submitted::New { .. })).count()
}

/// One submission at the same time from 32 callers: one makes the record, 31 are told that it exists.
pub async fn thirty_two_callers_make_one_record(fixture: Fixture) {
    let answers = together(&fixture, 32, |_, ledger| async move {
        ledger.submit(vec![submission("invoice:1")]).await.expect("submit").remove(0)
    })
    .await;
    let existing = answers
        .iter()
        .filter(|answer| matches!(answer, Submitted::Existing { state: State::Pending, .. }))
        .count();
    assert_eq!((count_new(&answers), existing), (1, 31));
    assert_eq!(fixture.claim(claim(10)).await.len(), 1);
}

/// Eight callers with the same forty keys in different orders: each key is new for one of them.
pub async fn overlapping_batches_make_each_record_once(fixture: Fixture) {
    let answers = together(&fixture, 8, |caller, ledger| async move {
        let keys = (0..40).map(|place| (place * 7 + caller * 5) % 40);
        let batch = keys.map(|number| submission(&format!("invoice:{number}"))).collect();
        ledger.submit(batch).await.expect("submit")
    })
    .await;
    let answers: Vec<Submitted> = answers.into_iter().flatten().collect();
    assert_eq!((answers.len(), count_new(&answers)), (320, 40));
    assert_eq!(fixture.claim(claim(1000)).await.len(), 40);
}

/// Five hundred records and eight workers that claim until nothing is left: each record is leased once.
pub async fn eight_workers_never_get_the_same_record(fixture: Fixture) {
    let batch = (0..500).map(|number| submission(&format!("invoice:{number}"))).collect();
    assert_eq!(count_new(&fixture.ledger.submit(batch).await.expect("submit")), 500);
    let claimed = together(&fixture, 8, |_, ledger| async move {
        let mut mine = Vec::new();
        loop {
            let records = ledger.claim(claim(7)).await.expect("claim");
            if records.is_empty() {
                return mine;
            }
            mine.extend(records.into_iter().map(|record| (record.id, record.token.get())));
            tokio::task::yield_now().await;
        }
    })
    .await;
    let mut tokens: BTreeMap<RecordId, Vec<u64>> = BTreeMap::new();
    for (id, token) in claimed.into_iter().flatten() {
        tokens.entry(id).or_default().push(token);
    }
    assert_eq!(tokens.len(), 500);
    assert!(tokens.values().all(|tokens| tokens == &[1]), "a record was leased twice: {tokens:?}");
}

/// Sixteen callers ask for the same new generation: there is one.
pub async fn one_renewal_of_many_makes_a_generation(fixture: Fixture) {
    fixture.settled(submission("invoice:1"), rejected()).await;
    let answers = together(&fixture, 16, |_, ledger| async move {
        ledger.submit(vec![renewal_of("invoice:1", 1)]).await.expect("submit").remove(0)
    })
    .await;
    assert_eq!(count_new(&answers), 1);
    assert_eq!(fixture.state(&generation("invoice:1", 2)).await, State::Pending);
    assert_eq!(fixture.stored(&generation("invoice:1", 3)).await, None);
    assert_eq!(fixture.audit(&generation("invoice:1", 2)).await.len(), 1);
}

/// One token reports success and refusal at once: one of the two decides, and both are told the same.
pub async fn one_of_two_settlers_decides(fixture: Fixture) {
    fixture.running(unprotected("invoice:1")).await;
    let answers = together(&fixture, 2, |caller, ledger| async move {
        let outcome = if caller == 0 { done("1") } else { rejected() };
        apply(&ledger, id("invoice:1"), settle(1, outcome)).await
    })
    .await;
    let state = fixture.state(&id("invoice:1")).await;
    assert_eq!(answers, [Ok(Answer::Settled(state)), Ok(Answer::Settled(state))]);
    let end = fixture.attempts(&id("invoice:1")).await.remove(0).end.expect("an end");
    let expected = match state {
        State::Succeeded => OutcomeKind::Done,
        State::Failed => OutcomeKind::Rejected,
        other => panic!("neither outcome leads to {other}"),
    };
    assert_eq!((end.outcome, end.late), (expected, false));
}

/// Four keepers end the same leases: each lease is ended once, so each record has spent one attempt.
pub async fn a_lease_ends_once_for_many_keepers(fixture: Fixture) {
    let batch = (0..50).map(|number| submission(&format!("invoice:{number}"))).collect();
    assert_eq!(fixture.ledger.submit(batch).await.expect("submit").len(), 50);
    for record in fixture.claim(claim(50)).await {
        fixture.started(record).await;
    }
    fixture.advance(MINUTE);
    let ended =
        together(&fixture, 4, |_, ledger| async move { ledger.expire(100).await.expect("expire") }).await;
    assert_eq!(ended.iter().sum::<usize>(), 50);
    for number in 0..50 {
        let record = fixture.record(&id(&format!("invoice:{number}"))).await;
        assert_eq!((record.state, record.spent), (State::Pending, 1));
    }
}

/// Either the handler is entered and told to stop, or it is never entered.
pub async fn cancel_and_start_exclude_each_other(fixture: Fixture) {
    for number in 0..20 {
        let key = id(&format!("invoice:{number}"));
        fixture.leased(unprotected(key.key.as_str())).await;
        let mut answers = together(&fixture, 2, |caller, ledger| {
            let key = key.clone();
            async move {
                let command = if caller == 0 { start(1) } else { cancel() };
                (caller, apply(&ledger, key, command).await)
            }
        })
        .await;
        answers.sort_by_key(|(caller, _)| *caller);
        let [(_, started), (_, cancelled)] = answers.as_slice() else {
            panic!("two callers");
        };
        match fixture.state(&key).await {
            State::Running => {
                assert_eq!((started, cancelled), (&Ok(Answer::Started), &Ok(Answer::CancelRequested)));
            }
            State::Cancelled => {
                assert_eq!(started, &Err(Refusal::Superseded));
                assert_eq!(cancelled, &Ok(Answer::Now(State::Cancelled)));
            }
            other => panic!("neither order leads to {other}"),
        }
    }
}

/// Either the record is open again and stays, or a tombstone stands in its place and takes no orders.
pub async fn purge_and_replay_exclude_each_other(fixture: Fixture) {
    for number in 0..20 {
        let key = id(&format!("invoice:{number}"));
        let _ = fixture.submit(submission(key.key.as_str())).await;
        fixture.apply(&key, cancel()).await.expect("cancel");
        fixture.advance(90 * DAY);
        let mut replayed = together(&fixture, 2, |caller, ledger| {
            let key = key.clone();
            async move {
                if caller == 0 {
                    ledger.purge(100).await.expect("purge");
                    return None;
                }
                Some(apply(&ledger, key, replay(false)).await)
            }
        })
        .await;
        replayed.retain(Option::is_some);
        match fixture.stored(&key).await {
            Some(Stored::Record(record)) => {
                assert_eq!(replayed, [Some(Ok(Answer::Now(State::Pending)))]);
                assert_eq!(record.state, State::Pending);
            }
            Some(Stored::Tombstone(rest)) => {
                assert_eq!(replayed, [Some(Err(Refusal::NoRecord))]);
                assert_eq!(rest.state, State::Cancelled);
            }
            None => panic!("the record vanished"),
        }
    }
}
