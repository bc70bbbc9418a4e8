//! The two writes that most records get: a first lease that counts as a start, and success.

use ratchet_core::decide::Answer;
use ratchet_core::{
    Attempt, AttemptEnd, Contract, Ledger as _, OutcomeKind, Record, State, Submission, WorkerId,
};

use crate::support::{VERSION, all, claim, database, id, open, payload, settle, submission, submit_new};

/// What the ledger hands out and answers is made in memory; another one reads what was written.
#[tokio::test]
async fn a_first_lease_and_its_success_are_on_record_as_they_were_decided() {
    let database = database().await;
    let (ledger, other) = (open(&database).await, open(&database).await);
    submit_new(&ledger, "a").await;
    let leased = claim(&ledger, 10).await.pop().expect("a record");
    let leased_at = leased.effect.first_started_at.expect("a start");
    assert_eq!(leased.attempts, 1);
    assert_eq!(all(&other).await, std::slice::from_ref(&leased));
    let mut attempt = Attempt {
        token: leased.token,
        worker: WorkerId::from_static("worker-1"),
        version: VERSION,
        leased_at,
        started_at: Some(leased_at),
        end: None,
    };
    assert_eq!(other.attempts(id("a")).await.unwrap(), std::slice::from_ref(&attempt));

    assert_eq!(settle(&ledger, &leased).await.unwrap(), Answer::Settled(State::Succeeded));
    let found = all(&other).await.pop().expect("a record");
    let settled_at = found.settled_at.expect("a time");
    let settled = Record {
        state: State::Succeeded,
        lease: None,
        result: Some(payload("paid")),
        settled_at: Some(settled_at),
        ..leased
    };
    assert_eq!(found, settled);
    attempt.end = Some(AttemptEnd { at: settled_at, outcome: OutcomeKind::Done, cause: None, late: false });
    assert_eq!(other.attempts(id("a")).await.unwrap(), [attempt]);
}

#[tokio::test]
async fn what_counts_as_started_and_what_does_not_are_leased_together() {
    let database = database().await;
    let (ledger, other) = (open(&database).await, open(&database).await);
    let repeatable = submission("a");
    let unsafe_one = Submission { contract: Contract::NONE.terms(), ..submission("b") };
    let _ = ledger.submit(vec![repeatable, unsafe_one]).await.unwrap();
    let leased = claim(&ledger, 10).await;
    let started: Vec<bool> = leased.iter().map(|record| record.effect.first_started_at.is_some()).collect();
    assert_eq!(started, [true, false]);
    assert_eq!(all(&other).await, leased);
    let attempts = other.attempts(id("b")).await.unwrap();
    assert_eq!((attempts.len(), attempts[0].started_at), (1, None));
}
