//! Several programs on one database, each with connections of its own.

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use ratchet_core::decide::{Answer, Command, Refusal, Stored};
use ratchet_core::ledger::{Claim, Offer, Order};
use ratchet_core::{
    Conflict, Contract, Ledger as _, LedgerError, Outcome, OutcomeKind, Payload, Record, RecordId, Renewal,
    State, StepName, Submission, Submitted, Timestamp,
};
use ratchet_postgres::{PostgresOptions, sqlx, submit_in};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::support::{
    all, claim, claim_of, database, execute, id, open, settle, submission, submit, submit_new,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thirty_two_callers_of_two_programs_make_one_record_of_one_key() {
    let database = database().await;
    let ledgers = [open(&database).await, open(&database).await];
    for round in 0..10 {
        let mut racing = JoinSet::new();
        for caller in 0..32 {
            let ledger = Arc::clone(&ledgers[caller % 2]);
            racing.spawn(async move { submit(&ledger, &format!("inv_{round}")).await.expect("an answer") });
        }
        let answers = racing.join_all().await;
        let new = answers.iter().filter(|answer| matches!(answer, Submitted::New { .. })).count();
        let existing = answers.iter().filter(|answer| matches!(answer, Submitted::Existing { .. })).count();
        assert_eq!((new, existing), (1, 31), "round {round}");
    }
    assert_eq!(all(&ledgers[0]).await.len(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn batches_with_the_same_keys_in_other_orders_do_not_wait_in_a_circle() {
    let database = database().await;
    let mut racing = JoinSet::new();
    for program in 0..4_usize {
        let ledger = open(&database).await;
        racing.spawn(async move {
            let mut new = 0;
            for round in 0..5 {
                let keys = (0..200).map(|place| (place * 7 + program * 50) % 200);
                let batch = keys.map(|key| submission(&format!("{round}.{key}"))).collect();
                let answers = ledger.submit(batch).await.expect("no deadlock");
                new += answers.iter().filter(|answer| matches!(answer, Submitted::New { .. })).count();
            }
            new
        });
    }
    assert_eq!(racing.join_all().await.into_iter().sum::<usize>(), 1000);
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    let mut connection = database.connect().await;
    assert_eq!(sqlx::query_scalar::<_, i64>(deadlocks).fetch_one(&mut connection).await.unwrap(), 0);
}

/// Four programs claim in the same moment, over and over: each round leases as many as the limit says.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn programs_never_pass_a_limit_together() {
    let database = database().await;
    let ledgers =
        [open(&database).await, open(&database).await, open(&database).await, open(&database).await];
    let submissions = (0..100).map(|number| submission(&format!("inv_{number}"))).collect();
    assert_eq!(ledgers[0].submit(submissions).await.unwrap().len(), 100);
    let offers = vec![Offer { at_most: NonZeroU32::new(5), ..claim_of(1).offers.remove(0) }];
    for round in 0..20 {
        let barrier = Arc::new(Barrier::new(4));
        let mut racing = JoinSet::new();
        for ledger in &ledgers {
            let (ledger, barrier) = (Arc::clone(ledger), Arc::clone(&barrier));
            let claim = Claim { offers: offers.clone(), ..claim_of(3) };
            racing.spawn(async move {
                barrier.wait().await;
                ledger.claim(claim).await.expect("a claim")
            });
        }
        let leased: Vec<_> = racing.join_all().await.into_iter().flatten().collect();
        assert_eq!(leased.len(), 5, "round {round}");
        for record in &leased {
            settle(&ledgers[0], record).await.expect("settled");
        }
    }
    assert!(all(&ledgers[1]).await.iter().all(|record| record.state == State::Succeeded));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn programs_share_the_work_and_never_a_record() {
    let database = database().await;
    let ledgers = [open(&database).await, open(&database).await, open(&database).await];
    let submissions = (0..1000).map(|number| submission(&format!("inv_{number}"))).collect();
    assert_eq!(ledgers[0].submit(submissions).await.unwrap().len(), 1000);
    let mut working = JoinSet::new();
    for caller in 0..12 {
        let ledger = Arc::clone(&ledgers[caller % 3]);
        working.spawn(async move {
            let mut mine = Vec::new();
            loop {
                let leased = claim(&ledger, 10).await;
                if leased.is_empty() {
                    return mine;
                }
                for record in leased {
                    settle(&ledger, &record).await.expect("settled");
                    mine.push(record.id);
                }
            }
        });
    }
    let done: Vec<RecordId> = working.join_all().await.into_iter().flatten().collect();
    assert_eq!(done.len(), 1000);
    assert_eq!(done.iter().collect::<HashSet<_>>().len(), 1000, "a record was leased twice");
    assert!(all(&ledgers[0]).await.iter().all(|record| record.state == State::Succeeded));
}

#[tokio::test]
async fn a_claim_passes_by_what_another_transaction_holds() {
    let database = database().await;
    let ledger = open(&database).await;
    for invoice in ["a", "b", "c"] {
        submit_new(&ledger, invoice).await;
    }
    let mut other = database.connect().await;
    let holds = "BEGIN; SELECT FROM ratchet.progress WHERE record_id = 1 FOR UPDATE";
    execute(&mut other, holds).await;
    let leased = claim(&ledger, 2).await;
    assert_eq!(leased.iter().map(|record| &record.id).collect::<Vec<_>>(), [&id("b"), &id("c")]);
    execute(&mut other, "ROLLBACK").await;
    assert_eq!(claim(&ledger, 2).await[0].id, id("a"));
}

/// A ledger decides about what it has leased without a look, and must not write over what it has not seen.
#[tokio::test]
async fn what_another_program_wrote_is_seen_by_the_holder_of_the_lease() {
    let database = database().await;
    let (holder, other) = (open(&database).await, open(&database).await);
    submit_new(&holder, "a").await;
    let leased = claim(&holder, 1).await.remove(0);
    let order = |command| vec![Order { id: id("a"), command }];
    let renew = || Command::Renew { token: leased.token, duration: Duration::from_mins(1) };
    let asked = |answers: Vec<Result<Answer, Refusal>>| match &answers[..] {
        [Ok(Answer::Renewed { cancel_requested, .. })] => *cancel_requested,
        other => panic!("{other:?}"),
    };
    assert!(!asked(holder.apply(order(renew())).await.unwrap()));
    let cancel = Command::Cancel { by: "ada".to_owned(), reason: "a test".to_owned(), seen: None };
    assert_eq!(other.apply(order(cancel)).await.unwrap(), [Ok(Answer::CancelRequested)]);
    assert!(asked(holder.apply(order(renew())).await.unwrap()), "the cancellation was written over");
}

#[tokio::test]
async fn an_end_under_a_lease_that_another_program_has_ended_is_late() {
    let database = database().await;
    let (holder, other) = (open(&database).await, open(&database).await);
    submit_new(&holder, "a").await;
    let leased = claim(&holder, 1).await.remove(0);
    execute(&mut database.connect().await, "UPDATE ratchet.progress SET lease_until = 0").await;
    assert_eq!(other.expire(1).await.unwrap(), 1);
    execute(&mut database.connect().await, "UPDATE ratchet.progress SET ready_at = 0").await;
    let next = claim(&other, 1).await.remove(0);
    assert_eq!(next.token.get(), 2);
    let outcome = Outcome::Done { result: None, missing: None };
    let settle =
        |token| vec![Order { id: id("a"), command: Command::Settle { token, outcome: outcome.clone() } }];
    let told = holder.apply(settle(leased.token)).await.unwrap();
    assert_eq!(told, [Ok(Answer::Late(State::Running))]);
    let told = other.apply(settle(next.token)).await.unwrap();
    assert_eq!(told, [Ok(Answer::Settled(State::Succeeded))]);
    let attempts = holder.attempts(id("a")).await.unwrap();
    let ends: Vec<_> = attempts
        .iter()
        .map(|attempt| (attempt.token.get(), attempt.end.as_ref().map(|end| (end.outcome, end.late))))
        .collect();
    assert_eq!(ends, [(1, Some((OutcomeKind::Done, true))), (2, Some((OutcomeKind::Done, false)))]);
}

/// A transaction of a user's that has enqueued an action and goes on for long keeps that action to itself, and no other.
#[tokio::test]
async fn an_open_transaction_keeps_only_its_own_key_waiting() {
    let database = database().await;
    let ledger = open(&database).await;
    let mut other = database.connect().await;
    execute(&mut other, "BEGIN").await;
    let told = submit_in(&mut other, &submission("held")).await.unwrap();
    assert!(matches!(told, Submitted::New { .. }));

    let held = tokio::spawn({
        let ledger = Arc::clone(&ledger);
        async move { submit(&ledger, "held").await }
    });
    let since = Instant::now();
    for number in 0..20 {
        submit_new(&ledger, &format!("inv_{number}")).await;
    }
    assert!(since.elapsed() < Duration::from_secs(3), "the others wait too: {:?}", since.elapsed());
    assert!(!held.is_finished());
    execute(&mut other, "COMMIT").await;
    assert!(matches!(held.await.unwrap(), Ok(Submitted::Existing { .. })));
}

/// Who waits in vain for a lock goes on with the connection that it has.
#[tokio::test]
async fn a_held_key_costs_no_connection() {
    const PIDS: &str = "SELECT pid FROM pg_stat_activity \
        WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY pid";
    let database = database().await;
    let patience = Duration::from_millis(300);
    let ledger = PostgresOptions::new().busy_timeout(patience).open(&database.url()).await.unwrap();
    let (mut other, mut looks) = (database.connect().await, database.connect().await);
    submit_new(&ledger, "first").await;
    execute(&mut other, "BEGIN").await;
    let _ = submit_in(&mut other, &submission("held")).await.unwrap();
    let before: Vec<i32> = sqlx::query_scalar(PIDS).fetch_all(&mut looks).await.unwrap();
    let _ = submit(&ledger, "held").await.unwrap_err();
    submit_new(&ledger, "free").await;
    let after: Vec<i32> = sqlx::query_scalar(PIDS).fetch_all(&mut looks).await.unwrap();
    assert!(before.iter().all(|pid| after.contains(pid)), "{before:?}, then {after:?}");
}

#[tokio::test]
async fn a_lock_that_lasts_too_long_is_told_and_nothing_is_lost() {
    let database = database().await;
    let patience = Duration::from_millis(300);
    let ledger = PostgresOptions::new().busy_timeout(patience).open(&database.url()).await.unwrap();
    let mut other = database.connect().await;
    execute(&mut other, "BEGIN").await;
    let _ = submit_in(&mut other, &submission("held")).await.unwrap();
    let (held, free) = tokio::join!(submit(&ledger, "held"), submit(&ledger, "free"));
    let error = held.unwrap_err();
    assert!(matches!(error, LedgerError::Busy { waited } if waited == patience), "{error:?}");
    assert!(error.is_transient());
    assert!(matches!(free, Ok(Submitted::New { .. })), "{free:?}");
    execute(&mut other, "ROLLBACK").await;
    submit_new(&ledger, "held").await;
}

/// While another program opens the last record again, nobody can know whether another generation may follow.
#[tokio::test]
async fn a_renewal_waits_for_a_replay_that_is_under_way() {
    let database = database().await;
    let ledger = open(&database).await;
    submit_new(&ledger, "a").await;
    let (by, reason) = ("ada".to_owned(), "a test".to_owned());
    let cancel = Command::Cancel { by: by.clone(), reason: reason.clone(), seen: None };
    ledger.apply(vec![Order { id: id("a"), command: cancel }]).await.unwrap().remove(0).unwrap();
    let mut other = database.connect().await;
    execute(&mut other, "BEGIN; UPDATE ratchet.progress SET state = 'pending', settled_at = NULL").await;
    let renewed = Submission { renewal: Some(Renewal { by, reason }), ..submission("a") };
    let commits = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        execute(&mut other, "COMMIT").await;
    };
    let (told, ()) = tokio::join!(ledger.submit(vec![renewed]), commits);
    assert_eq!(told.unwrap(), [Submitted::Conflict(Conflict::NotEnded)]);
    assert_eq!(all(&ledger).await.len(), 1);
}

/// A lease that is extended counts from when its record could be had, and not from when the wait began.
#[tokio::test]
async fn orders_are_decided_by_the_time_after_the_last_lock() {
    let database = database().await;
    let (ledger, near) = (open(&database).await, open(&database).await);
    submit_new(&ledger, "a").await;
    submit_new(&ledger, "b").await;
    let leased = claim(&ledger, 2).await;
    let duration = Duration::from_mins(5);
    let renew =
        |record: Record| Order { id: record.id, command: Command::Renew { token: record.token, duration } };
    let mut orders: Vec<Order> = leased.into_iter().map(renew).collect();
    orders.sort_by(|one, other| one.id.cmp(&other.id));
    let mut other = database.connect().await;
    let locks = "BEGIN; SELECT FROM ratchet.progress WHERE record_id = (SELECT id FROM ratchet.records WHERE key LIKE '%:b:%') \
        FOR UPDATE";
    execute(&mut other, locks).await;
    let commits = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        execute(&mut other, "COMMIT").await;
    };
    let begun = Instant::now();
    let asked = Timestamp::from(SystemTime::now());
    let (told, ()) = tokio::join!(near.apply(orders), commits);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    let released = asked.after(Duration::from_millis(250));
    let [free, locked] = <[_; 2]>::try_from(told.unwrap()).unwrap().map(|answer| match answer {
        Ok(Answer::Renewed { until, .. }) => until,
        other => panic!("{other:?}"),
    });
    assert!(locked >= released.after(duration), "{}", locked.since(asked).as_millis());
    // The other one need not wait for it.
    assert!(free >= asked.after(duration), "{}", free.since(asked).as_millis());
}

/// Whoever waits for a record sees all of it as it is after the wait, and not a part as it was before.
#[tokio::test]
async fn an_order_that_waited_for_a_record_sees_its_steps_as_they_are() {
    let database = database().await;
    let ledger = open(&database).await;
    let in_steps = Submission { contract: Contract::STEPS.terms(), ..submission("a") };
    let _ = ledger.submit(vec![in_steps]).await.unwrap();
    let token = claim(&ledger, 1).await.remove(0).token;
    let step = StepName::from_static("charge");
    let order = |command| vec![Order { id: id("a"), command }];
    let begin = || Command::BeginStep {
        token,
        step: step.clone(),
        contract: Contract::header("Idempotency-Key").terms(),
        reconciles: false,
    };
    for command in [Command::Start { token }, begin()] {
        ledger.apply(order(command)).await.unwrap().remove(0).unwrap();
    }
    let mut other = database.connect().await;
    let finishes = "BEGIN; UPDATE ratchet.progress SET spent = spent; \
        UPDATE ratchet.steps SET state = 'done', may_be_applied = false, result = '\"ch_1\"'";
    execute(&mut other, finishes).await;
    let commits = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        execute(&mut other, "COMMIT").await;
    };
    let (told, ()) = tokio::join!(ledger.apply(order(begin())), commits);
    assert_eq!(told.unwrap(), [Ok(Answer::StepDone(Some(Payload::from_stored("\"ch_1\""))))]);
}

#[tokio::test]
async fn a_claim_whose_caller_went_away_leaves_its_records_to_others() {
    leave_a_claim(false).await;
}

/// Where the lease counts as the start, too: nobody entered the handler.
#[tokio::test]
async fn a_started_claim_whose_caller_went_away_leaves_its_records_to_others() {
    leave_a_claim(true).await;
}

async fn leave_a_claim(start_if_safe: bool) {
    let database = database().await;
    let ledger = open(&database).await;
    submit_new(&ledger, "a").await;
    let mut other = database.connect().await;
    execute(&mut other, "BEGIN; LOCK TABLE ratchet.progress IN SHARE MODE").await;
    {
        // The lane waits for the lock with this claim in hand when its caller goes away.
        let claiming = ledger.claim(Claim { start_if_safe, ..claim_of(1) });
        let waited = tokio::time::timeout(Duration::from_millis(100), claiming).await;
        assert!(waited.is_err(), "{waited:?}");
    }
    execute(&mut other, "ROLLBACK").await;
    let given_back = async {
        loop {
            match ledger.find(id("a")).await.unwrap() {
                Some(Stored::Record(record)) if record.token.get() == 1 && record.state == State::Pending => {
                    return record;
                }
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    let record =
        tokio::time::timeout(Duration::from_secs(10), given_back).await.expect("given back before its time");
    assert_eq!((record.spent, record.may_be_applied()), (0, false));
}

#[tokio::test]
async fn a_dropped_ledger_finishes_what_it_was_asked() {
    let database = database().await;
    let ledger = open(&database).await;
    let handle = Arc::clone(&ledger);
    let asked = tokio::spawn(async move { submit(&handle, "a").await });
    drop(ledger);
    assert!(matches!(asked.await.unwrap(), Ok(Submitted::New { .. })));
    assert_eq!(all(&*open(&database).await).await.len(), 1);
}

#[tokio::test]
async fn a_call_may_be_larger_than_one_statement() {
    let database = database().await;
    let ledger = open(&database).await;
    let batch = |from, to| (from..to).map(|number| submission(&format!("inv_{number}"))).collect::<Vec<_>>();
    let answers = ledger.submit(batch(0, 5_000)).await.unwrap();
    assert!(answers.iter().all(|answer| matches!(answer, Submitted::New { .. })));
    let answers = ledger.submit(batch(3_000, 6_000)).await.unwrap();
    let new = answers.iter().filter(|answer| matches!(answer, Submitted::New { .. })).count();
    assert_eq!((answers.len(), new), (3_000, 1_000));
    assert_eq!(all(&ledger).await.len(), 6_000);
}
