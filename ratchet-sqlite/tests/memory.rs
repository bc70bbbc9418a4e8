//! What the writer decides from memory is what is on record.

mod common;

use common::{VERSION, all, claim, id, open, other_connection, payload, settle, submission, submit_new};
use ratchet_core::decide::{Answer, Command};
use ratchet_core::ledger::Order;
use ratchet_core::{
    Attempt, AttemptEnd, Contract, Ledger as _, Outcome, OutcomeKind, Record, State, Submission, Timestamp,
    WorkerId,
};
use ratchet_sqlite::SqliteLedger;

async fn apply(ledger: &SqliteLedger, record: &Record, command: Command) -> Answer {
    let order = Order { id: record.id.clone(), command };
    ledger.apply(vec![order]).await.unwrap().remove(0).unwrap()
}

/// What the ledger hands out and answers is made in memory; another one reads what was written.
#[tokio::test]
async fn a_first_lease_and_its_success_are_on_record_as_they_were_decided() {
    let directory = tempfile::tempdir().unwrap();
    let (ledger, other) = (open(directory.path()).await, open(directory.path()).await);
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

    let end = settle(&ledger, &leased, Outcome::done(payload("paid"))).await;
    assert_eq!(end, Answer::Settled(State::Succeeded));
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
    let directory = tempfile::tempdir().unwrap();
    let (ledger, other) = (open(directory.path()).await, open(directory.path()).await);
    let unsafe_one = Submission { contract: Contract::NONE.terms(), ..submission("b") };
    let _ = ledger.submit(vec![submission("a"), unsafe_one]).await.unwrap();
    let leased = claim(&ledger, 10).await;
    let started: Vec<bool> = leased.iter().map(|record| record.effect.first_started_at.is_some()).collect();
    assert_eq!(started, [true, false]);
    assert_eq!(all(&other).await, leased);
    let attempts = other.attempts(id("b")).await.unwrap();
    assert_eq!((attempts.len(), attempts[0].started_at), (1, None));
}

/// As long as nothing unusual happens an attempt is in the row of its record, and tells the same.
#[tokio::test]
async fn a_first_attempt_is_told_whole_whatever_comes_after_its_lease() {
    let directory = tempfile::tempdir().unwrap();
    let (ledger, other) = (open(directory.path()).await, open(directory.path()).await);
    for invoice in ["a", "b"] {
        submit_new(&ledger, invoice).await;
    }
    let leased = claim(&ledger, 10).await;
    let mut outside = other_connection(directory.path()).await;
    assert_eq!(rows_of_attempts(&mut outside).await, 0);
    let before = other.attempts(id("a")).await.unwrap();
    assert_eq!((before.len(), before[0].started_at), (1, leased[0].effect.first_started_at));

    let token = leased[0].token;
    let renewed =
        apply(&ledger, &leased[0], Command::Renew { token, duration: std::time::Duration::from_mins(1) })
            .await;
    assert!(matches!(renewed, Answer::Renewed { .. }), "{renewed:?}");
    assert_eq!(rows_of_attempts(&mut outside).await, 1);
    assert_eq!(other.attempts(id("a")).await.unwrap(), before);

    let end = |record: &Record| Order {
        id: record.id.clone(),
        command: Command::Settle { token: record.token, outcome: Outcome::done(payload("paid")) },
    };
    let ended = ledger.apply(leased.iter().map(end).collect()).await.unwrap();
    assert_eq!(ended, [Ok(Answer::Settled(State::Succeeded)), Ok(Answer::Settled(State::Succeeded))]);
    for (invoice, record) in ["a", "b"].into_iter().zip(all(&other).await) {
        let attempts = other.attempts(id(invoice)).await.unwrap();
        let [Attempt { end: Some(end), started_at: Some(_), .. }] = &attempts[..] else {
            panic!("{attempts:?}")
        };
        assert_eq!((end.outcome, Some(end.at), end.late), (OutcomeKind::Done, record.settled_at, false));
    }
}

async fn rows_of_attempts(connection: &mut sqlx::SqliteConnection) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM ratchet_attempts").fetch_one(connection).await.unwrap()
}

/// A success clears what earlier attempts left, also where it is written in one go with others.
#[tokio::test]
async fn results_that_differ_are_written_together() {
    let directory = tempfile::tempdir().unwrap();
    let (ledger, other) = (open(directory.path()).await, open(directory.path()).await);
    for invoice in ["a", "b"] {
        submit_new(&ledger, invoice).await;
    }
    let leased = claim(&ledger, 10).await;
    let lost = Outcome::unknown(ratchet_core::Cause::new(ratchet_core::CauseKind::Panic, "lost"));
    assert_eq!(settle(&ledger, &leased[1], lost).await, Answer::Settled(State::Pending));
    let mut outside = other_connection(directory.path()).await;
    sqlx::query("UPDATE ratchet_records SET ready_at = 0").execute(&mut outside).await.unwrap();
    let again = claim(&ledger, 10).await.pop().expect("the second one");
    assert!(again.effect.may_be_applied);

    let end = |record: &Record, result: &str| Order {
        id: record.id.clone(),
        command: Command::Settle { token: record.token, outcome: Outcome::done(payload(result)) },
    };
    let ended = ledger.apply(vec![end(&leased[0], "\0 \"one\""), end(&again, "two")]).await.unwrap();
    assert_eq!(ended, [Ok(Answer::Settled(State::Succeeded)), Ok(Answer::Settled(State::Succeeded))]);
    let found = all(&other).await;
    let results: Vec<_> = found.iter().map(|record| record.result.clone()).collect();
    assert_eq!(results, [Some(payload("\0 \"one\"")), Some(payload("two"))]);
    assert!(found.iter().all(|record| record.cause.is_none() && !record.effect.may_be_applied));
}

#[tokio::test]
async fn what_another_program_asked_for_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let (ledger, other) = (open(directory.path()).await, open(directory.path()).await);
    submit_new(&ledger, "a").await;
    let leased = claim(&ledger, 1).await.remove(0);
    let renew = || Command::Renew { token: leased.token, duration: std::time::Duration::from_mins(1) };
    let renewed = apply(&ledger, &leased, renew()).await;
    assert!(matches!(renewed, Answer::Renewed { cancel_requested: false, .. }), "{renewed:?}");
    let cancel = Command::Cancel { by: "Ada".to_owned(), reason: "a typo".to_owned(), seen: None };
    let _ = apply(&other, &leased, cancel).await;
    let renewed = apply(&ledger, &leased, renew()).await;
    assert!(matches!(renewed, Answer::Renewed { cancel_requested: true, .. }), "{renewed:?}");
}

#[tokio::test]
async fn a_token_that_another_program_superseded_ends_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    submit_new(&ledger, "a").await;
    let leased = claim(&ledger, 1).await.remove(0);
    let mut other = other_connection(directory.path()).await;
    let lease = "UPDATE ratchet_records SET token = 2, lease_worker = 'worker-2'";
    assert_eq!(sqlx::query(lease).execute(&mut other).await.unwrap().rows_affected(), 1);
    let end = settle(&ledger, &leased, Outcome::done(payload("paid"))).await;
    assert_eq!(end, Answer::Late(State::Running));
    let found = all(&ledger).await.remove(0);
    assert_eq!((found.state, found.result, found.settled_at), (State::Running, None, None::<Timestamp>));
}
