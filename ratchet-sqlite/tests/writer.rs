//! The writer under trouble: locks, a full disk, callers that go away; and its group commits.

mod common;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use common::{
    all, claim, claim_of, id, open, other_connection, payload, settle, submission, submit, submit_new, url,
};
use ratchet_core::decide::{Answer, Command, Refusal, Stored};
use ratchet_core::ledger::Order;
use ratchet_core::{Ledger as _, LedgerError, Outcome, State, Submission, Submitted, Token};
use ratchet_sqlite::SqliteOptions;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_make_one_record_of_one_key() {
    let directory = tempfile::tempdir().unwrap();
    let ledgers = [open(directory.path()).await, open(directory.path()).await];
    for round in 0..10 {
        let invoice = format!("inv_{round}");
        let racing: Vec<_> = (0..32)
            .map(|task| {
                let (ledger, invoice) = (Arc::clone(&ledgers[task % 2]), invoice.clone());
                tokio::spawn(async move { submit(&ledger, &invoice).await.expect("an answer") })
            })
            .collect();
        let mut new = 0;
        for one in racing {
            match one.await.unwrap() {
                Submitted::New { .. } => new += 1,
                Submitted::Existing { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(new, 1, "round {round}");
    }
    assert_eq!(all(&ledgers[0]).await.len(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_the_work_without_overlap() {
    let directory = tempfile::tempdir().unwrap();
    let ledgers = [open(directory.path()).await, open(directory.path()).await];
    let submissions = (0..100).map(|number| submission(&format!("inv_{number}"))).collect();
    let _ = ledgers[0].submit(submissions).await.unwrap();
    let claiming: Vec<_> = (0..20)
        .map(|task| {
            let ledger = Arc::clone(&ledgers[task % 2]);
            tokio::spawn(async move { claim(&ledger, 10).await })
        })
        .collect();
    let mut seen = HashSet::new();
    for one in claiming {
        for record in one.await.unwrap() {
            assert!(seen.insert(record.id), "leased twice");
        }
    }
    assert_eq!(seen.len(), 100);
}

#[tokio::test]
async fn one_call_and_many_answer_alike() {
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (one, many) = (open(directories[0].path()).await, open(directories[1].path()).await);
    let conflicting = Submission { input: payload("other"), ..submission("a") };
    let asked = [submission("a"), submission("b"), submission("a"), conflicting, submission("b")];
    let mut singly = Vec::new();
    for submission in asked.clone() {
        singly.extend(one.submit(vec![submission]).await.unwrap());
    }
    assert_eq!(many.submit(asked.to_vec()).await.unwrap(), singly);

    claim(&one, 1).await;
    claim(&many, 1).await;
    let order = |invoice, token, command: fn(Token) -> Command| Order {
        id: id(invoice),
        command: command(Token::new(token)),
    };
    let done = |token| Command::Settle { token, outcome: Outcome::done(payload("paid")) };
    let unknown = |token| {
        let cause = ratchet_core::Cause::new(ratchet_core::CauseKind::Timeout, "");
        Command::Settle { token, outcome: Outcome::unknown(cause) }
    };
    let orders = [
        order("a", 2, done),
        order("a", 1, unknown),
        order("a", 1, done),
        order("a", 1, done),
        order("b", 1, done),
        order("c", 1, done),
    ];
    let mut singly = Vec::new();
    for order in orders.clone() {
        singly.extend(one.apply(vec![order]).await.unwrap());
    }
    assert_eq!(singly[0], Err(Refusal::Superseded));
    assert_eq!(singly[2], Ok(Answer::Settled(State::Succeeded)));
    assert_eq!(singly[5], Err(Refusal::NoRecord));
    assert_eq!(many.apply(orders.to_vec()).await.unwrap(), singly);
    let ends = |attempts: Vec<ratchet_core::Attempt>| -> Vec<_> {
        attempts.into_iter().map(|attempt| attempt.end.map(|end| (end.outcome, end.late))).collect()
    };
    assert_eq!(ends(many.attempts(id("a")).await.unwrap()), ends(one.attempts(id("a")).await.unwrap()));
}

#[tokio::test]
async fn a_lock_that_lasts_too_long_is_told_and_nothing_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let patience = Duration::from_millis(50);
    let ledger = SqliteOptions::new().busy_timeout(patience).open(&url(directory.path())).await.unwrap();
    submit_new(&ledger, "before").await;
    let mut other = other_connection(directory.path()).await;
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();

    let (first, second) = tokio::join!(submit(&ledger, "a"), claim_error(&ledger));
    for error in [first.unwrap_err(), second] {
        assert!(matches!(error, LedgerError::Busy { waited } if waited == patience), "{error:?}");
        assert!(error.is_transient());
    }
    assert_eq!(all(&ledger).await.len(), 1, "reads do not wait for the lock");

    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    submit_new(&ledger, "a").await;
    assert_eq!(claim(&ledger, 10).await.len(), 2);
}

async fn claim_error(ledger: &ratchet_sqlite::SqliteLedger) -> LedgerError {
    ledger.claim(claim_of(10)).await.expect_err("an error")
}

#[tokio::test]
async fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let mut other = other_connection(directory.path()).await;
    let ballast = "CREATE TABLE ballast (block BLOB); INSERT INTO ballast VALUES (zeroblob(1000000))";
    sqlx::raw_sql(ballast).execute(&mut other).await.unwrap();
    ratchet_sqlite::migrate(&mut other).await.unwrap();
    let pages: u32 = sqlx::query_scalar("PRAGMA page_count").fetch_one(&mut other).await.unwrap();
    let options = SqliteOptions::new().max_page_count(pages + 20);
    let ledger = options.open(&url(directory.path())).await.unwrap();

    let mut acknowledged = 0;
    let error = loop {
        let batch = (0..50).map(|number| submission(&format!("{acknowledged}.{number}"))).collect();
        match ledger.submit(batch).await {
            Ok(_) => acknowledged += 50,
            Err(error) => break error,
        }
        assert!(acknowledged < 10_000, "the database never filled up");
    };
    assert!(matches!(error, LedgerError::Full), "{error:?}");
    assert!(matches!(submit(&ledger, &"x".repeat(100)).await, Ok(_) | Err(LedgerError::Full)));
    let kept = all(&ledger).await;
    assert!(kept.len() == acknowledged || kept.len() == acknowledged + 1);

    sqlx::raw_sql("DROP TABLE ballast").execute(&mut other).await.unwrap();
    submit_new(&ledger, "after").await;
    assert_eq!(all(&ledger).await.len(), kept.len() + 1);
    let sound: String = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut other).await.unwrap();
    assert_eq!(sound, "ok");
}

#[tokio::test]
async fn callers_that_go_away_do_not_stop_the_writer() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    for number in 0..20 {
        // Polled once, so that the call is on its way, and dropped.
        let invoice = format!("inv_{number}");
        let asking = submit(&ledger, &invoice);
        tokio::select! { biased; _ = asking => panic!("answered before the commit"), () = std::future::ready(()) => {} }
    }
    submit_new(&ledger, "after").await;
    assert_eq!(all(&ledger).await.len(), 21);
}

#[tokio::test]
async fn a_claim_whose_caller_went_away_leaves_its_records_to_others() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    submit_new(&ledger, "a").await;
    let mut other = other_connection(directory.path()).await;
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    {
        // The writer waits for the lock with this claim in hand when its caller goes away.
        let claiming = ledger.claim(ratchet_core::ledger::Claim { start_if_safe: false, ..claim_of(1) });
        let waited = tokio::time::timeout(Duration::from_millis(20), claiming).await;
        assert!(waited.is_err(), "{waited:?}");
    }
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    // The writer gives the lease back before it takes the next call.
    assert_eq!(claim(&ledger, 1).await.len(), 1);
}

#[tokio::test]
async fn workers_are_woken_by_what_may_be_due_and_by_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    let mut wakeups = ledger.wakeups();
    let mut woken = || {
        let changed = wakeups.has_changed().unwrap();
        wakeups.mark_unchanged();
        changed
    };
    submit_new(&ledger, "a").await;
    assert!(woken());
    let _ = submit(&ledger, "a").await.unwrap();
    assert!(!woken(), "a duplicate");
    let record = claim(&ledger, 1).await.remove(0);
    assert!(!woken(), "a claim");
    settle(&ledger, &record, Outcome::done(payload("paid"))).await;
    assert!(!woken(), "an end");
    ledger.wake();
    assert!(woken());
}

#[tokio::test]
async fn a_dropped_ledger_finishes_what_it_was_asked() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path()).await;
    let handle = Arc::clone(&ledger);
    let asked = tokio::spawn(async move { submit(&handle, "a").await });
    drop(ledger);
    assert!(matches!(asked.await.unwrap(), Ok(Submitted::New { .. })));
    let found = open(directory.path()).await.find(id("a")).await.unwrap();
    assert!(matches!(found, Some(Stored::Record(_))), "{found:?}");
}
