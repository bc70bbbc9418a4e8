//! Records that come after others: they wait, and then they are executed or skipped for ever.

use std::time::Duration;

use super::Fixture;
use super::build::{
    DAY, HOUR, MINUTE, POLICY, SECOND, at, cancel, claim, done, id, not_applied, offers, rejected, replay,
    resolve, settle, start, submission, unknown, unprotected,
};
use crate::decide::{Answer, Refusal, Verdict};
use crate::model::{After, Branch, Conflict, Namespace, Outcome, RecordId, State, Submission, Submitted};
use crate::policy::{OnUnknown, Policy, RetryPolicy};

/// A record that comes after the one under `first`.
fn after(first: &str, on: Branch, key: &str) -> Submission {
    Submission { after: Some(After { id: id(first), on }), ..submission(key) }
}

/// A record after the success of another one.
fn follow_up(first: &str, key: &str) -> Submission {
    after(first, Branch::Succeeded, key)
}

/// A record for when another one does not succeed.
fn fallback(first: &str, key: &str) -> Submission {
    after(first, Branch::Failed, key)
}

impl Fixture {
    async fn make(&self, submission: Submission) {
        let id = submission.id.clone();
        assert_eq!(self.submit(submission).await, Submitted::New { id });
    }

    async fn states<const N: usize>(&self, keys: [&str; N]) -> [State; N] {
        let mut states = [State::Running; N];
        for (state, key) in states.iter_mut().zip(keys) {
            *state = self.state(&id(key)).await;
        }
        states
    }

    async fn follow(&self) -> usize {
        self.ledger.follow(100).await.expect("follow").decided
    }

    /// Settles a record that runs under its first token.
    async fn end(&self, key: &str, outcome: Outcome) -> Answer {
        self.apply(&id(key), settle(1, outcome)).await.expect("settle")
    }
}

/// It is not due, for nobody and whatever the time, and is due once the other one has ended.
pub async fn a_follower_waits_until_its_predecessor_has_ended(fixture: Fixture) {
    fixture.make(submission("invoice:1")).await;
    fixture.make(follow_up("invoice:1", "invoice:2")).await;
    let waiting = fixture.record(&id("invoice:2")).await;
    assert_eq!(waiting.state, State::Waiting);
    assert_eq!(waiting.after, Some(After { id: id("invoice:1"), on: Branch::Succeeded }));
    let first = fixture.claimed(&id("invoice:1")).await;
    assert_eq!(fixture.ledger.next_due(Namespace::DEFAULT, offers()).await.expect("next_due"), Some(MINUTE));
    assert_eq!(fixture.ledger.unserved(Namespace::DEFAULT, Vec::new()).await.expect("unserved"), []);
    assert_eq!(fixture.follow().await, 0);
    fixture.started(first).await;
    fixture.advance(SECOND);
    fixture.end("invoice:1", done("1")).await;
    let due = fixture.record(&id("invoice:2")).await;
    assert_eq!((due.state, due.ready_at), (State::Pending, at(SECOND)));
    assert_eq!(fixture.claimed(&id("invoice:2")).await.after, waiting.after);
    assert_eq!(fixture.follow().await, 0, "decided once");
}

/// Each end takes one branch; the other one is skipped and never executed.
pub async fn the_branch_that_is_not_taken_is_skipped(fixture: Fixture) {
    let one_try = RetryPolicy { max_attempts: 1, ..POLICY.retry };
    let may_lose = Policy { on_unknown: OnUnknown::MayLose, ..POLICY };
    let (taken, skipped) = (State::Pending, State::Skipped);
    for (number, (first, outcome, state, [on_success, on_failure])) in [
        (submission("0"), done("1"), State::Succeeded, [taken, skipped]),
        (submission("1"), rejected(), State::Failed, [skipped, taken]),
        (
            Submission { policy: Policy { retry: one_try, ..POLICY }, ..submission("2") },
            not_applied(None),
            State::Exhausted,
            [skipped, taken],
        ),
        (unprotected("3"), unknown(), State::Uncertain, [skipped, taken]),
        (Submission { policy: may_lose, ..unprotected("4") }, unknown(), State::Abandoned, [skipped, taken]),
    ]
    .into_iter()
    .enumerate()
    {
        let [key, follows, falls_back] = [format!("{number}"), format!("{number}:s"), format!("{number}:f")];
        fixture.running(first).await;
        fixture.make(follow_up(&key, &follows)).await;
        fixture.make(fallback(&key, &falls_back)).await;
        assert_eq!(fixture.end(&key, outcome).await, Answer::Settled(state));
        assert_eq!(fixture.states([&follows, &falls_back]).await, [on_success, on_failure], "{state}");
        let taken = if on_success == taken { &follows } else { &falls_back };
        fixture.claimed(&id(taken)).await;
        let not_taken = if on_success == skipped { &follows } else { &falls_back };
        let ended = fixture.record(&id(not_taken)).await;
        assert_eq!((ended.settled_at, ended.attempts), (Some(fixture.now()), 0));
    }
}

/// What was cancelled or skipped skips all that comes after it, on either branch and however far.
pub async fn what_is_stopped_skips_its_followers(fixture: Fixture) {
    fixture.make(submission("a")).await;
    fixture.make(follow_up("a", "b")).await;
    fixture.make(fallback("a", "c")).await;
    fixture.make(fallback("b", "d")).await;
    fixture.make(follow_up("d", "e")).await;
    assert_eq!(fixture.apply(&id("a"), cancel()).await, Ok(Answer::Now(State::Cancelled)));
    let skipped = [State::Skipped; 4];
    assert_eq!(fixture.states(["b", "c", "d", "e"]).await, skipped);
    // A skipped record takes no orders but those that it refuses.
    assert_eq!(fixture.apply(&id("b"), replay(true)).await, Err(Refusal::State(State::Skipped)));
    assert_eq!(fixture.apply(&id("b"), cancel()).await, Err(Refusal::State(State::Skipped)));
}

/// One that is submitted after the end is decided about at once; a tombstone tells it too.
pub async fn an_end_that_is_long_over_is_followed(fixture: Fixture) {
    fixture.settled(submission("a"), done("1")).await;
    fixture.make(follow_up("a", "b")).await;
    fixture.make(fallback("a", "c")).await;
    assert_eq!(fixture.states(["b", "c"]).await, [State::Pending, State::Skipped]);
    fixture.make(submission("d")).await;
    fixture.make(follow_up("d", "e")).await;
    fixture.apply(&id("b"), cancel()).await.expect("cancel");
    let first = fixture.claimed(&id("d")).await;
    fixture.started(first).await;
    fixture.advance(POLICY.retention);
    assert!(fixture.purge().await > 0);
    fixture.make(follow_up("a", "f")).await;
    fixture.make(fallback("a", "g")).await;
    let states = fixture.states(["e", "f", "g"]).await;
    assert_eq!(states, [State::Waiting, State::Pending, State::Skipped]);
}

/// Nothing is recorded without the record that it should come after, which is one of the same namespace.
pub async fn nothing_comes_after_a_record_that_does_not_exist(fixture: Fixture) {
    let elsewhere = RecordId { namespace: Namespace::from_static("tenant-a"), ..id("a") };
    fixture.make(Submission { id: elsewhere.clone(), ..submission("a") }).await;
    let refused = Submitted::Conflict(Conflict::NoPredecessor);
    let of_other_namespace =
        Submission { after: Some(After { id: elsewhere, on: Branch::Succeeded }), ..submission("b") };
    for lost in [follow_up("a", "b"), follow_up("b", "b"), of_other_namespace] {
        assert_eq!(fixture.submit(lost).await, refused);
        assert_eq!(fixture.stored(&id("b")).await, None);
    }
    // What is on record already answers as ever.
    fixture.make(submission("b")).await;
    let again = fixture.submit(follow_up("a", "b")).await;
    assert!(matches!(again, Submitted::Existing { state: State::Pending, .. }), "{again:?}");
}

/// A batch may hold records and those that come after them, and each is answered in its place.
pub async fn a_batch_may_hold_a_chain(fixture: Fixture) {
    let batch = vec![
        submission("a"),
        follow_up("a", "b"),
        follow_up("c", "d"),
        submission("c"),
        fallback("b", "e"),
        follow_up("a", "b"),
    ];
    let answers = fixture.ledger.submit(batch).await.expect("submit");
    let new = |key| Submitted::New { id: id(key) };
    let refused = Submitted::Conflict(Conflict::NoPredecessor);
    assert_eq!(answers[..5], [new("a"), new("b"), refused, new("c"), new("e")]);
    assert!(matches!(answers[5], Submitted::Existing { state: State::Waiting, .. }), "{:?}", answers[5]);
    let places = fixture.ledger.list(crate::ledger::Filter::default()).await.expect("list");
    let keys: Vec<&str> = places.records.iter().map(|record| record.id.key.as_str()).collect();
    assert_eq!(keys, ["a", "b", "c", "e"]);
}

/// A predecessor that is settled in another way afterwards, or replayed, changes nothing about its followers.
pub async fn what_was_decided_stays_decided(fixture: Fixture) {
    fixture.running(unprotected("a")).await;
    fixture.make(follow_up("a", "b")).await;
    fixture.make(fallback("a", "c")).await;
    fixture.end("a", unknown()).await;
    let decided = [State::Skipped, State::Pending];
    assert_eq!(fixture.states(["b", "c"]).await, decided);
    fixture.apply(&id("a"), replay(true)).await.expect("replay");
    fixture.make(follow_up("a", "d")).await;
    assert_eq!(fixture.states(["b", "c", "d"]).await, [decided[0], decided[1], State::Waiting]);
    fixture.apply(&id("c"), cancel()).await.expect("cancel");
    let again = fixture.claimed(&id("a")).await;
    fixture.started(again).await;
    fixture.apply(&id("a"), settle(2, done("1"))).await.expect("settle");
    assert_eq!(fixture.follow().await, 0);
    assert_eq!(
        fixture.states(["a", "b", "c", "d"]).await,
        [State::Succeeded, State::Skipped, State::Cancelled, State::Pending]
    );
}

/// While a reconciler is about to find out, the end is open.
pub async fn an_open_question_is_no_end(fixture: Fixture) {
    let policy = Policy { reconciles: true, ..POLICY };
    fixture.running(Submission { policy, ..unprotected("a") }).await;
    fixture.make(follow_up("a", "b")).await;
    fixture.make(fallback("a", "c")).await;
    assert_eq!(fixture.end("a", unknown()).await, Answer::Settled(State::Uncertain));
    assert_eq!(fixture.follow().await, 0);
    assert_eq!(fixture.states(["b", "c"]).await, [State::Waiting; 2]);
    let applied = resolve(1, Verdict::Applied { result: None });
    assert_eq!(fixture.apply(&id("a"), applied).await, Ok(Answer::Now(State::Succeeded)));
    assert_eq!(fixture.states(["b", "c"]).await, [State::Pending, State::Skipped]);
}

/// A waiting record can be cancelled; replayed, it waits again.
pub async fn a_waiting_record_is_cancelled_and_waits_again(fixture: Fixture) {
    fixture.running(submission("a")).await;
    fixture.make(follow_up("a", "b")).await;
    assert_eq!(fixture.apply(&id("b"), start(1)).await, Err(Refusal::Superseded));
    assert_eq!(fixture.apply(&id("b"), cancel()).await, Ok(Answer::Now(State::Cancelled)));
    assert_eq!(fixture.apply(&id("b"), replay(false)).await, Ok(Answer::Now(State::Waiting)));
    assert_eq!(fixture.claim(claim(10)).await, []);
    fixture.end("a", done("1")).await;
    assert_eq!(fixture.state(&id("b")).await, State::Pending);
}

/// An end that nobody reported is followed too, and a record that is due later stays due later.
pub async fn a_lost_lease_is_followed(fixture: Fixture) {
    fixture.running(unprotected("a")).await;
    let later = Submission { not_before: Some(at(HOUR)), ..fallback("a", "b") };
    fixture.make(later).await;
    fixture.make(follow_up("a", "c")).await;
    fixture.advance(MINUTE);
    assert_eq!(fixture.expire().await, 1);
    assert_eq!(fixture.states(["a", "b", "c"]).await, [State::Uncertain, State::Pending, State::Skipped]);
    assert_eq!(fixture.record(&id("b")).await.ready_at, at(HOUR));
    assert_eq!(fixture.claim(claim(10)).await, []);
}

/// More followers than one statement takes, with those that come after them.
pub async fn many_followers_are_decided_about(fixture: Fixture) {
    fixture.running(submission("a")).await;
    let mut batch: Vec<Submission> = (0..300).map(|number| fallback("a", &format!("b:{number}"))).collect();
    batch.push(follow_up("b:299", "c"));
    batch.push(follow_up("c", "d"));
    let answers = fixture.ledger.submit(batch).await.expect("submit");
    assert!(answers.iter().all(|answer| matches!(answer, Submitted::New { .. })), "{answers:?}");
    fixture.end("a", done("1")).await;
    for key in ["b:0", "b:299", "c", "d"] {
        assert_eq!(fixture.state(&id(key)).await, State::Skipped, "{key}");
    }
    assert_eq!(fixture.follow().await, 0);
}

/// A follower that becomes due wakes a sleeping worker.
pub async fn an_end_wakes_who_waits_for_a_follower(fixture: Fixture) {
    fixture.running(submission("a")).await;
    fixture.make(follow_up("a", "b")).await;
    let mut wakeups = fixture.ledger.wakeups();
    wakeups.borrow_and_update();
    fixture.end("a", done("1")).await;
    tokio::time::timeout(Duration::from_secs(10), wakeups.changed())
        .await
        .expect("a wake-up")
        .expect("the ledger lives");
}

/// A waiting record is never purged, and a skipped one like any other that has ended.
pub async fn skipped_records_are_purged_and_waiting_ones_are_not(fixture: Fixture) {
    fixture.make(submission("a")).await;
    fixture.make(follow_up("a", "b")).await;
    fixture.make(submission("c")).await;
    fixture.make(follow_up("c", "d")).await;
    fixture.apply(&id("c"), cancel()).await.expect("cancel");
    fixture.advance(POLICY.retention + DAY);
    assert_eq!(fixture.purge().await, 2);
    assert_eq!(fixture.state(&id("b")).await, State::Waiting);
    let expired = fixture.submit(follow_up("c", "d")).await;
    assert_eq!(expired, Submitted::Expired { ended_on: at(Duration::ZERO), state: State::Skipped });
}
